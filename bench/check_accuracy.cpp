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

// The largest error of all rows, and where.
struct Worst {
  double error = 0;
  int64_t row = 0;

  void note(double candidate, int64_t candidate_row) {
    if (candidate <= error) return;
    error = candidate;
    row = candidate_row;
  }
};

class Comparison {
 public:
  Comparison(const Case& c, const ReferenceResult& expected)
      : case_(c),
        spec_(c.spec),
        expected_(expected),
        floor_(std::sqrt(static_cast<double>(spec_.head_dim)) * smallest_normal(spec_.dtype)),
        output_(static_cast<size_t>(spec_.head_dim)) {}

  Verdict run() {
    for (int64_t row = 0; row < spec_.batch_size * spec_.num_heads; ++row) {
      check_output(row);
      check_lse(row);
    }
    verdict_.rel_l2 = worst_output_.error;
    verdict_.lse_err = worst_lse_.error;
    if (const double gate = gate_of(spec_); verdict_.rel_l2 > gate) {
      fail(fmt::format("{}: rel_l2 {:.2g} > {:g}", place(worst_output_.row), verdict_.rel_l2, gate));
    }
    if (verdict_.lse_err > kLseGate) {
      fail(fmt::format("{}: lse is off by {:.2g} > {:g}", place(worst_lse_.row), verdict_.lse_err, kLseGate));
    }
    return verdict_;
  }

 private:
  std::string place(int64_t row) const {
    return fmt::format("sequence {}, head {}", row / spec_.num_heads, row % spec_.num_heads);
  }

  // The first failure is the one told.
  void fail(const std::string& reason) {
    if (verdict_.right) verdict_.reason = reason;
    verdict_.right = false;
  }

  // Pairs of NaN or Inf that match in kind do not count.
  void check_output(int64_t row) {
    const int64_t b = row / spec_.num_heads;
    const int64_t h = row % spec_.num_heads;
    to_f32(spec_.dtype, case_.output_row(b, h), output_.data(), spec_.head_dim);
    const double* expected = expected_.output.data() + row * spec_.head_dim;
    double difference2 = 0;
    double expected2 = 0;
    double largest = 0;
    for (size_t d = 0; d < output_.size(); ++d) {
      const double value = output_[d];
      if (!same_kind(value, expected[d])) {
        fail(fmt::format("output[{}][{}][{}] is {}, reference {}", b, h, d, text_of(value), text_of(expected[d])));
      }
      if (!std::isfinite(value) || !std::isfinite(expected[d])) continue;
      const double difference = value - expected[d];
      difference2 += difference * difference;
      expected2 += expected[d] * expected[d];
      largest = std::max(largest, std::abs(difference));
    }
    verdict_.max_err = std::max(verdict_.max_err, largest);
    if (expected_.lse[static_cast<size_t>(row)] == -std::numeric_limits<double>::infinity()) {
      if (largest > 0) fail(fmt::format("{}: output is off by {:.2g}, an empty row is 0", place(row), largest));
      return;
    }
    const double norm = expected_.norm[static_cast<size_t>(row)];
    const double size = std::max(std::sqrt(expected2), std::isfinite(norm) ? norm : 0.0);
    worst_output_.note(std::sqrt(difference2) / std::max(size, floor_), row);
  }

  void check_lse(int64_t row) {
    const double lse = case_.lse_data()[row];
    const double expected = expected_.lse[static_cast<size_t>(row)];
    if (!same_kind(lse, expected)) {
      fail(fmt::format("lse[{}][{}] is {}, reference {}", row / spec_.num_heads, row % spec_.num_heads, text_of(lse),
                       text_of(expected)));
    } else if (std::isfinite(lse)) {
      worst_lse_.note(std::abs(lse - expected), row);
    }
  }

  const Case& case_;
  const AttentionSpec& spec_;
  const ReferenceResult& expected_;
  double floor_;               // the size of a row of the smallest normal numbers
  std::vector<float> output_;  // one row, widened
  Worst worst_output_, worst_lse_;
  Verdict verdict_;
};

}  // namespace

Verdict compare(const Case& c, const ReferenceResult& expected) { return Comparison(c, expected).run(); }

}  // namespace quire::bench
