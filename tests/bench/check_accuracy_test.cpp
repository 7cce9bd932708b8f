#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "bench/check.h"
#include "tests/bench/case_memory.h"

namespace quire::bench {
namespace {

using testing::HasSubstr;

// A case whose output is its fp64 reference, rounded to the output type.
struct Answered {
  Case c;
  ReferenceResult expected;

  explicit Answered(const Workload& w) {
    ThreadPool pool(2);
    c = std::move(*generate(w, 0, pool));
    expected = std::move(*reference(c.spec, c.args, &pool));
    answer(1);
  }

  // Writes the reference times `factor`.
  void answer(double factor) {
    for (int64_t row = 0; row < c.spec.batch_size * c.spec.num_heads; ++row) {
      for (int64_t d = 0; d < c.spec.head_dim; ++d) {
        set(row, d, static_cast<float>(factor * expected.output[static_cast<size_t>(row * c.spec.head_dim + d)]));
      }
      c.lse_data()[row] = static_cast<float>(expected.lse[static_cast<size_t>(row)]);
    }
  }

  void set(int64_t row, int64_t d, float value) {
    std::byte* target = c.output_row(row / c.spec.num_heads, row % c.spec.num_heads);
    from_f32(c.spec.dtype, &value, target + d * size_of(c.spec.dtype), 1);
  }
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// Rows of ragged_workload(): 4 heads each of contexts 37, 0, 64, 1.
constexpr int64_t kEmptyRow = 5;
constexpr int64_t kLongRow = 9;

TEST(Compare, accepts_the_rounded_reference) {
  for (const Workload& w : irregular_workloads()) {
    const Answered a(w);
    const Verdict verdict = compare(a.c, a.expected);
    EXPECT_TRUE(verdict.right) << verdict.reason;
    EXPECT_LT(verdict.rel_l2, 4e-3);
    EXPECT_LT(verdict.max_err, 2e-2);
  }
}

TEST(Compare, gates_depend_on_the_output_type) {
  for (const auto& [dtype, gate] : {std::pair{DType::kF32, 5e-5}, {DType::kF16, 1e-3}, {DType::kBF16, 6e-3}}) {
    Answered a(ragged_workload(dtype));
    a.answer(1 + 0.6 * gate);
    EXPECT_TRUE(compare(a.c, a.expected).right) << name_of(dtype);
    a.answer(1 + 1.5 * gate);
    const Verdict verdict = compare(a.c, a.expected);
    EXPECT_FALSE(verdict.right) << name_of(dtype);
    EXPECT_THAT(verdict.reason, HasSubstr("rel_l2"));
  }
}

TEST(Compare, short_bf16_rows_have_a_wider_gate) {
  Workload w = ragged_workload(DType::kBF16);
  w.head_dim = 4;
  Answered a(w);
  a.answer(1 + 5.5e-3);
  const Verdict verdict = compare(a.c, a.expected);
  EXPECT_GT(verdict.rel_l2, 6e-3);
  EXPECT_TRUE(verdict.right) << verdict.reason;
}

TEST(Compare, names_the_worst_row) {
  Answered a(ragged_workload());
  a.set(kLongRow, 3, 2);
  a.set(2, 3, 0.9F);
  const Verdict verdict = compare(a.c, a.expected);
  EXPECT_FALSE(verdict.right);
  EXPECT_THAT(verdict.reason, HasSubstr("sequence 2, head 1: rel_l2"));
}

TEST(Compare, rejects_nan_and_infinity_where_the_reference_is_finite) {
  for (const float value : {kNan, kInfinity, -kInfinity}) {
    Answered a(ragged_workload());
    a.set(kLongRow, 17, value);
    const Verdict verdict = compare(a.c, a.expected);
    EXPECT_FALSE(verdict.right);
    EXPECT_THAT(verdict.reason, HasSubstr("output[2][1][17] is"));
  }
}

TEST(Compare, a_reference_that_is_not_finite_must_match_in_kind) {
  for (const float kind : {kNan, kInfinity, -kInfinity}) {
    Answered a(ragged_workload());
    a.expected.output[kLongRow * 24 + 17] = static_cast<double>(kind);
    EXPECT_FALSE(compare(a.c, a.expected).right);
    for (const float value : {kNan, kInfinity, -kInfinity, 0.0F}) {
      a.set(kLongRow, 17, value);
      const bool same = std::isnan(kind) ? std::isnan(value) : kind == value;
      EXPECT_EQ(compare(a.c, a.expected).right, same) << kind << " " << value;
    }
  }
}

TEST(Compare, an_empty_row_is_exactly_0) {
  Answered a(ragged_workload(DType::kF32));
  a.set(kEmptyRow, 0, 1e-44F);
  const Verdict verdict = compare(a.c, a.expected);
  EXPECT_FALSE(verdict.right);
  EXPECT_THAT(verdict.reason, HasSubstr("sequence 1, head 1"));
}

TEST(Compare, lse_has_a_gate_of_its_own) {
  Answered a(ragged_workload());
  a.c.lse_data()[kLongRow] += 5e-5F;
  EXPECT_TRUE(compare(a.c, a.expected).right);
  a.c.lse_data()[kLongRow] += 2e-4F;
  EXPECT_THAT(compare(a.c, a.expected).reason, HasSubstr("sequence 2, head 1: lse"));
  a.c.lse_data()[kLongRow] = kNan;
  EXPECT_THAT(compare(a.c, a.expected).reason, HasSubstr("lse[2][1] is nan"));
  a.answer(1);
  a.c.lse_data()[kEmptyRow] = 0;
  EXPECT_THAT(compare(a.c, a.expected).reason, HasSubstr("lse[1][1] is 0, reference -inf"));
}

TEST(Compare, errors_are_measured_against_n_where_outputs_cancel) {
  // Two tokens of equal weight whose values cancel: the output is about 0, and an absolute error of 1e-4 is small.
  Answered a(ragged_workload(DType::kF16));
  for (int64_t d = 0; d < 24; ++d) {
    a.expected.output[static_cast<size_t>(kLongRow * 24 + d)] = 0;
    a.set(kLongRow, d, 1e-4F);
  }
  a.expected.norm[kLongRow] = 3;
  EXPECT_TRUE(compare(a.c, a.expected).right);
  a.expected.norm[kLongRow] = 0.01;
  EXPECT_FALSE(compare(a.c, a.expected).right);
}

}  // namespace
}  // namespace quire::bench
