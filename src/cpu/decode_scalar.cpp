// cpu-scalar: online softmax, one token at a time inside each chunk, per (sequence, query head).
//
// A chunk of 64 tokens (32 for head_dim > 128) is walked twice. The first walk looks up each token's block and computes
// its score; the second looks the block up again and adds the token's V row with its weight. Vectors run over head_dim
// only: each token costs two look-ups, a horizontal sum and a scalar exponential, and waits for the accumulator of the
// token before it. That is what cpu-chunked does away with.
//
// Work: (sequence, query head) pairs, claimed by the threads; K and V are read group_size times.
//
// Invariants
//  1. A row is read only for a mapped token below context_len.
//  2. Scores are fp32; a chunk's sums (at most 64 terms) are complete before they are added to the head's.
//  3. A head's bits depend on its own data and table alone, whichever thread computes it.
#include <algorithm>

#include "cpu/head_scratch.h"
#include "cpu/head_view.h"
#include "cpu/ladder_support.h"
#include "cpu/parallel_for.h"
#include "quire/implementation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/decode_scalar.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {
namespace {

// First walk: scores of the tokens [first, end), -inf where unmapped. Returns the largest; `mapped` counts.
template <typename T>
float score_tokens(const HeadView<T>& head, const float* query, int64_t first, int64_t end, float* scores,
                   int64_t& mapped) {
  float max = -std::numeric_limits<float>::infinity();
  mapped = 0;
  for (int64_t t = first; t < end; ++t) {
    const int64_t block = head.block_table[t / head.block_size];
    scores[t - first] = -std::numeric_limits<float>::infinity();
    if (block < 0) continue;
    const T* key = head.keys.row(block, t % head.block_size);
    scores[t - first] = dot_row(query, key, static_cast<size_t>(head.head_dim)) * head.scale;
    max = std::max(max, scores[t - first]);
    ++mapped;
  }
  return max;
}

// Second walk: adds the chunk's weighted V rows to `sums` and returns the sum of the weights.
template <typename T>
float add_values(const HeadView<T>& head, int64_t first, int64_t end, const float* scores, float shift, float* sums) {
  float weights = 0;
  for (int64_t t = first; t < end; ++t) {
    const int64_t block = head.block_table[t / head.block_size];
    if (block < 0) continue;
    const float weight = std::exp(scores[t - first] - shift);
    multiply_add_row(weight, head.values.row(block, t % head.block_size), static_cast<size_t>(head.head_dim), sums);
    weights += weight;
  }
  return weights;
}

template <typename T>
void decode_head(DType dtype, const HeadView<T>& head) {
  HeadScratch scratch;
  scratch.start(dtype, head.query, head.head_dim);
  OnlineSoftmax softmax;
  float scores[kChunkTokens];
  alignas(64) float sums[kMaxHeadDim + kPaddedLanes];
  const int64_t step = chunk_tokens(head.head_dim);
  for (int64_t first = 0; first < head.context_len; first += step) {
    const int64_t end = std::min(first + step, head.context_len);
    int64_t mapped = 0;
    const float chunk_max = score_tokens(head, scratch.query, first, end, scores, mapped);
    if (mapped == 0) continue;
    const float decay = softmax.rescale(chunk_max);
    std::fill_n(sums, head.head_dim + kPaddedLanes, 0.0F);
    softmax.sum += add_values(head, first, end, scores, softmax.shift(), sums);
    for (int64_t d = 0; d < head.head_dim; ++d) scratch.accumulator[d] = scratch.accumulator[d] * decay + sums[d];
  }
  scratch.finish(softmax, dtype, head.head_dim, head.output, head.lse);
}

void decode_scalar(const AttentionSpec& spec, const AttentionArgs& args, int64_t sequence, int64_t head) {
  switch (spec.dtype) {
    case DType::kF32: return decode_head(spec.dtype, HeadView<float>(spec, args, sequence, head));
    case DType::kF16: return decode_head(spec.dtype, HeadView<hwy::float16_t>(spec, args, sequence, head));
    case DType::kBF16: return decode_head(spec.dtype, HeadView<hwy::bfloat16_t>(spec, args, sequence, head));
    default: return;  // refused by ladder_supports
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace quire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace quire {
namespace {

HWY_EXPORT(decode_scalar);

size_t workspace_bytes(const AttentionSpec& /*spec*/, int /*num_threads*/) { return 0; }

Status run(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  parallel_for(*execution.executor, spec.batch_size * spec.num_heads, [&](int64_t i) {
    HWY_DYNAMIC_DISPATCH(decode_scalar)(spec, args, i / spec.num_heads, i % spec.num_heads);
  });
  return {};
}

}  // namespace

extern constinit const Implementation cpu_scalar = {
    .name = "cpu-scalar",
    .summary = "online softmax, one token at a time inside each chunk, one look-up a token",
    .backend = DeviceKind::kCpu,
    .flags = {.bounded_workspace = true, .batch_invariant = true},
    .supports = ladder_supports,
    .workspace_bytes = workspace_bytes,
    .run = run,
};

}  // namespace quire

#endif  // HWY_ONCE
