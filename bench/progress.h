// One line on the terminal's stderr, rewritten in place: where a run is and how long it will still take.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "bench/job.h"

namespace quire::bench {

/// How far a run is, and the text that says so. Steps differ in weight; the clock is the caller's.
class ProgressEstimate {
 public:
  using Seconds = std::chrono::duration<double>;

  /// One weight a step, in proportion to the time it is expected to take.
  explicit ProgressEstimate(std::vector<double> weights) : weights_(std::move(weights)) {}

  /// The step of this index begins; the estimate counts on those that began before it.
  void begin(size_t index, const std::string& name, Seconds now);

  /// "[3/9] NAME: ACTIVITY, 0:41, about 1:20 left", cut to `width` characters.
  std::string text(const std::string& activity, Seconds now, size_t width) const;

 private:
  std::vector<double> weights_;
  std::string name_;
  size_t index_ = 0;
  double begun_weight_ = 0;  // of the steps that ran before this one
  Seconds run_begun_{};
  Seconds step_begun_{};
  bool running_ = false;
};

/// The line itself. Shows nothing where stderr is no terminal, or where it is not wanted.
class ProgressLine {
 public:
  ProgressLine(bool wanted, std::vector<double> weights);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void begin(size_t index, const std::string& name);
  /// What run_job() is to call.
  JobEvents events();
  /// Takes the line away, so that other output may stand there.
  void clear();

 private:
  void draw();

  ProgressEstimate estimate_;
  bool shown_;
  std::string activity_;
  std::string drawn_;  // what stands there now
};

/// True where output to this descriptor may be coloured: a terminal, and neither NO_COLOR nor TERM=dumb.
bool may_color(int descriptor);

}  // namespace quire::bench
