// What users of other systems reported as broken, each as a small problem whose answer is known in closed form.
// Comments give the failure a number and say where it was reported.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/accuracy.h"
#include "tests/every_implementation.h"
#include "tests/problem.h"

namespace quire::test {
namespace {

const QueryFunction kZeroQuery = [](int64_t, int64_t, int64_t) { return 0.0f; };
const CacheFunction kRamp = [](int64_t, int64_t t, int64_t, int64_t) { return static_cast<float>(t); };

CacheFunction all(float value) {
  return [value](int64_t, int64_t, int64_t, int64_t) { return value; };
}

QueryFunction all_query(float value) {
  return [value](int64_t, int64_t, int64_t) { return value; };
}

class PublicFailures : public EveryImplementation {
 protected:
  Answer run(Shape shape) const { return Problem(std::move(shape)).run(implementation()); }

  // Expects success and `want` in every element of one row; `gates` allows for the output type's rounding.
  static void expect_row(const Answer& answer, const AttentionSpec& spec, int64_t row, double want, double gates = 1) {
    ASSERT_TRUE(answer.status.ok()) << answer.status.message();
    const int64_t size = spec.num_heads * spec.head_dim;
    const double tolerance = gates * gate(spec.dtype, spec.head_dim) * std::abs(want);
    for (int64_t i = row * size; i < (row + 1) * size; ++i) {
      ASSERT_NEAR(static_cast<double>(answer.output[static_cast<size_t>(i)]), want, tolerance)
          << "row " << row << ", element " << i - row * size;
    }
  }

  void expect_all(Shape shape, double want, double gates = 1) const {
    Problem problem(std::move(shape));
    if (const std::string why = reason_to_skip(implementation(), problem); !why.empty()) GTEST_SKIP() << why;
    const Answer answer = problem.run(implementation());
    for (int64_t b = 0; b < problem.spec().batch_size; ++b) expect_row(answer, problem.spec(), b, want, gates);
  }

