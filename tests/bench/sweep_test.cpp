// Axes, grids, and the points that are refused before anything runs.
#include "bench/sweep.h"

#include <gmock/gmock.h>

namespace quire::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kPlenty = int64_t{1} << 60;

Axis axis(const char* field, std::vector<std::string> values) { return {find_field(field), std::move(values)}; }

TEST(Fields, round_trip_through_their_text) {
  Workload original;
  original.batch_size = 3;
  original.seq_len = 1000;
  original.num_heads = 28;
  original.num_kv_heads = 4;
  original.head_dim = 80;
  original.block_size = 16;
  original.dtype = DType::kBF16;
  original.kv_dtype = DType::kF32;
  original.layout = Layout::kHnd;
  original.seed = 42;
  Workload copy;
  for (const Field& field : workload_fields()) {
    EXPECT_TRUE(set_field(field, copy, text_of(field, original)).ok()) << field.name;
    EXPECT_EQ(text_of(field, copy), text_of(field, original)) << field.name;
  }
}

TEST(Fields, give_the_flags_of_a_point) {
  EXPECT_EQ(
      flags_of(Workload()),
      "--batch-sizes 1 --seq-lens 128 --num-heads 16 --num-kv-heads 8 --head-dim 128 --block-size 256 --dtype fp16 "
      "--kv-dtype fp16 --layout nhd --seed 0");
}

TEST(Fields, refuse_words_they_do_not_know) {
  Workload w;
  EXPECT_EQ(set_field(*find_field("dtype"), w, "fp61").message(),
            "'fp61' is not one of fp16, bf16, fp32; did you mean fp16?");
  EXPECT_EQ(set_field(*find_field("layout"), w, "NHD").message(), "'NHD' is not one of nhd, hnd");
  EXPECT_EQ(find_field("no_such_field"), nullptr);
}

TEST(Fields, expand_ranges_of_numbers_only) {
  EXPECT_THAT(*expand_values(*find_field("seq_len"), "128:512:x2"), ElementsAre("128", "256", "512"));
  EXPECT_THAT(*expand_values(*find_field("seq_len"), "1k"), ElementsAre("1024"));
  EXPECT_THAT(*expand_values(*find_field("dtype"), "bf16"), ElementsAre("bf16"));
  EXPECT_FALSE(expand_values(*find_field("dtype"), "fp16:fp32:x2").ok());
}

TEST(Sweep, visits_every_combination_the_last_axis_fastest) {
  const Result<std::vector<Workload>> points = sweep(
      Workload(), {axis("dtype", {"fp16", "fp32"}), axis("batch_size", {"1", "8"}), axis("seq_len", {"128", "512"})});
  ASSERT_TRUE(points.ok());
  std::vector<std::string> visited;
  for (const Workload& w : *points) {
    visited.push_back(std::string(name_of(w.dtype)) + " " + std::to_string(w.batch_size) + "x" +
                      std::to_string(w.seq_len));
  }
  EXPECT_THAT(visited, ElementsAre("fp16 1x128", "fp16 1x512", "fp16 8x128", "fp16 8x512", "fp32 1x128", "fp32 1x512",
                                   "fp32 8x128", "fp32 8x512"));
}

TEST(Sweep, kv_dtype_follows_dtype_but_for_an_axis_of_its_own) {
  EXPECT_EQ(sweep(Workload(), {axis("dtype", {"bf16"})})->front().kv_dtype, DType::kBF16);
  EXPECT_EQ(sweep(Workload(), {axis("dtype", {"bf16"}), axis("kv_dtype", {"fp16"})})->front().kv_dtype, DType::kF16);
}

TEST(Sweep, refuses_a_grid_beyond_reason) {
  std::vector<std::string> many;
  for (int i = 1; i <= 200; ++i) many.push_back(std::to_string(i));
  const Result<std::vector<Workload>> points = sweep(Workload(), {axis("batch_size", many), axis("seq_len", many)});
  ASSERT_FALSE(points.ok());
  EXPECT_EQ(points.status().message(), "--seq-lens: the grid has more than 10000 points");
}

TEST(CheckPoints, takes_the_default_grid) { EXPECT_TRUE(check_points({Workload()}, kPlenty).ok()); }

TEST(CheckPoints, names_flags_in_the_words_of_the_command_line) {
  Workload w;
  w.num_kv_heads = 3;
  EXPECT_EQ(check_points({Workload(), w}, kPlenty).message(),
            "--num-heads is 16, must be a multiple of --num-kv-heads, 3");
}

TEST(CheckPoints, refuses_a_cache_larger_than_memory_and_says_both_sizes) {
  Workload w;
  w.batch_size = 1024;
  w.seq_len = 32'768;
  const std::string message = check_points({w}, 16'000'000'000).message();
  EXPECT_THAT(message, HasSubstr("--batch-sizes 1024 --seq-lens 32768"));
  EXPECT_THAT(message, HasSubstr("550 GB"));  // 4 times 2 * 1024 * 32768 * 8 * 128 * 2 bytes
  EXPECT_THAT(message, HasSubstr("16.0 GB"));
}

TEST(CheckPoints, refuses_sizes_that_no_integer_holds) {
  for (const char* field : {"batch_size", "num_heads", "num_kv_heads", "head_dim", "block_size"}) {
    Workload w;
    w.num_heads = w.num_kv_heads = 1;
    ASSERT_TRUE(set_field(*find_field(field), w, "9223372036854775807").ok());
    if (std::string_view(field) == "num_kv_heads") w.num_heads = w.num_kv_heads;
    EXPECT_FALSE(check_points({w}, kPlenty).ok()) << field;
  }
  Workload w;
  w.seq_len = int64_t{1} << 31;
  EXPECT_EQ(check_points({w}, kPlenty).message(), "--seq-lens: 2147483648 is more than 2147483647");
}

TEST(CheckPoints, refuses_more_blocks_than_an_id_can_name) {
  Workload w;
  w.batch_size = 2;
  w.seq_len = 2'147'483'647;
  w.num_heads = w.num_kv_heads = w.head_dim = w.block_size = 1;
  EXPECT_THAT(check_points({w}, kPlenty).message(), HasSubstr("more than 2147483647 blocks"));
}

}  // namespace
}  // namespace quire::bench
