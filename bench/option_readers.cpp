#include "bench/option_readers.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/suggest.h"

namespace quire::bench {
namespace {

Status read_device(const std::optional<std::string>& device) {
  if (!device || *device == "auto" || *device == "cpu") return {};
  if (device->rfind("cuda", 0) == 0) {
    return usage_error("--device: '" + *device + "' is not available: this build has no CUDA");
  }
  return usage_error("--device: '" + *device + "' is not one of auto, cpu" + did_you_mean(*device, {"auto", "cpu"}));
}

// From the simplest to the best.
std::vector<std::string> known_implementations() {
  std::vector<std::string> names;
  for (const Implementation* implementation : implementations()) names.emplace_back(implementation->name);
  std::reverse(names.begin(), names.end());
  return names;
}

Status read_implementations(const std::vector<std::string>& items, std::vector<std::string>& chosen) {
  const std::vector<std::string> known = known_implementations();
  chosen.clear();
  for (const std::string& name : items) {
    if (find_implementation(name) == nullptr) {
      const std::string hint = did_you_mean(name, known);
      return usage_error("--impl: '" + name + "' is not an implementation" +
                         (hint.empty() ? "; quire list shows all" : hint));
    }
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
  }
  if (chosen.empty()) chosen = known;
  return {};
}

}  // namespace

Status usage_error(const std::string& message) { return {StatusCode::kInvalidArgument, message}; }

Status with_flag(const std::string& flag, const Status& status) {
  return {status.code(), flag + ": " + status.message()};
}

Status first_error(std::initializer_list<std::function<Status()>> steps) {
  for (const auto& step : steps) {
    if (Status s = step(); !s.ok()) return s;
  }
  return {};
}

void RunFlags::add_implementations(FlagParser& parser, const std::string& help) {
  parser.add_list("--impl", {kWhatRuns, "A,B,...", help}, implementations);
}

void RunFlags::add_device(FlagParser& parser) {
  parser.add_value("--device", {kWhatRuns, "NAME", "auto or cpu [auto]"}, device);
}

void RunFlags::add_threads(FlagParser& parser) {
  parser.add_value("--threads", {kWhatRuns, "N", "threads; default: all that this process may use"}, threads);
}

void RunFlags::add_timeout(FlagParser& parser) {
  const std::string help =
      fmt::format("a longer call of an implementation is a TIMEOUT [{:g}]", RunOptions().timeout_s);
  parser.add_value("--timeout", {kWhatRuns, "SECONDS", help}, timeout);
}

void RunFlags::add_quiet(FlagParser& parser) {
  parser.add_switch("--quiet", {kOther, "", "no progress line; there is none but on a terminal"}, quiet);
}

Status RunFlags::read_threads(int& count) const {
  const int most = available_threads();
  int64_t given = most;
  if (Status s = read_flag("--threads", threads, whole_from(1), given); !s.ok()) return s;
  if (given > most) {
    return usage_error(fmt::format("--threads: {} is more than the {} that this process may use", given, most));
  }
  count = static_cast<int>(given);
  return {};
}

Status RunFlags::read_into(RunOptions& options) const {
  options.quiet = quiet;
  return first_error({
      [&] { return read_device(device); },
      [&] { return read_threads(options.threads); },
      [&] { return read_flag("--timeout", timeout, parse_seconds, options.timeout_s); },
      [&] { return read_implementations(implementations, options.implementations); },
  });
}

}  // namespace quire::bench
