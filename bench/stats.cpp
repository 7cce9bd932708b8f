#include "bench/stats.h"

#include <algorithm>
#include <cmath>

namespace quire::bench {

MedianRanks median_ranks(size_t count) {
  // P(X = i), in logarithms since 2^-count leaves the range of double, and P(X <= i).
  double log_probability = -static_cast<double>(count) * std::log(2.0);
  double cumulative = 0;
  size_t rank = 0;
  for (size_t i = 0; 2 * i < count; ++i) {
    cumulative += std::exp(log_probability);
    if (2 * cumulative > 0.05) break;
    rank = i;
    log_probability += std::log(static_cast<double>(count - i) / static_cast<double>(i + 1));
  }
  return {rank, count - 1 - rank};
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