  void expect_agreement(Shape shape) const {
    Problem problem(std::move(shape));
    EXPECT_TRUE(agrees(problem.run(implementation()), problem.reference(), problem.spec()));
  }
};

QUIRE_FOR_EVERY_IMPLEMENTATION(PublicFailures);

// OP-A1 (vLLM #47671, tokenspeed #522). Block 131,072 starts at element 2^31. Offsets cut to 32 bits lead to block 1,
// which row 1 fills with a decoy.
TEST_P(PublicFailures, blocks_past_2_to_the_31_elements_are_read) {
  for (const DType dtype : kStorageTypes) {
    SCOPED_TRACE(name_of(dtype));
    Problem problem({.dtype = dtype,
                     .num_heads = 8,
                     .num_kv_heads = 8,
                     .head_dim = 128,
                     .context_lens = {16, 16},
                     .tables = {{131073}, {1}},
                     .num_blocks = 131074,
                     .value = [](int64_t row, int64_t, int64_t, int64_t) { return row == 0 ? 1.0f : -1.0f; },
                     .query = kZeroQuery,
                     .sparse = true});
    if (const std::string why = reason_to_skip(implementation(), problem); !why.empty()) GTEST_SKIP() << why;
    const Answer answer = problem.run(implementation());
    expect_row(answer, problem.spec(), 0, 1, 0);
    expect_row(answer, problem.spec(), 1, -1, 0);
  }
}

// OP-A2 (ROCm/ATOM #702). An id cut to 16 bits leads to block 0, where row 1 keeps 64s.
TEST_P(PublicFailures, block_ids_have_more_than_16_bits) {
  for (const DType dtype : kStorageTypes) {
    SCOPED_TRACE(name_of(dtype));
    Problem problem({.dtype = dtype,
                     .num_heads = 1,
                     .num_kv_heads = 1,
                     .head_dim = 8,
                     .block_size = 1,
                     .context_lens = {3, 1},
                     .tables = {{65536, 65535, 1}, {0}},
                     .num_blocks = 65537,
                     .value = [](int64_t row, int64_t t, int64_t,
                                 int64_t) { return row == 1 ? 64.0f : static_cast<float>(1 << t); },
                     .query = kZeroQuery});
    expect_row(problem.run(implementation()), problem.spec(), 0, 7.0 / 3);
  }
}

// OP-A3 (flashinfer #3125, triton #3299). More rows, or rows times heads, than a 16-bit launch dimension.
TEST_P(PublicFailures, more_than_65535_rows_are_all_written) {
  const std::pair<size_t, int64_t> sizes[] = {{65536, 1}, {70000, 1}, {1366, 48}};
  for (const auto& [rows, heads] : sizes) {
    SCOPED_TRACE(rows);
    std::vector<std::vector<int32_t>> tables(rows);
    for (size_t b = 0; b < rows; ++b) tables[b] = {static_cast<int32_t>(b % 5)};
    Problem problem({.dtype = DType::kF16,
                     .num_heads = heads,
                     .num_kv_heads = 1,
                     .block_size = 1,
                     .context_lens = std::vector<int64_t>(rows, 1),
                     .tables = tables,
                     .num_blocks = 5,
                     .value = [](int64_t row, int64_t, int64_t, int64_t) { return static_cast<float>(row % 5 + 1); },
                     .query = kZeroQuery});
    const Answer answer = problem.run(implementation());
    for (int64_t b = 0; b < problem.spec().batch_size; ++b) {
      expect_row(answer, problem.spec(), b, static_cast<double>(b % 5 + 1), 0);
      if (HasFatalFailure()) return;
    }
  }
}

// OP-A4 (vLLM #905, TensorRT-LLM #287). No scratch memory is as long as a row.
TEST_P(PublicFailures, contexts_of_262144_tokens_are_attended_whole) {
  if (kReducedTests) GTEST_SKIP() << "too large with sanitizers";
  for (const DType dtype : kStorageTypes) {
    SCOPED_TRACE(name_of(dtype));
    Problem problem({.dtype = dtype,
                     .num_heads = 4,
                     .num_kv_heads = 1,
                     .context_lens = {262144},
                     .value = [](int64_t, int64_t t, int64_t, int64_t) { return static_cast<float>(t % 7); },
                     .query = kZeroQuery});
    if (const std::string why = reason_to_skip(implementation(), problem); !why.empty()) GTEST_SKIP() << why;
    const Answer answer = problem.run(implementation());
    expect_row(answer, problem.spec(), 0, 786429.0 / 262144);
    for (const float lse : answer.lse) EXPECT_NEAR(static_cast<double>(lse), std::log(262144.0), 2e-6);
  }
}

// OP-B1 (flashinfer #363 and #4975). Rows without tokens are written: zeros, and an lse of minus infinity.
TEST_P(PublicFailures, empty_rows_are_zero_with_lse_minus_infinity) {
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
TEST_P(PublicFailures, dead_slots_do_not_join_the_denominator) {
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
TEST_P(PublicFailures, blocks_of_any_size_are_read_whole) {
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
TEST_P(PublicFailures, an_empty_batch_succeeds) { EXPECT_TRUE(run({.context_lens = {}}).status.ok()); }

// OP-B4.
TEST_P(PublicFailures, a_table_without_columns_serves_empty_rows_only) {
  Problem empty({.context_lens = {0}, .dead_columns = 0});
  ASSERT_EQ(empty.spec().max_blocks_per_seq, 0);
  const Answer answer = empty.run(implementation());
  expect_row(answer, empty.spec(), 0, 0);
  EXPECT_EQ(answer.lse[0], -kInfinity);
  empty.context_len(0) = 1;
  EXPECT_EQ(empty.run(implementation()).status.code(), StatusCode::kOutOfRange);
}

// OP-C1 (vLLM #936, flashinfer #941). A weight of 0 does not silence NaN and infinity.
TEST_P(PublicFailures, garbage_in_dead_slots_leaves_no_trace) {
  const Shape shapes[] = {
      {.num_heads = 1, .num_kv_heads = 1, .context_lens = {1, 3}},
      {.num_heads = 1, .num_kv_heads = 1, .block_size = 4, .context_lens = {13, 13}},
      {.num_heads = 1, .num_kv_heads = 1, .context_lens = {16, 16}},
  };
  for (const DType dtype : kStorageTypes) {
    for (Shape shape : shapes) {
      shape.dtype = dtype;
      shape.num_blocks = 16;  // most of which nobody uses
      shape.dead = 0.0f;
      const Answer clean = run(shape);
      for (const float value : clean.output) ASSERT_TRUE(std::isfinite(value));
      for (const float garbage : {kNaN, kInfinity, -kInfinity, 65504.0f}) {
        shape.dead = garbage;
        EXPECT_TRUE(same_bits(clean, run(shape))) << name_of(dtype) << ", dead slots hold " << garbage;
      }
    }
  }
}

// OP-D1 (sparkinfer #152 and #185, onnxruntime #32391). Block 0 holds -10000: no bad entry may lead there.
TEST_P(PublicFailures, unmapped_entries_are_left_out_and_bad_ids_refused) {
  for (const DType dtype : kStorageTypes) {
    SCOPED_TRACE(name_of(dtype));
    Problem problem({.dtype = dtype,
                     .context_lens = {40, 16},
                     .tables = {{2, -1, 1}, {0}},
                     .num_blocks = 3,
                     .value = [](int64_t row, int64_t t, int64_t h, int64_t d) {
                       return row == 1 ? -10000.0f : random_normal(1, 1, row, t, h, d);
                     }});
    const Answer answer = problem.run(implementation());
    EXPECT_TRUE(agrees(answer, problem.reference(), problem.spec()));
    for (const int32_t bad : {3, 99, -2, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
      problem.table(0, 1) = bad;
      const Status status = problem.run(implementation()).status;
      EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
      EXPECT_NE(status.message().find("block_tables[0][1] is " + std::to_string(bad)), std::string::npos)
          << status.message();
    }
    problem.table(0, 1) = -1;
    EXPECT_TRUE(same_bits(answer, problem.run(implementation())));
  }
}

// OP-D2 (flash-attention #2709, vLLM #53982). A length past the table's width would read the next row's entries.
TEST_P(PublicFailures, lengths_the_table_does_not_cover_are_refused) {
  Problem problem({.context_lens = {32, 5}, .dead_columns = 0});
  ASSERT_EQ(problem.spec().max_blocks_per_seq, 2);
  EXPECT_TRUE(agrees(problem.run(implementation()), problem.reference(), problem.spec()));
  for (const int32_t bad : {33, -1, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    problem.context_len(0) = bad;
    const Status status = problem.run(implementation()).status;
    EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
    EXPECT_NE(status.message().find("context_lens[0] is " + std::to_string(bad)), std::string::npos)
        << status.message();
  }
}

// OP-D3 (flashinfer #3219). Scattered blocks are read where they lie, each as often as it is named.
TEST_P(PublicFailures, scattered_shared_and_repeated_blocks_equal_contiguous_ones) {
  for (const DType dtype : kStorageTypes) {
    SCOPED_TRACE(name_of(dtype));
    Shape shape = {.dtype = dtype, .context_lens = {80, 64}, .placement = Placement::kIdentity};
    const Answer identity = run(shape);
    for (const Placement placement : {Placement::kReversed, Placement::kShuffled, Placement::kStrided}) {
      shape.placement = placement;
      EXPECT_TRUE(same_bits(identity, run(shape)));
    }
    // Tokens repeat every 16, in blocks of their own and then in one block that all entries name.
    const auto repeating = [](int stream) {
      return [stream](int64_t, int64_t t, int64_t h, int64_t d) { return random_normal(1, stream, 0, t % 16, h, d); };
    };
    shape.key = repeating(0);
    shape.value = repeating(1);
    const Answer copies = run(shape);
    shape.tables = {{7, 7, 7, 7, 7}, {7, 7, 7, 7}};
    shape.num_blocks = 9;
    EXPECT_TRUE(same_bits(copies, run(shape)));
  }
}

// OP-E1 (llama.cpp #19115, jax-js #180). Query head h reads KV head h / group_size, whatever the group.
TEST_P(PublicFailures, query_heads_read_the_kv_head_of_their_group) {
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
TEST_P(PublicFailures, every_channel_of_an_odd_head_dim_is_its_own) {
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
TEST_P(PublicFailures, num_heads_that_num_kv_heads_does_not_divide_is_refused) {
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
TEST_P(PublicFailures, workers_without_tokens_change_nothing) {
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
TEST_P(PublicFailures, rows_of_a_batch_equal_their_own_calls) {
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
TEST_P(PublicFailures, a_used_workspace_is_as_good_as_a_new_one) {
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
TEST_P(PublicFailures, a_workspace_one_byte_short_is_refused) {
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
TEST_P(PublicFailures, lse_is_a_natural_logarithm) {
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
TEST_P(PublicFailures, logits_past_the_range_of_fp16_are_no_infinities) {
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
TEST_P(PublicFailures, very_low_logits_are_not_taken_for_masked) {
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
TEST_P(PublicFailures, scale_may_be_negative_zero_or_one) {
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
TEST_P(PublicFailures, sums_larger_than_any_fp16_number_are_kept) {
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

// OP-J1 (aiter #3498, InfiniCore #1149). Strides are taken as given, K's and V's apart.
TEST_P(PublicFailures, views_with_strides_of_their_own_equal_dense_caches) {
  for (const DType dtype : kStorageTypes) {
    Shape shape = {.dtype = dtype, .num_heads = 6, .num_kv_heads = 3, .head_dim = 40, .context_lens = {50, 17}};
    const Answer dense = run(shape);
    for (const Layout layout : {Layout::kHnd, Layout::kKeysNhdValuesHnd, Layout::kPadded, Layout::kInterleaved}) {
      shape.layout = layout;
      EXPECT_TRUE(same_bits(dense, run(shape))) << name_of(dtype) << ", layout " << static_cast<int>(layout);
    }
  }
}

// OP-J3 (vLLM #46548 and #42421). Nothing is read past the end of a buffer. (Every buffer of a Problem ends at an
// inaccessible page.)
TEST_P(PublicFailures, no_byte_past_a_buffer_is_read) {
  for (const DType dtype : kStorageTypes) {
    for (const int64_t head_dim : {1, 7, 40, 64, 65, 100}) {
      if (kReducedTests && head_dim % 2 == 0) continue;
      std::vector<int64_t> lengths(256);
      for (size_t b = 0; b < lengths.size(); ++b) lengths[b] = static_cast<int64_t>(b % 35);
      lengths[255] = 32;  // ends with the last slot of its block
      expect_agreement({.dtype = dtype,
                        .head_dim = head_dim,
                        .context_lens = lengths,
                        .placement = Placement::kReversed,
                        .dead_columns = 0});
      expect_agreement({.dtype = dtype,
                        .head_dim = head_dim,
                        .context_lens = {64},
                        .tables = {{0, 1, 2, 3}},
                        .num_blocks = 4,
                        .dead_columns = 0});
    }
  }
}

}  // namespace
}  // namespace quire::test
