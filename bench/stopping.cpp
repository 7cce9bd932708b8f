#include "bench/stopping.h"

#include <algorithm>

#include "bench/stats.h"

namespace quire::bench {

bool StoppingRule::done(int64_t rounds, double elapsed_us, const std::vector<const std::vector<double>*>& series) {
  if (options_.iters.has_value()) {
    reason_ = "iters";
    return rounds >= *options_.iters;
  }
  if (rounds < kLeastRounds) return false;
  const bool narrow = std::all_of(series.begin(), series.end(), [&](const std::vector<double>* samples) {
    return relative_half_width(median_interval(*samples)) <= options_.ci;
  });
  reason_ = narrow ? "ci" : elapsed_us >= budget_us_ ? "budget" : "rounds";
  return narrow || elapsed_us >= budget_us_ || rounds >= kMostRounds;
}

}  // namespace quire::bench
