#include "bench/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>

namespace quire::bench {
namespace {

ProgressEstimate::Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::string minutes(ProgressEstimate::Seconds time) {
  const auto seconds = static_cast<int64_t>(time.count());
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

void ProgressEstimate::begin(size_t index, const std::string& name, Seconds now) {
  if (running_)
    begun_weight_ += weights_[index_];
  else
    run_begun_ = now;
  running_ = true;
  index_ = index;
  name_ = name;
  step_begun_ = now;
}

std::string ProgressEstimate::text(const std::string& activity, Seconds now, size_t width) const {
  std::string text = fmt::format("[{}/{}] {}", index_ + 1, weights_.size(), name_);
  if (!activity.empty()) text += ": " + activity;
  text += ", " + minutes(now - run_begun_);
  if (begun_weight_ > 0) {
    const double left = std::accumulate(weights_.begin() + static_cast<ptrdiff_t>(index_), weights_.end(), 0.0);
    const Seconds per_weight = (step_begun_ - run_begun_) / begun_weight_;
    text += ", about " + minutes(std::max(per_weight * left - (now - step_begun_), Seconds(0))) + " left";
  }
  return text.substr(0, width);
}

ProgressLine::ProgressLine(bool wanted, std::vector<double> weights)
    : estimate_(std::move(weights)), shown_(wanted && isatty(STDERR_FILENO) == 1) {}

void ProgressLine::begin(size_t index, const std::string& name) {
  estimate_.begin(index, name, now());
  activity_.clear();
  draw();
}

JobEvents ProgressLine::events() {
  return {.progress =
              [this](const std::string& text) {
                activity_ = text;
                draw();
              },
          .tick = [this] { draw(); }};
}

void ProgressLine::draw() {
  if (!shown_) return;
  const size_t width = std::max<size_t>(terminal_width(), 2) - 1;  // a full line would scroll
  std::string text = estimate_.text(activity_, now(), width);
  if (text == drawn_) return;
  // Blanks over what an earlier, longer text left: no escape sequence that a simple terminal lacks.
  const size_t old_size = std::min(drawn_.size(), width);
  fmt::print(stderr, "\r{}{}", text, std::string(old_size > text.size() ? old_size - text.size() : 0, ' '));
  std::fflush(stderr);
  drawn_ = std::move(text);
}

void ProgressLine::clear() {
  if (drawn_.empty()) return;
  fmt::print(stderr, "\r{}\r", std::string(drawn_.size(), ' '));
  std::fflush(stderr);
  drawn_.clear();
}

bool may_color(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(descriptor) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace quire::bench
