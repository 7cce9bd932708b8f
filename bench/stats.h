// Medians and their confidence intervals, from order statistics: no assumption about how times are distributed.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/job.h"

namespace quire::bench {

/// The two of `count` sorted samples, by index, that enclose the median with at least 95 % confidence: the r-th from
/// each end, r the largest with 2 * P(X <= r - 1) <= 5 % for X ~ Binomial(count, 1/2). Below 6 samples no pair is that
/// sure, and the two are the ends.
struct MedianRanks {
  size_t low, high;
};
MedianRanks median_ranks(size_t count);

/// The median and its interval. `samples` must not be empty.
Interval median_interval(std::vector<double> samples);

/// The median of baseline[i] / other[i], with its interval. Both of equal length, not empty.
Interval median_ratio(const std::vector<double>& baseline, const std::vector<double>& other);

/// Half of an interval's width, relative to its median; 0 where the median is 0.
double relative_half_width(const Interval& interval);

}  // namespace quire::bench
