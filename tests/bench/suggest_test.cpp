#include "bench/suggest.h"

#include <gtest/gtest.h>

namespace quire::bench {
namespace {

const std::vector<std::string> kFlags = {"--batch-sizes", "--seq-lens", "--num-heads", "--num-kv-heads", "--iters"};

TEST(Suggest, names_the_nearest_word) {
  EXPECT_EQ(did_you_mean("--btach-sizes", kFlags), "; did you mean --batch-sizes?");
  EXPECT_EQ(did_you_mean("--batch-size", kFlags), "; did you mean --batch-sizes?");
  EXPECT_EQ(did_you_mean("--seqlens", kFlags), "; did you mean --seq-lens?");
  EXPECT_EQ(did_you_mean("--num-kv-head", kFlags), "; did you mean --num-kv-heads?");
  EXPECT_EQ(did_you_mean("--iter", kFlags), "; did you mean --iters?");
}

TEST(Suggest, is_silent_where_nothing_is_near) {
  EXPECT_EQ(did_you_mean("--frobnicate", kFlags), "");
  EXPECT_EQ(did_you_mean("", kFlags), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

TEST(Suggest, short_words_may_miss_one_letter) {
  EXPECT_EQ(did_you_mean("cpi", {"auto", "cpu"}), "; did you mean cpu?");
  EXPECT_EQ(did_you_mean("gpu", {"auto", "cpu"}), "; did you mean cpu?");
  EXPECT_EQ(did_you_mean("cup", {"auto", "cpu"}), "; did you mean cpu?");
  EXPECT_EQ(did_you_mean("xyz", {"auto", "cpu"}), "");
}

}  // namespace
}  // namespace quire::bench
