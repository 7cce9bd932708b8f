// How accurate: a call's output and lse against fp64, per (sequence, head), with the gates of docs/contract.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/check.h"

namespace quire::bench {
namespace {

constexpr double kLseGate = 1e-4;

// bf16 rounds to 8 bits: the error of a row of few elements is not averaged, hence the wider gate there.
double gate_of(const AttentionSpec& spec) {
  if (spec.dtype == DType::kF32) return 5e-5;
  if (spec.dtype == DType::kF16) return 1e-3;
  return spec.head_dim < 8 ? 8e-3 : 6e-3;
}

double smallest_normal(DType dtype) {
  return dtype == DType::kF16 ? std::ldexp(1.0, -14) : static_cast<double>(std::numeric_limits<float>::min());
}

bool same_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

std::string text_of(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.7g}", value); }

void fail(Verdict& verdict, std::string reason) {
  if (verdict.right) verdict.reason = std::move(reason);
  verdict.right = false;
}

// A row's errors over the channels where both values are finite, and the first channel where they differ in kind: one
// is NaN or Inf and the other is not.
struct RowError {
  double relative = 0;
  double largest = 0;
  int64_t wrong_kind = -1;
};

RowError row_error(const float* output, const double* expected, int64_t head_dim, double norm, double floor) {
  RowError error;
  double difference2 = 0;
  double expected2 = 0;
  for (int64_t d = 0; d < head_dim; ++d) {
    const double value = output[d];
    if (!std::isfinite(value) || !std::isfinite(expected[d])) {
      if (!same_kind(value, expected[d]) && error.wrong_kind < 0) error.wrong_kind = d;
      continue;
    }
    const double difference = value - expected[d];
    difference2 += difference * difference;
    expected2 += expected[d] * expected[d];
    error.largest = std::max(error.largest, std::abs(difference));
  }
  const double size = std::max(std::sqrt(expected2), std::isfinite(norm) ? norm : 0.0);
  error.relative = std::sqrt(difference2) / std::max(size, floor);
  return error;
}

}  // namespace

Verdict compare(const Case& c, const ReferenceResult& expected) {
  const AttentionSpec& spec = c.spec;
  const double gate = gate_of(spec);
  const double floor = std::sqrt(static_cast<double>(spec.head_dim)) * smallest_normal(spec.dtype);
  std::vector<float> output(static_cast<size_t>(spec.head_dim));
  Verdict verdict;
  int64_t worst_row = 0;
  int64_t worst_lse_row = 0;
  for (int64_t row = 0; row < spec.batch_size * spec.num_heads; ++row) {
    const int64_t b = row / spec.num_heads;
    const int64_t h = row % spec.num_heads;
    to_f32(spec.dtype, c.output_row(b, h), output.data(), spec.head_dim);
    const double* reference_row = expected.output.data() + row * spec.head_dim;
    const RowError error =
        row_error(output.data(), reference_row, spec.head_dim, expected.norm[static_cast<size_t>(row)], floor);
    const double lse = c.lse_data()[row];
    const double expected_lse = expected.lse[static_cast<size_t>(row)];
    const bool empty = expected_lse == -std::numeric_limits<double>::infinity();
    verdict.max_err = std::max(verdict.max_err, error.largest);
    if (error.wrong_kind >= 0) {
      fail(verdict,
           fmt::format("output[{}][{}][{}] is {}, reference {:.6g}", b, h, error.wrong_kind,
                       text_of(output[static_cast<size_t>(error.wrong_kind)]), reference_row[error.wrong_kind]));
    } else if (empty && error.largest > 0) {
      fail(verdict, fmt::format("sequence {}, head {}: output is {:.2g} somewhere, must be 0: no token is live", b, h,
                                error.largest));
    } else if (error.relative > verdict.rel_l2) {
      verdict.rel_l2 = error.relative;
      worst_row = row;
    }
    if (!same_kind(lse, expected_lse)) {
      fail(verdict, fmt::format("lse[{}][{}] is {}, reference {:.7g}", b, h, text_of(lse), expected_lse));
    } else if (std::isfinite(lse) && std::abs(lse - expected_lse) > verdict.lse_err) {
      verdict.lse_err = std::abs(lse - expected_lse);
      worst_lse_row = row;
    }
  }
  if (verdict.rel_l2 > gate) {
    fail(verdict, fmt::format("sequence {}, head {}: rel_l2 {:.2g} > {:g}", worst_row / spec.num_heads,
                              worst_row % spec.num_heads, verdict.rel_l2, gate));
  }
  if (verdict.lse_err > kLseGate) {
    fail(verdict, fmt::format("sequence {}, head {}: lse is off by {:.2g} > {:g}", worst_lse_row / spec.num_heads,
                              worst_lse_row % spec.num_heads, verdict.lse_err, kLseGate));
  }
  return verdict;
}

}  // namespace quire::bench
