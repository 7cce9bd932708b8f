#include "bench/stopping.h"

#include <gtest/gtest.h>

#include <random>

namespace quire::bench {
namespace {

using Samples = std::vector<double>;

// Samples that spread by this share around 100 us.
Samples samples(int64_t count, double spread) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> around(1 - spread, 1 + spread);
  Samples all;
  for (int64_t i = 0; i < count; ++i) all.push_back(100 * around(random));
  return all;
}

// Rounds until the rule says stop, where each takes `round_us` by the clock of the test.
int64_t rounds_until_done(StoppingRule& rule, double round_us, const std::vector<double>& spreads) {
  for (int64_t rounds = 0;; ++rounds) {
    std::vector<Samples> all;
    for (const double spread : spreads) all.push_back(samples(rounds, spread));
    std::vector<const Samples*> series;
    for (const Samples& one : all) series.push_back(&one);
    if (rule.done(rounds, static_cast<double>(rounds) * round_us, series)) return rounds;
    if (rounds > 10'000) return -1;
  }
}

TEST(StoppingRule, steady_times_end_it_after_the_fewest_rounds) {
  const MeasureOptions options;
  StoppingRule rule(options, 1e9);
  EXPECT_EQ(rounds_until_done(rule, 1, {0, 0.001}), StoppingRule::kLeastRounds);
  EXPECT_EQ(rule.reason(), "ci");
}

TEST(StoppingRule, one_unsteady_row_keeps_it_going) {
  MeasureOptions options;
  options.ci = 0.03;
  StoppingRule rule(options, 1e9);
  const int64_t rounds = rounds_until_done(rule, 1, {0, 0.08});
  EXPECT_GT(rounds, StoppingRule::kLeastRounds);
  EXPECT_LT(rounds, StoppingRule::kMostRounds);
  EXPECT_EQ(rule.reason(), "ci");
}

TEST(StoppingRule, the_budget_ends_it_but_not_before_the_fewest_rounds) {
  const MeasureOptions options;
  StoppingRule rule(options, 1'000);
  EXPECT_EQ(rounds_until_done(rule, 50, {0.5}), 20);
  EXPECT_EQ(rule.reason(), "budget");
  EXPECT_EQ(rounds_until_done(rule, 5'000, {0.5}), StoppingRule::kLeastRounds);
  EXPECT_EQ(rule.reason(), "budget");
}

TEST(StoppingRule, there_are_most_rounds) {
  const MeasureOptions options;
  StoppingRule rule(options, 1e9);
  EXPECT_EQ(rounds_until_done(rule, 1, {0.5}), StoppingRule::kMostRounds);
  EXPECT_EQ(rule.reason(), "rounds");
}

TEST(StoppingRule, a_count_that_was_asked_for_is_kept_to_exactly) {
  MeasureOptions options;
  for (const int64_t iters : {1, 5, 11, 250}) {
    options.iters = iters;
    StoppingRule rule(options, 1);  // neither the budget nor narrow intervals matter
    EXPECT_EQ(rounds_until_done(rule, 100, {0}), iters);
    EXPECT_EQ(rule.reason(), "iters");
  }
}

}  // namespace
}  // namespace quire::bench
