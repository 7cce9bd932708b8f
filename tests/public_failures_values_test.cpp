// Publicly reported failures to compute values: empty and odd lengths, heads, merges and numerics.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/accuracy.h"
#include "tests/problem.h"
#include "tests/public_failures.h"

namespace quire::test {
namespace {

class PublicValueFailures : public PublicFailures {};

QUIRE_FOR_EVERY_IMPLEMENTATION(PublicValueFailures);

// OP-B1 (flashinfer #363 and #4975). Rows without tokens are written: zeros, and an lse of minus infinity.
TEST_P(PublicValueFailures, empty_rows_are_zero_with_lse_minus_infinity) {
  for (const DType dtype : kStorageTypes) {
    for (const int threads : {1, 2, 8}) {
      ThreadPool pool(threads);
      Problem problem({.dtype = dtype, .context_lens = {0, 5, 0}});
      const Answer answer = problem.run(implementation(), &pool);
      EXPECT_TRUE(agrees(answer, problem.reference(), problem.spec()));
      for (const int64_t row : {0, 2}) {
        expect_row(answer, problem.spec(), row, 0);
        for (int64_t h = 0; h < 4; ++h) EXPECT_EQ(answer.lse[static_cast<size_t>(row * 4 + h)], -kInfinity);
      }
    }
  }
}

// OP-B2 (flashinfer #3716). Dead slots are not in the denominator: 300 of 304 or of 512 would show.
TEST_P(PublicValueFailures, dead_slots_do_not_join_the_denominator) {
  for (const DType dtype : kStorageTypes) {
    expect_all({.dtype = dtype,
                .num_heads = 1,
                .num_kv_heads = 1,
                .head_dim = 128,
                .context_lens = {300},
                .value = all(1),
                .query = kZeroQuery,
                .dead = 0.0f},
               1, 0);
  }
}

// OP-B3 (TileOPs #1787, vLLM #438). Blocks that chunks do not divide are read to their ends.
TEST_P(PublicValueFailures, blocks_of_any_size_are_read_whole) {
  std::vector<std::pair<int64_t, int64_t>> sizes_and_lengths = {{192, 384}, {256, 256}};
  for (const int64_t size : {1, 3, 24, 48, 80, 96, 160, 528}) sizes_and_lengths.emplace_back(size, 2 * size + 1);
  for (const DType dtype : kStorageTypes) {
    for (const auto& [size, length] : sizes_and_lengths) {
      if (dtype == DType::kBF16 && length > 256) continue;  // the ramp is not exact
      SCOPED_TRACE(std::string(name_of(dtype)) + ", block_size " + std::to_string(size));
      expect_all({.dtype = dtype,
                  .num_heads = 1,
                  .num_kv_heads = 1,
                  .block_size = size,
                  .context_lens = {length},
                  .value = kRamp,
                  .query = kZeroQuery},
                 static_cast<double>(length - 1) / 2);
    }
  }
}

// OP-B4 (flash-attention #1159, pytorch #166318).
TEST_P(PublicValueFailures, an_empty_batch_succeeds) { EXPECT_TRUE(run({.context_lens = {}}).status.ok()); }

// OP-B4.
TEST_P(PublicValueFailures, a_table_without_columns_serves_empty_rows_only) {
  Problem empty({.context_lens = {0}, .dead_columns = 0});
  ASSERT_EQ(empty.spec().max_blocks_per_seq, 0);
  const Answer answer = empty.run(implementation());
  expect_row(answer, empty.spec(), 0, 0);
  EXPECT_EQ(answer.lse[0], -kInfinity);
  empty.context_len(0) = 1;
  EXPECT_EQ(empty.run(implementation()).status.code(), StatusCode::kOutOfRange);
}

// OP-E1 (llama.cpp #19115, jax-js #180). Query head h reads KV head h / group_size, whatever the group.
TEST_P(PublicValueFailures, query_heads_read_the_kv_head_of_their_group) {
  const std::pair<int64_t, int64_t> heads[] = {{28, 4}, {12, 2}, {24, 2}, {48, 2}, {10, 2}, {30, 6}, {9, 3}, {12, 12}};
  for (const DType dtype : kStorageTypes) {
    for (const auto& [num_heads, num_kv_heads] : heads) {
      SCOPED_TRACE(std::to_string(num_heads) + "/" + std::to_string(num_kv_heads));
      const Answer answer =
          run({.dtype = dtype,
               .num_heads = num_heads,
               .num_kv_heads = num_kv_heads,
               .context_lens = {17},
               .value = [](int64_t, int64_t, int64_t h, int64_t) { return static_cast<float>(h + 1); },
               .query = kZeroQuery});
      ASSERT_TRUE(answer.status.ok());
      for (int64_t i = 0; i < num_heads * 64; ++i) {
        const int64_t kv_head = i / 64 / (num_heads / num_kv_heads);
        ASSERT_EQ(answer.output[static_cast<size_t>(i)], static_cast<float>(kv_head + 1)) << "element " << i;
      }
    }
  }
}

// OP-E2 (vLLM #31968, OpenVINO #24627). Head dims that are no powers of two are neither cut nor padded into the next
// row.
TEST_P(PublicValueFailures, every_channel_of_an_odd_head_dim_is_its_own) {
  for (const DType dtype : kStorageTypes) {
    for (const int64_t head_dim : {8, 16, 40, 46, 64, 72, 80, 96, 112, 120, 128, 160, 192, 256}) {
      SCOPED_TRACE(std::string(name_of(dtype)) + ", head_dim " + std::to_string(head_dim));
      const Answer answer = run({.dtype = dtype,
                                 .head_dim = head_dim,
                                 .context_lens = {33, 7},
                                 .value = [](int64_t, int64_t, int64_t, int64_t d) { return static_cast<float>(d); },
                                 .query = kZeroQuery});
      if (answer.status.code() == StatusCode::kUnsupported) continue;
      for (size_t i = 0; i < answer.output.size(); ++i) {
        const double want = static_cast<double>(static_cast<int64_t>(i) % head_dim);
        ASSERT_NEAR(static_cast<double>(answer.output[i]), want, gate(DType::kF32, head_dim) * want) << "element " << i;
      }
    }
  }
}

// OP-E3 (flash-linear-attention #1029). Head counts that do not divide are refused.
TEST_P(PublicValueFailures, num_heads_that_num_kv_heads_does_not_divide_is_refused) {
  const std::pair<int64_t, int64_t> heads[] = {{33, 2}, {3, 2}, {2, 4}, {4, 0}};
  for (const auto& [num_heads, num_kv_heads] : heads) {
    Problem problem({.num_heads = 40, .num_kv_heads = 4});
    problem.mutable_spec().num_heads = num_heads;
    problem.mutable_spec().num_kv_heads = num_kv_heads;
    EXPECT_EQ(problem.run(implementation()).status.code(), StatusCode::kInvalidArgument)
        << num_heads << "/" << num_kv_heads;
  }
}

// OP-F1 (vLLM #39148, flashinfer #4051). Workers that get no token leave nothing behind that could poison the merge.
TEST_P(PublicValueFailures, workers_without_tokens_change_nothing) {
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{5}, std::vector<int64_t>{0, 40}}) {
    for (const int threads : {1, 2, 4, 8, 64}) {
      SCOPED_TRACE(threads);
      ThreadPool pool(threads);
      Problem problem({.dtype = DType::kF16, .num_heads = 2, .num_kv_heads = 1, .context_lens = lengths});
      EXPECT_TRUE(agrees(problem.run(implementation(), &pool), problem.reference(), problem.spec()));
    }
  }
}

