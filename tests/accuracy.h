// How right is decided, as docs/contract.md states it: the error of a (sequence, head), and the gates.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "quire/quire.h"
#include "tests/problem.h"

namespace quire::test {

/// Largest error accepted of a result in `dtype`.
inline double gate(DType dtype, int64_t head_dim) {
  switch (dtype) {
    case DType::kF32: return 5e-5;
    case DType::kF16: return 1e-3;
    default: return head_dim < 8 ? 8e-3 : 6e-3;
  }
}

/// Largest |lse - expected| accepted: 1e-4, or where fp32 itself is coarser than that, two of its steps.
inline double lse_gate(double expected) { return std::max(1e-4, std::abs(expected) * 0x1p-22); }

inline double smallest_normal(DType dtype) { return dtype == DType::kF16 ? 0x1p-14 : 0x1p-126; }

/// True where both are finite, or the same infinity, or both NaN.
inline bool same_kind(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::isinf(a) || std::isinf(b) ? a == b : !std::isnan(b);
}

/// Whether every row of `answer` agrees with `expected`; says where not.
inline testing::AssertionResult agrees(const Answer& answer, const ReferenceResult& expected,
                                       const AttentionSpec& spec) {
  if (!answer.status.ok()) return testing::AssertionFailure() << answer.status.message();
  for (int64_t i = 0; i < spec.batch_size * spec.num_heads; ++i) {
    const auto failure = [&] {
      return testing::AssertionFailure() << "row " << i / spec.num_heads << ", head " << i % spec.num_heads << ": ";
    };
    const auto row = static_cast<size_t>(i);
    double difference = 0;
    double size = 0;
    for (int64_t d = 0; d < spec.head_dim; ++d) {
      const auto at = static_cast<size_t>(i * spec.head_dim + d);
      const double got = static_cast<double>(answer.output[at]);
      const double want = expected.output[at];
      if (!same_kind(got, want)) return failure() << "output[" << d << "] is " << got << ", not " << want;
      if (!std::isfinite(want)) continue;
      difference += (got - want) * (got - want);
      size += want * want;
    }
    // N is not finite where a value is not: what is left to compare then is the finite channels among themselves.
    const double norm = std::isfinite(expected.norm[row]) ? expected.norm[row] : 0;
    const double tiny = std::sqrt(static_cast<double>(spec.head_dim)) * smallest_normal(spec.dtype);
    const double error = std::sqrt(difference) / std::max({std::sqrt(size), norm, tiny});
    if (!(error <= gate(spec.dtype, spec.head_dim))) return failure() << "the error is " << error;
    if (!spec.want_lse) continue;
    const double lse = static_cast<double>(answer.lse[row]);
    const double want = expected.lse[row];
    if (!same_kind(lse, want) || (std::isfinite(want) && !(std::abs(lse - want) <= lse_gate(want)))) {
      return failure() << "lse is " << lse << ", not " << want;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace quire::test
