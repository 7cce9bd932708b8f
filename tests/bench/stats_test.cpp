#include "bench/stats.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace quire::bench {
namespace {

using testing::DoubleEq;

// By hand from the binomial distribution with p = 1/2: leaving out k samples at each end covers the median with
// probability 1 - 2 * sum_{i <= k - 1} C(n, i) / 2^n.
TEST(MedianRanks, are_those_of_the_binomial_tables) {
  const auto expect = [](size_t count, size_t low, size_t high) {
    const MedianRanks ranks = median_ranks(count);
    EXPECT_EQ(ranks.low, low) << count << " samples";
    EXPECT_EQ(ranks.high, high) << count << " samples";
  };
  expect(6, 0, 5);      // 1 - 2/64 = 96.9 %
  expect(8, 0, 7);      // 99.2 %; one fewer at each end would be 93.0 %
  expect(9, 1, 7);      // 1 - 2 * 10/512 = 96.1 %
  expect(11, 1, 9);     // 1 - 2 * 12/2048 = 98.8 %; one fewer at each end: 93.5 %
  expect(12, 2, 9);     // 1 - 2 * 79/4096 = 96.1 %
  expect(20, 5, 14);    // 95.9 %
  expect(25, 7, 17);    // 95.7 %
  expect(50, 17, 32);   // 96.7 %
  expect(100, 39, 60);  // 96.5 %; ranks 40 and 61 of textbooks, which count from 1
}

TEST(MedianRanks, below_six_samples_are_the_ends) {
  for (size_t count = 1; count < 6; ++count) {
    EXPECT_EQ(median_ranks(count).low, 0U);
    EXPECT_EQ(median_ranks(count).high, count - 1);
  }
}

TEST(MedianRanks, stay_symmetric_and_narrow_up_to_large_counts) {
  for (const size_t count : {101U, 1'000U, 5'000U, 100'000U}) {
    const MedianRanks ranks = median_ranks(count);
    EXPECT_EQ(ranks.low + ranks.high, count - 1);
    // The normal approximation: half-width 1.96 * sqrt(n) / 2 ranks.
    const double half = static_cast<double>(ranks.high - ranks.low) / 2;
    EXPECT_NEAR(half, 0.98 * std::sqrt(static_cast<double>(count)), 1.5) << count << " samples";
  }
}

TEST(MedianInterval, takes_the_samples_at_the_ranks_whatever_their_order) {
  std::vector<double> samples(11);
  std::iota(samples.begin(), samples.end(), 1.0);
  std::shuffle(samples.begin(), samples.end(), std::mt19937(5));
  const Interval interval = median_interval(samples);
  EXPECT_THAT(interval.low, DoubleEq(2));
  EXPECT_THAT(interval.median, DoubleEq(6));
  EXPECT_THAT(interval.high, DoubleEq(10));
}

TEST(MedianInterval, of_an_even_count_has_the_mean_of_the_middle_two) {
  EXPECT_THAT(median_interval({4, 1, 3, 2}).median, DoubleEq(2.5));
}

TEST(MedianInterval, of_one_sample_is_that_sample) {
  const Interval interval = median_interval({7});
  EXPECT_THAT(interval.low, DoubleEq(7));
  EXPECT_THAT(interval.median, DoubleEq(7));
  EXPECT_THAT(interval.high, DoubleEq(7));
}

TEST(MedianInterval, ignores_an_outlier) {
  std::vector<double> samples(20, 5.0);
  samples[13] = 1e9;
  EXPECT_THAT(median_interval(samples).high, DoubleEq(5));
}

TEST(MedianInterval, covers_the_true_median_about_as_often_as_it_promises) {
  std::mt19937 random(1);
  std::exponential_distribution<double> times(1.0);  // skewed, as times are; median ln 2
  int covered = 0;
  constexpr int kRuns = 2'000;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> samples(11);
    for (double& sample : samples) sample = times(random);
    const Interval interval = median_interval(samples);
    covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high ? 1 : 0;
  }
  EXPECT_GT(covered, kRuns * 0.975);  // 98.8 % promised
  EXPECT_LT(covered, kRuns * 0.998);
}

TEST(MedianRatio, is_taken_round_by_round_so_that_drift_cancels) {
  // The machine slows down threefold on the way; the second row takes half the time of the first throughout.
  std::vector<double> baseline, other;
  for (int round = 0; round < 15; ++round) {
    baseline.push_back(10 + 2 * round);
    other.push_back(baseline.back() / 2);
  }
  const Interval speedup = median_ratio(baseline, other);
  EXPECT_THAT(speedup.low, DoubleEq(2));
  EXPECT_THAT(speedup.median, DoubleEq(2));
  EXPECT_THAT(speedup.high, DoubleEq(2));
}

TEST(MedianRatio, of_a_row_against_itself_is_one) {
  const std::vector<double> times = {3, 1, 2, 9, 4, 7};
  const Interval speedup = median_ratio(times, times);
  EXPECT_THAT(speedup.low, DoubleEq(1));
  EXPECT_THAT(speedup.high, DoubleEq(1));
}

TEST(RelativeHalfWidth, is_half_the_interval_over_the_median) {
  EXPECT_THAT(relative_half_width({.low = 9, .median = 10, .high = 12}), DoubleEq(0.15));
  EXPECT_THAT(relative_half_width({.low = 0, .median = 0, .high = 0}), DoubleEq(0));
}

}  // namespace
}  // namespace quire::bench
