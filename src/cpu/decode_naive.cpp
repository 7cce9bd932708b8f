// cpu-naive: rebuild the whole sequences, then attend as a textbook does.
//
//   1. zero padded buffers [batch_size, longest context, num_kv_heads, head_dim] and copy K and V into them, block by
//      block through the table;
//   2. repeat each KV head group_size times into [batch_size, longest context, num_heads, head_dim];
//   3. for each (sequence, query head): all scores against the padded length, mask, softmax, weighted sum of V.
//
// Every byte of K and V is read from the cache, written, read, written group_size times and read again, all of it
// padded to the longest sequence: about 3 + 2 * group_size times the traffic that decode needs.
//
// Invariants
//  1. Only slots of mapped tokens below context_len are copied; everything else in the buffers is zero.
//  2. Scores are fp32; sums over tokens are made in chunks of at most 64 and then added.
//  3. A head's bits depend on its own sequence alone: padding adds nothing to its sums.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/head_scratch.h"
#include "cpu/head_view.h"
#include "cpu/ladder_support.h"
#include "cpu/parallel_for.h"
#include "cpu/simd/softmax.h"
#include "cpu/workspace_plan.h"
#include "quire/implementation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/decode_naive.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/simd/rows-inl.h"

#ifndef QUIRE_CPU_DECODE_NAIVE_ONCE
#define QUIRE_CPU_DECODE_NAIVE_ONCE
namespace quire {

// Dense K and V of one query head, token after token, and room for its scores.
struct DenseHead {
  const void *keys, *values;
  int64_t token_stride;   // elements
  int64_t padded_length;  // tokens in the buffers
  float* scores;          // [padded_length], rounded up to whole chunks
};

}  // namespace quire
#endif

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {
namespace {

// The score row: every padded token's score, then -inf over what is not there. Returns whether any token is.
template <typename T>
bool masked_scores(const HeadView<T>& head, const DenseHead& dense, const float* query) {
  const T* keys = static_cast<const T*>(dense.keys);
  for (int64_t t = 0; t < dense.padded_length; ++t) {
    const float product = dot_row(query, keys + t * dense.token_stride, static_cast<size_t>(head.head_dim));
    dense.scores[t] = product * head.scale;
  }
  bool any = false;
  for (int64_t t = 0; t < dense.padded_length; ++t) {
    const bool mapped = t < head.context_len && head.block_table[t / head.block_size] >= 0;
    if (!mapped) dense.scores[t] = -HUGE_VALF;
    any = any || mapped;
  }
  return any;
}

template <typename T>
void attend(DType dtype, const HeadView<T>& head, const DenseHead& dense) {
  HeadScratch scratch;
  scratch.start(dtype, head.query, head.head_dim);
  OnlineSoftmax softmax;
  if (masked_scores(head, dense, scratch.query)) {
    const RowSoftmax row = softmax_in_place(dense.scores, static_cast<size_t>(dense.padded_length));
    softmax = {.max = row.max, .sum = row.sum, .empty = false};
    const T* values = static_cast<const T*>(dense.values);
    alignas(64) float sums[kMaxHeadDim + kPaddedLanes];
    for (int64_t first = 0; first < dense.padded_length; first += kChunkTokens) {
      std::fill_n(sums, head.head_dim + kPaddedLanes, 0.0F);
      for (int64_t t = first; t < std::min(first + kChunkTokens, dense.padded_length); ++t) {
        multiply_add_row(dense.scores[t], values + t * dense.token_stride, static_cast<size_t>(head.head_dim), sums);
      }
      for (int64_t d = 0; d < head.head_dim; ++d) scratch.accumulator[d] += sums[d];
    }
  }
  scratch.finish(softmax, dtype, head.head_dim, head.output, head.lse);
}

void attend_dense(const AttentionSpec& spec, const AttentionArgs& args, int64_t b, int64_t h, const DenseHead& dense) {
  switch (spec.dtype) {
    case DType::kF32: return attend(spec.dtype, HeadView<float>(spec, args, b, h), dense);
    case DType::kF16: return attend(spec.dtype, HeadView<hwy::float16_t>(spec, args, b, h), dense);
    case DType::kBF16: return attend(spec.dtype, HeadView<hwy::bfloat16_t>(spec, args, b, h), dense);
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

HWY_EXPORT(attend_dense);

// Arrays of the workspace, for sequences padded to `padded_length` tokens.
struct NaivePlan {
  WorkspacePlan plan;
  int64_t padded_length;
  size_t padded_k, padded_v;      // [batch_size, padded_length, num_kv_heads, head_dim]
  size_t repeated_k, repeated_v;  // [batch_size, padded_length, num_heads, head_dim]
  size_t scores;                  // [batch_size, num_heads, score_pitch] fp32
  int64_t score_pitch;

  NaivePlan(const AttentionSpec& spec, int64_t length)
      : padded_length(length), score_pitch((length + kChunkTokens - 1) / kChunkTokens * kChunkTokens) {
    const auto element = static_cast<size_t>(size_of(spec.kv_dtype));
    padded_k = plan.add({spec.batch_size, length, spec.num_kv_heads, spec.head_dim}, element);
    padded_v = plan.add({spec.batch_size, length, spec.num_kv_heads, spec.head_dim}, element);
    const bool repeat = spec.num_heads != spec.num_kv_heads;
    repeated_k = repeat ? plan.add({spec.batch_size, length, spec.num_heads, spec.head_dim}, element) : padded_k;
    repeated_v = repeat ? plan.add({spec.batch_size, length, spec.num_heads, spec.head_dim}, element) : padded_v;
    scores = plan.add({spec.batch_size, spec.num_heads, score_pitch}, sizeof(float));
  }
};

// One call: the problem, its plan, and the bytes it is laid out in.
struct NaiveStep {
  const AttentionSpec& spec;
  const AttentionArgs& args;
  const NaivePlan& plan;
  std::byte* workspace;
  int64_t row_bytes;  // of one head's row

  // Rows [first, end) of a sequence in a padded or repeated buffer.
  std::byte* tokens(size_t buffer, int64_t heads, int64_t sequence, int64_t token) const {
    return workspace + buffer + (sequence * plan.padded_length + token) * heads * row_bytes;
  }

  // Step 1 for one logical block of K or V.
  void copy_block(size_t buffer, const void* cache, const CacheStrides& strides, int64_t sequence,
                  int64_t logical_block) const {
    const int64_t first = logical_block * spec.block_size;
    const int64_t end = std::min(first + spec.block_size, plan.padded_length);
    std::byte* target = tokens(buffer, spec.num_kv_heads, sequence, first);
    std::memset(target, 0, static_cast<size_t>((end - first) * spec.num_kv_heads * row_bytes));
    const int64_t live = std::min<int64_t>(end, args.context_lens[sequence]) - first;
    if (live <= 0) return;
    const int64_t block = args.block_tables[sequence * spec.block_tables_stride + logical_block];
    if (block < 0) return;
    for (int64_t slot = 0; slot < live; ++slot) {
      for (int64_t head = 0; head < spec.num_kv_heads; ++head) {
        const int64_t element = block * strides.block + slot * strides.token + head * strides.head;
        std::memcpy(target + (slot * spec.num_kv_heads + head) * row_bytes,
                    static_cast<const std::byte*>(cache) + element * size_of(spec.kv_dtype),
                    static_cast<size_t>(row_bytes));
      }
    }
  }

  // Step 2 for one token of K or V.
  void repeat_heads(size_t padded, size_t repeated, int64_t sequence, int64_t token) const {
    const std::byte* from = tokens(padded, spec.num_kv_heads, sequence, token);
    std::byte* to = tokens(repeated, spec.num_heads, sequence, token);
    const int64_t group_size = spec.num_heads / spec.num_kv_heads;
    for (int64_t head = 0; head < spec.num_heads; ++head) {
      std::memcpy(to + head * row_bytes, from + head / group_size * row_bytes, static_cast<size_t>(row_bytes));
    }
  }

  // Step 3 for one query head.
  void attend(int64_t sequence, int64_t head) const {
    const int64_t row = sequence * spec.num_heads + head;
    const DenseHead dense = {
        .keys = tokens(plan.repeated_k, spec.num_heads, sequence, 0) + head * row_bytes,
        .values = tokens(plan.repeated_v, spec.num_heads, sequence, 0) + head * row_bytes,
        .token_stride = spec.num_heads * spec.head_dim,
        .padded_length = plan.padded_length,
        .scores = reinterpret_cast<float*>(workspace + plan.scores) + row * plan.score_pitch,
    };
    HWY_DYNAMIC_DISPATCH(attend_dense)(spec, args, sequence, head, dense);
  }
};

size_t workspace_bytes(const AttentionSpec& spec, int /*num_threads*/) {
  return NaivePlan(spec, longest_context(spec)).plan.bytes();
}

Status run(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  const int32_t longest = *std::max_element(args.context_lens, args.context_lens + spec.batch_size);
  const NaivePlan plan(spec, longest);
  const NaiveStep step = {spec, args, plan, static_cast<std::byte*>(execution.workspace.data),
                          spec.head_dim * size_of(spec.kv_dtype)};
  const int64_t blocks = (longest + spec.block_size - 1) / spec.block_size;
  parallel_for(*execution.executor, spec.batch_size * blocks, [&](int64_t i) {
    step.copy_block(plan.padded_k, args.k_cache, spec.k_strides, i / blocks, i % blocks);
    step.copy_block(plan.padded_v, args.v_cache, spec.v_strides, i / blocks, i % blocks);
  });
  if (spec.num_heads != spec.num_kv_heads) {
    parallel_for(*execution.executor, spec.batch_size * longest, [&](int64_t i) {
      step.repeat_heads(plan.padded_k, plan.repeated_k, i / longest, i % longest);
      step.repeat_heads(plan.padded_v, plan.repeated_v, i / longest, i % longest);
    });
  }
  parallel_for(*execution.executor, spec.batch_size * spec.num_heads,
               [&](int64_t i) { step.attend(i / spec.num_heads, i % spec.num_heads); });
  return {};
}

}  // namespace

extern constinit const Implementation cpu_naive = {
    .name = "cpu-naive",
    .summary = "gathers K and V block by block into padded buffers, repeats heads, dense attention",
    .backend = DeviceKind::kCpu,
    .flags = {.batch_invariant = true},
    .supports = ladder_supports,
    .workspace_bytes = workspace_bytes,
    .run = run,
};

}  // namespace quire

#endif  // HWY_ONCE