// OP-F2 (pytorch #194167). Every row of a batch is its own, not row 0.
TEST_P(PublicValueFailures, rows_of_a_batch_equal_their_own_calls) {
  const int64_t length = kReducedTests ? 300 : 1024;
  Shape shape = {
      .dtype = DType::kBF16, .num_heads = 8, .block_size = 256, .context_lens = std::vector<int64_t>(4, length)};
  Problem batch(shape);
  const ReferenceResult expected = batch.reference();
  EXPECT_TRUE(agrees(batch.run(implementation()), expected, batch.spec()));
  for (int64_t row = 0; row < 4; ++row) {
    shape.context_lens = {length};
    shape.row_keys = {row};
    Problem alone(shape);
    const auto slice = [row](const std::vector<double>& all_rows) {
      const auto size = static_cast<ptrdiff_t>(all_rows.size() / 4);
      return std::vector<double>(all_rows.begin() + row * size, all_rows.begin() + (row + 1) * size);
    };
    const ReferenceResult own = {slice(expected.output), slice(expected.lse), slice(expected.norm)};
    EXPECT_TRUE(agrees(alone.run(implementation()), own, alone.spec())) << "row " << row;
  }
}

// OP-F3a (TensorRT-LLM #18754, vLLM #45844). What a larger call left in the workspace is not merged into a smaller one.
TEST_P(PublicValueFailures, a_used_workspace_is_as_good_as_a_new_one) {
  const int64_t length = kReducedTests ? 512 : 4096;
  ThreadPool pool(4);
  Problem large(
      {.dtype = DType::kF16, .num_heads = 8, .head_dim = 128, .context_lens = std::vector<int64_t>(3, length)});
  Problem ragged({.dtype = DType::kF16, .num_heads = 8, .head_dim = 128, .context_lens = {1, 100, length}, .seed = 2});
  const Result<size_t> bytes = workspace_bytes(implementation(), large.spec(), &pool);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  GuardedBuffer workspace(*bytes, kWorkspaceAlignment);
  workspace.fill(0xFF);
  ASSERT_TRUE(initialize_workspace(large.spec(), {workspace.data(), workspace.bytes()}).ok());
  EXPECT_TRUE(agrees(large.run(implementation(), &pool, &workspace), large.reference(), large.spec()));
  const Answer reused = ragged.run(implementation(), &pool, &workspace);
  EXPECT_TRUE(same_bits(reused, ragged.run(implementation(), &pool)));
  EXPECT_TRUE(agrees(reused, ragged.reference(), ragged.spec()));
}

