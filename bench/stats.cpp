#include "bench/stats.h"

#include <algorithm>
#include <cmath>

namespace quire::bench {

MedianRanks median_ranks(size_t count) {
  // P(X <= r) of Binomial(count, 1/2), term by term; in logarithms, as 2^-count leaves double's range.
  const double log_all = -static_cast<double>(count) * std::log(2.0);
  double log_term = log_all;  // of r = 0
  double below = 0;           // P(X <= r - 1)
  size_t rank = 0;
  for (size_t r = 1; 2 * r < count; ++r) {
    below += std::exp(log_term);
    if (2 * below > 0.05) break;
    rank = r;
    log_term += std::log(static_cast<double>(count - r + 1) / static_cast<double>(r));
  }
  return rank == 0 ? MedianRanks{0, count - 1} : MedianRanks{rank - 1, count - rank};
}

Interval median_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t n = samples.size();
  const MedianRanks ranks = median_ranks(n);
  const double median = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  return {.low = samples[ranks.low], .median = median, .high = samples[ranks.high]};
}

Interval median_ratio(const std::vector<double>& baseline, const std::vector<double>& other) {
  std::vector<double> ratios(baseline.size());
  std::transform(baseline.begin(), baseline.end(), other.begin(), ratios.begin(),
                 [](double a, double b) { return a / b; });
  return median_interval(std::move(ratios));
}

double relative_half_width(const Interval& interval) {
  return interval.median > 0 ? (interval.high - interval.low) / 2 / interval.median : 0;
}

}  // namespace quire::bench
