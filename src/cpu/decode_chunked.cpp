// cpu-chunked: a whole chunk of tokens as one masked vector operation, per (sequence, query head).
//
// For each chunk of 64 tokens (32 for head_dim > 128), first the blocks it touches are looked up and the addresses of
// their tokens, the mapped ones, are written side by side: that is the mask. What follows runs over the chunk as a
// whole, dense and free of look-ups: all scores, four rows at a time, their maximum, all exponentials, then the
// weighted sum of all V rows in registers.
//
//   chunk:        t0 ........................ t0+63        (straddles any number of blocks)
//   block_table:   7  7  7  7 | -1 -1 -1 -1 | 2  2 ...
//   rows:         [k0 k1 k2 k3               k8 k9 ...]    keys and values of the mapped tokens, compacted
//
// Work: (sequence, query head) pairs, claimed by the threads. Each pair reads its KV head's live tokens once, so K and
// V are read group_size times; the bound is memory, or the caches where a KV head's tokens fit into them. In the NHD
// layout one head's rows lie too far apart for the hardware to foresee, and at a block's end it cannot know the next
// block. The table does: V rows are prefetched while the chunk is scored, the next chunk's K rows before that.
//
// Invariants
//  1. A row address exists only for a mapped token below context_len: nothing else is ever read.
//  2. Scores are fp32; a chunk's sums (at most 64 terms) are complete before they are added to the head's.
//  3. A head's bits depend on its own data and table alone, whichever thread computes it.
#include <algorithm>

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
#include "cpu/simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kRowsAtOnce = 4;

// The mapped tokens of one chunk.
template <typename T>
struct Chunk {
  const T* keys[kChunkTokens];
  const T* values[kChunkTokens];
  int64_t count = 0;
};

// Resolves the tokens of a sequence chunk by chunk: a table look-up for each block that a chunk touches.
template <typename T>
class LookUp {
 public:
  explicit LookUp(const HeadView<T>& head) : head_(head) {}

  void next(int64_t tokens, Chunk<T>& chunk) {
    chunk.count = 0;
    while (tokens > 0) {
      const int64_t run = std::min(tokens, head_.block_size - slot_);
      const int64_t block = head_.block_table[logical_block_];
      if (block >= 0) add_rows(head_.keys.row(block, slot_), head_.values.row(block, slot_), run, chunk);
      tokens -= run;
      slot_ += run;
      if (slot_ == head_.block_size) {
        slot_ = 0;
        ++logical_block_;
      }
    }
    // The last group of four scores takes rows that are there; what they give is overwritten.
    for (int64_t i = chunk.count; i % kRowsAtOnce != 0; ++i) chunk.keys[i] = chunk.keys[chunk.count - 1];
  }

 private:
  void add_rows(const T* key, const T* value, int64_t run, Chunk<T>& chunk) const {
    for (int64_t i = 0; i < run; ++i) {
      chunk.keys[chunk.count + i] = key + i * head_.keys.strides.token;
      chunk.values[chunk.count + i] = value + i * head_.values.strides.token;
    }
    chunk.count += run;
  }

  const HeadView<T>& head_;
  int64_t logical_block_ = 0, slot_ = 0;
};

// Scores of a chunk; its values and the next chunk's keys are on their way meanwhile.
template <typename T>
void score(const HeadView<T>& head, const float* query, const Chunk<T>& chunk, const Chunk<T>& next, float* scores) {
  for (int64_t i = 0; i < chunk.count; i += kRowsAtOnce) {
    for (int64_t r = i; r < i + kRowsAtOnce; ++r) {
      if (r < chunk.count) prefetch_row(chunk.values[r], static_cast<size_t>(head.head_dim));
      if (r < next.count) prefetch_row(next.keys[r], static_cast<size_t>(head.head_dim));
    }
    dot_four_rows(query, chunk.keys + i, static_cast<size_t>(head.head_dim), scores + i);
  }
  for (int64_t i = 0; i < chunk.count; ++i) scores[i] *= head.scale;
  // Weightless entries up to a whole number of vectors.
  for (int64_t i = chunk.count; i < kChunkTokens; ++i) scores[i] = -std::numeric_limits<float>::infinity();
}

template <typename T>
void decode_head(DType dtype, const HeadView<T>& head) {
  HeadScratch scratch;
  scratch.start(dtype, head.query, head.head_dim);
  OnlineSoftmax softmax;
  LookUp<T> look_up(head);
  Chunk<T> chunks[2];
  alignas(64) float scores[kChunkTokens];
  const int64_t step = chunk_tokens(head.head_dim);
  look_up.next(std::min(step, head.context_len), chunks[0]);
  for (int64_t first = 0, n = 0; first < head.context_len; first += step, ++n) {
    const Chunk<T>& chunk = chunks[n % 2];
    Chunk<T>& next = chunks[1 - n % 2];
    look_up.next(std::clamp<int64_t>(head.context_len - first - step, 0, step), next);
    if (chunk.count == 0) continue;
    score(head, scratch.query, chunk, next, scores);
    const float decay = softmax.rescale(max_of(scores, kChunkTokens));
    softmax.sum += exp_and_sum(scores, kChunkTokens, softmax.shift());
    multiply_add_rows(scores, chunk.values, static_cast<size_t>(chunk.count), static_cast<size_t>(head.head_dim), decay,
                      scratch.accumulator);
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

}  // namespace
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