// OP-F3b. The bytes asked for are enough, and one less is an error. (Canaries stand around every workspace.)
TEST_P(PublicValueFailures, a_workspace_one_byte_short_is_refused) {
  for (const int threads : {1, 3, 16}) {
    ThreadPool pool(threads);
    Problem problem({.num_heads = 8, .head_dim = 128, .context_lens = {1, 700, 80}});
    const Result<size_t> bytes = workspace_bytes(implementation(), problem.spec(), &pool);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    EXPECT_TRUE(agrees(problem.run(implementation(), &pool), problem.reference(), problem.spec()));
    if (*bytes == 0) continue;
    GuardedBuffer workspace(*bytes - 1, kWorkspaceAlignment);
    const Status status = problem.run(implementation(), &pool, &workspace).status;
    EXPECT_EQ(status.code(), StatusCode::kWorkspaceTooSmall);
    EXPECT_NE(status.message().find(std::to_string(*bytes)), std::string::npos) << status.message();
  }
}

// OP-F4 (SGLang #35045, flashinfer #4547). lse is a natural logarithm: base 2 would give 3, and merge with the wrong
// weights.
TEST_P(PublicValueFailures, lse_is_a_natural_logarithm) {
  const Answer eight = run({.num_heads = 1, .num_kv_heads = 1, .context_lens = {8}, .query = kZeroQuery});
  ASSERT_TRUE(eight.status.ok());
  EXPECT_NEAR(static_cast<double>(eight.lse[0]), 2.0794415, 1e-6);
  // Seven tokens of score 0 and value 1, merged with one of score 3 and value 0.
  Shape one = {.num_heads = 1, .num_kv_heads = 1, .head_dim = 1, .context_lens = {7}, .scale = 1.0f};
  one.query = all_query(1);
  one.key = all(0);
  one.value = all(1);
  const Answer a = run(one);
  one.context_lens = {1};
  one.key = all(3);
  one.value = all(0);
  const Answer b = run(one);
  const double weight_a = std::exp(static_cast<double>(a.lse[0]));
  const double weight_b = std::exp(static_cast<double>(b.lse[0]));
  const double merged = (weight_a * static_cast<double>(a.output[0]) + weight_b * static_cast<double>(b.output[0])) /
                        (weight_a + weight_b);
  EXPECT_NEAR(merged, 0.2584405, 1e-6);
}

