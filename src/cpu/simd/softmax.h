// The softmax of a row of scores, for code that is not itself compiled per SIMD target.
#pragma once

#include <cstddef>
#include <limits>

namespace quire {

/// What is subtracted from logits before the exponential: their maximum, or 0 where that is -inf and the difference
/// NaN.
inline float softmax_shift(float max) { return max == -std::numeric_limits<float>::infinity() ? 0.0F : max; }

struct RowSoftmax {
  float max, sum;
};

/// Floats that a row of scores must have room for, rounded up to a multiple of this.
inline constexpr size_t kSoftmaxPadding = 64;

/// scores[i] = e^(scores[i] - max) for `count` > 0 scores, unnormalised; what pads them to kSoftmaxPadding becomes 0.
/// Returns their max and their sum, made in chunks of kSoftmaxPadding that are then added.
RowSoftmax softmax_in_place(float* scores, size_t count) noexcept;

}  // namespace quire
