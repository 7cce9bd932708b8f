// cpu-chunked: a whole chunk of tokens as one masked vector operation, per (sequence, query head).
//
// For each chunk of 64 tokens (32 for head_dim > 128), first every token's block is looked up and the addresses of the
// mapped ones are written side by side: that is the mask. What follows runs over the chunk as a whole, dense and free of
// look-ups: all scores, their maximum, all exponentials, then the weighted sum of all V rows in registers.
//
//   chunk:        t0 ........................ t0+63        (straddles any number of blocks)
//   block_table:   7  7  7  7 | -1 -1 -1 -1 | 2  2 ...
//   rows:         [k0 k1 k2 k3               k8 k9 ...]    keys and values of the mapped tokens, compacted
//
// Work: (sequence, query head) pairs, claimed by the threads. Each pair reads its KV head's live tokens once, so K and V
// are read group_size times; at group_size 1 the bound is memory, above it the caches' bandwidth.
//
// Invariants
//  1. A row address exists only for a mapped token below context_len: nothing else is ever read.
//  2. Scores are fp32; a chunk's sums (at most 64 terms) are complete before they are added to the head's.
//  3. A head's bits depend on its own data and table alone, whichever thread computes it.
#include "cpu/head_scratch.h"
#include "cpu/head_view.h"
#include "cpu/ladder_support.h"
#include "cpu/parallel_for.h"
#include "quire/implementation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/decode_chunked.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {

// The mapped tokens of one chunk.
template <typename T>
struct Chunk {
  const T* keys[kChunkTokens];
  const T* values[kChunkTokens];
  alignas(64) float scores[kChunkTokens];
  int64_t count;
};

// Resolves the tokens [first, end), one table look-up each.
template <typename T>
void look_up(const HeadView<T>& head, int64_t first, int64_t end, Chunk<T>& chunk) {
  chunk.count = 0;
  for (int64_t t = first; t < end; ++t) {
    const int64_t block = head.block_table[t / head.block_size];
    if (block < 0) continue;
    const int64_t slot = t % head.block_size;
    chunk.keys[chunk.count] = head.keys.row(block, slot);
    chunk.values[chunk.count] = head.values.row(block, slot);
    ++chunk.count;
  }
}

template <typename T>
void score(const HeadView<T>& head, const HeadScratch& scratch, Chunk<T>& chunk) {
  for (int64_t i = 0; i < chunk.count; ++i) {
    chunk.scores[i] = dot_row(scratch.query, chunk.keys[i], static_cast<size_t>(head.head_dim)) * head.scale;
  }
  // Weightless entries up to a whole number of vectors.
  for (int64_t i = chunk.count; i < kChunkTokens; ++i) chunk.scores[i] = -std::numeric_limits<float>::infinity();
}

template <typename T>
void accumulate(const HeadView<T>& head, Chunk<T>& chunk, OnlineSoftmax& softmax, HeadScratch& scratch) {
  const float decay = softmax.rescale(max_of(chunk.scores, kChunkTokens));
  softmax.sum += exp_and_sum(chunk.scores, kChunkTokens, softmax.max);
  multiply_add_rows(chunk.scores, chunk.values, static_cast<size_t>(chunk.count), static_cast<size_t>(head.head_dim),
                    decay, scratch.accumulator);
}

template <typename T>
void decode_head(DType dtype, const HeadView<T>& head) {
  HeadScratch scratch;
  scratch.start(dtype, head.query, head.head_dim);
  OnlineSoftmax softmax;
  Chunk<T> chunk;
  const int64_t step = chunk_tokens(head.head_dim);
  for (int64_t first = 0; first < head.context_len; first += step) {
    look_up(head, first, std::min(first + step, head.context_len), chunk);
    if (chunk.count == 0) continue;
    score(head, scratch, chunk);
    accumulate(head, chunk, softmax, scratch);
  }
  scratch.finish(softmax, dtype, head.head_dim, head.output, head.lse);
}

void decode_chunked(const AttentionSpec& spec, const AttentionArgs& args, int64_t sequence, int64_t head) {
  switch (spec.dtype) {
    case DType::kF32: return decode_head(spec.dtype, HeadView<float>(spec, args, sequence, head));
    case DType::kF16: return decode_head(spec.dtype, HeadView<hwy::float16_t>(spec, args, sequence, head));
    case DType::kBF16: return decode_head(spec.dtype, HeadView<hwy::bfloat16_t>(spec, args, sequence, head));
    default: return;  // refused by ladder_supports
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace quire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace quire {
namespace {

HWY_EXPORT(decode_chunked);

size_t workspace_bytes(const AttentionSpec& /*spec*/, int /*num_threads*/) { return 0; }

Status run(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  parallel_for(*execution.executor, spec.batch_size * spec.num_heads, [&](int64_t i) {
    HWY_DYNAMIC_DISPATCH(decode_chunked)(spec, args, i / spec.num_heads, i % spec.num_heads);
  });
  return {};
}

}  // namespace

extern constinit const Implementation cpu_chunked = {
    .name = "cpu-chunked",
    .summary = "online softmax, a chunk of 64 tokens as one masked vector operation",
    .backend = DeviceKind::kCpu,
    .flags = {.bounded_workspace = true, .batch_invariant = true},
    .supports = ladder_supports,
    .workspace_bytes = workspace_bytes,
    .run = run,
};

}  // namespace quire

#endif  // HWY_ONCE