// OP-G1 (llama.cpp #6646, mlc-llm #1638). q.k is past fp16's range before and after scaling.
TEST_P(PublicValueFailures, logits_past_the_range_of_fp16_are_no_infinities) {
  for (const DType dtype : kStorageTypes) {
    expect_all({.dtype = dtype,
                .num_heads = 1,
                .num_kv_heads = 1,
                .head_dim = 128,
                .context_lens = {33},
                .key = all(256),
                .value = kRamp,
                .query = all_query(256)},
               16);
  }
}

// OP-G2 (flashinfer #4267 and #4401). Logits of -113,137 are low, not masked.
TEST_P(PublicValueFailures, very_low_logits_are_not_taken_for_masked) {
  for (const DType dtype : kStorageTypes) {
    for (const float key : {-100.0f, -60000.0f}) {
      expect_all({.dtype = dtype,
                  .num_heads = 1,
                  .num_kv_heads = 1,
                  .head_dim = 128,
                  .context_lens = {64},
                  .key = all(key),
                  .value = kRamp,
                  .query = all_query(100)},
                 31.5);
    }
  }
}

// OP-G3 (maxtext #1370), of which the scale applies: it is neither dropped, nor inverted, nor assumed positive.
TEST_P(PublicValueFailures, scale_may_be_negative_zero_or_one) {
  const std::pair<float, double> answers[] = {{-1.0f, 0.4247896}, {0.0f, 1.0}, {1.0f, 1.5752104}};
  for (const DType dtype : kStorageTypes) {
    Shape shape = {.dtype = dtype, .num_heads = 1, .num_kv_heads = 1, .head_dim = 8, .context_lens = {3}};
    shape.query = [](int64_t, int64_t, int64_t d) { return d == 0 ? 1.0f : 0.0f; };
    shape.key = [](int64_t, int64_t t, int64_t, int64_t) { return static_cast<float>(t + 1); };
    shape.value = kRamp;
    for (const auto& [scale, want] : answers) {
      shape.scale = scale;
      expect_all(shape, want);
    }
    shape.key = [](int64_t, int64_t t, int64_t, int64_t) { return static_cast<float>(1024 * (t + 1)); };
    shape.value = [](int64_t, int64_t t, int64_t, int64_t) { return t == 0 ? 5.0f : 1.0f; };
    shape.scale = -1.0f;
    expect_all(shape, 5);
  }
}

// OP-G4 (ik_llama.cpp #1196). Unnormalised sums do not overflow 16 bits.
TEST_P(PublicValueFailures, sums_larger_than_any_fp16_number_are_kept) {
  for (const int64_t length : {2, 64}) {
    expect_all({.dtype = DType::kF16, .context_lens = {length}, .value = all(60000), .query = kZeroQuery}, 60000);
  }
  const int64_t length = kReducedTests ? 70000 : 131072;
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    expect_all({.dtype = dtype,
                .num_heads = 1,
                .num_kv_heads = 1,
                .head_dim = 16,
                .context_lens = {length},
                .value = all(1),
                .query = kZeroQuery},
               1);
  }
}

}  // namespace
}  // namespace quire::test
