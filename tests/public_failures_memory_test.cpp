// Publicly reported failures to address memory: index widths, dead memory, table contents, layouts and over-reads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/accuracy.h"
#include "tests/problem.h"
#include "tests/public_failures.h"
#include "tests/random.h"

namespace quire::test {
namespace {

class PublicMemoryFailures : public PublicFailures {};

QUIRE_FOR_EVERY_IMPLEMENTATION(PublicMemoryFailures);

// OP-A1 (vLLM #47671, tokenspeed #522). Block 131,072 starts at element 2^31. Offsets cut to 32 bits lead to block 1,
// which row 1 fills with a decoy.
TEST_P(PublicMemoryFailures, blocks_past_2_to_the_31_elements_are_read) {
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
TEST_P(PublicMemoryFailures, block_ids_have_more_than_16_bits) {
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
TEST_P(PublicMemoryFailures, more_than_65535_rows_are_all_written) {
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
TEST_P(PublicMemoryFailures, contexts_of_262144_tokens_are_attended_whole) {
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

// OP-C1 (vLLM #936, flashinfer #941). A weight of 0 does not silence NaN and infinity.
TEST_P(PublicMemoryFailures, garbage_in_dead_slots_leaves_no_trace) {
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
TEST_P(PublicMemoryFailures, unmapped_entries_are_left_out_and_bad_ids_refused) {
  for (const DType dtype : kStorageTypes) {
    SCOPED_TRACE(name_of(dtype));
    Problem problem({.dtype = dtype,
                     .context_lens = {40, 16},
                     .tables = {{2, -1, 1}, {0}},
                     .num_blocks = 3,
                     .value = [](int64_t row, int64_t t, int64_t h, int64_t d) {
                       return row == 1 ? -10000.0f : random_normal(1, kValueStream, row, t, h, d);
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
TEST_P(PublicMemoryFailures, lengths_the_table_does_not_cover_are_refused) {
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
TEST_P(PublicMemoryFailures, scattered_shared_and_repeated_blocks_equal_contiguous_ones) {
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
    shape.key = repeating(kKeyStream);
    shape.value = repeating(kValueStream);
    const Answer copies = run(shape);
    shape.tables = {{7, 7, 7, 7, 7}, {7, 7, 7, 7}};
    shape.num_blocks = 9;
    EXPECT_TRUE(same_bits(copies, run(shape)));
  }
}

// OP-J1 (aiter #3498, InfiniCore #1149). Strides are taken as given, K's and V's apart.
TEST_P(PublicMemoryFailures, views_with_strides_of_their_own_equal_dense_caches) {
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
TEST_P(PublicMemoryFailures, no_byte_past_a_buffer_is_read) {
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
