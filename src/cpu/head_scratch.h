// The fp32 working rows of one query head, on the stack: their width bounds the head_dim of the ladder.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu/simd/softmax.h"
#include "quire/convert.h"

namespace quire {

inline constexpr int64_t kMaxHeadDim = 512;
inline constexpr int64_t kPaddedLanes = 64;  // floats that any SIMD target may touch past a row's end
inline constexpr int64_t kChunkTokens = 64;  // tokens summed before they are added to the rest, at most

/// Tokens of one chunk: 64, or 32 for head_dim > 128.
constexpr int64_t chunk_tokens(int64_t head_dim) { return head_dim <= 128 ? kChunkTokens : kChunkTokens / 2; }

/// A query head's running softmax: output = accumulator / sum. Kept unnormalised, with a true -inf to start from.
struct OnlineSoftmax {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0;
  bool empty = true;  // no token met yet

  float shift() const { return softmax_shift(max); }

  /// Makes room for logits up to `new_max`; returns the factor by which what is accumulated shrinks.
  float rescale(float new_max) {
    empty = false;
    if (!(new_max > max)) return 1.0F;
    const float decay = std::exp(max - new_max);  // 0 the first time
    max = new_max;
    sum *= decay;
    return decay;
  }
};

struct alignas(64) HeadScratch {
  float query[kMaxHeadDim + kPaddedLanes];
  float accumulator[kMaxHeadDim + kPaddedLanes];

  /// Loads the query as fp32 and clears everything behind it.
  void start(DType dtype, const void* stored_query, int64_t head_dim) {
    to_f32(dtype, stored_query, query, head_dim);
    std::memset(query + head_dim, 0, sizeof(float) * kPaddedLanes);
    std::memset(accumulator, 0, sizeof(float) * static_cast<size_t>(head_dim + kPaddedLanes));
  }

  /// Divides by the softmax's sum, rounds once, and stores output and, where wanted, lse. An empty row is 0 and -inf.
  void finish(const OnlineSoftmax& softmax, DType dtype, int64_t head_dim, void* output, float* lse) {
    const float denominator = softmax.empty ? 1.0F : softmax.sum;
    for (int64_t d = 0; d < head_dim; ++d) accumulator[d] /= denominator;
    from_f32(dtype, accumulator, output, head_dim);
    if (lse == nullptr) return;
    *lse = softmax.empty ? -std::numeric_limits<float>::infinity()
                         : static_cast<float>(double{softmax.shift()} + std::log(double{softmax.sum}));
  }
};

}  // namespace quire
