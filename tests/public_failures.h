// What the tests of publicly reported failures share: simple contents, and answers given as one number a row.
//
// Each such test is a small problem whose answer is known in closed form. Its comment gives the failure a number and
// says where it was reported.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "tests/accuracy.h"
#include "tests/every_implementation.h"
#include "tests/problem.h"

namespace quire::test {

inline const QueryFunction kZeroQuery = [](int64_t, int64_t, int64_t) { return 0.0f; };
inline const CacheFunction kRamp = [](int64_t, int64_t t, int64_t, int64_t) { return static_cast<float>(t); };

inline CacheFunction all(float value) {
  return [value](int64_t, int64_t, int64_t, int64_t) { return value; };
}

inline QueryFunction all_query(float value) {
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

}  // namespace quire::test
