#include "bench/progress.h"

#include <gtest/gtest.h>

namespace quire::bench {
namespace {

using Seconds = ProgressEstimate::Seconds;

TEST(ProgressEstimate, knows_no_end_before_a_step_was_finished) {
  ProgressEstimate estimate({1, 1});
  estimate.begin(0, "batch_size=1", Seconds(100));
  EXPECT_EQ(estimate.text("checking", Seconds(175), 80), "[1/2] batch_size=1: checking, 1:15");
}

TEST(ProgressEstimate, expects_the_rest_to_take_as_long_a_weight_as_what_ran) {
  ProgressEstimate estimate({1, 3, 6});
  estimate.begin(0, "a", Seconds(0));
  estimate.begin(1, "b", Seconds(10));
  EXPECT_EQ(estimate.text("", Seconds(10), 80), "[2/3] b, 0:10, about 1:30 left");
  EXPECT_EQ(estimate.text("", Seconds(25), 80), "[2/3] b, 0:25, about 1:15 left");
  estimate.begin(2, "c", Seconds(40));
  EXPECT_EQ(estimate.text("", Seconds(41), 80), "[3/3] c, 0:41, about 0:59 left");
}

TEST(ProgressEstimate, never_expects_less_than_nothing) {
  ProgressEstimate estimate({1, 1});
  estimate.begin(0, "a", Seconds(0));
  estimate.begin(1, "b", Seconds(1));
  EXPECT_EQ(estimate.text("", Seconds(100), 80), "[2/2] b, 1:40, about 0:00 left");
}

TEST(ProgressEstimate, leaves_out_steps_that_an_earlier_run_did) {
  ProgressEstimate estimate({100, 1, 1});
  estimate.begin(1, "b", Seconds(0));
  estimate.begin(2, "c", Seconds(10));
  EXPECT_EQ(estimate.text("", Seconds(10), 80), "[3/3] c, 0:10, about 0:10 left");
}

TEST(ProgressEstimate, fits_the_terminal) {
  ProgressEstimate estimate({1});
  estimate.begin(0, "a long name of a step", Seconds(0));
  EXPECT_EQ(estimate.text("busy", Seconds(0), 10), "[1/1] a lo");
  EXPECT_EQ(estimate.text("busy", Seconds(0), 1), "[");
}

}  // namespace
}  // namespace quire::bench
