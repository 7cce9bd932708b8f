// When a measurement is over: enough rounds and narrow intervals, or no time left, or the count that was asked for.
#pragma once

#include <string>
#include <vector>

#include "bench/job.h"

namespace quire::bench {

class StoppingRule {
 public:
  static constexpr int64_t kLeastRounds = 11;  // below, the interval of a median is its range, more or less
  static constexpr int64_t kMostRounds = 100;

  /// `budget_us` is for these rounds alone.
  StoppingRule(const MeasureOptions& options, double budget_us) : options_(options), budget_us_(budget_us) {}

  /// Whether to stop after `rounds` rounds that took `elapsed_us`, where `series` are the samples of each
  /// implementation.
  bool done(int64_t rounds, double elapsed_us, const std::vector<const std::vector<double>*>& series);

  /// Why it stopped: "iters", "ci", "budget" or "rounds".
  const std::string& reason() const { return reason_; }

 private:
  const MeasureOptions& options_;
  double budget_us_;
  std::string reason_;
};

}  // namespace quire::bench
