// What one (sequence, query head) of a problem reads, as pointers of the cache's element type.
#pragma once

#include <cstdint>

#include "quire/attention.h"

namespace quire {

/// A cache seen from one KV head: rows of head_dim elements by block and slot. Offsets are 64-bit throughout.
template <typename T>
struct CacheView {
  const T* data;
  CacheStrides strides;

  const T* row(int64_t block, int64_t slot) const { return data + block * strides.block + slot * strides.token; }
};

/// `count` elements further; null stays null, as a cache without blocks and a table without columns may be.
template <typename T>
const T* advance(const void* pointer, int64_t count) {
  return pointer == nullptr ? nullptr : static_cast<const T*>(pointer) + count;
}

template <typename T>
struct HeadView {
  const T* query;  // [head_dim]
  T* output;       // [head_dim]
  float* lse;      // null where not wanted
  CacheView<T> keys, values;
  const int32_t* block_table;  // the sequence's row
  int64_t context_len;
  int64_t block_size;
  int64_t head_dim;
  float scale;

  HeadView(const AttentionSpec& spec, const AttentionArgs& args, int64_t sequence, int64_t head)
      : query(static_cast<const T*>(args.query) + sequence * spec.query_strides.batch + head * spec.query_strides.head),
        output(static_cast<T*>(args.output) + sequence * spec.output_strides.batch + head * spec.output_strides.head),
        lse(spec.want_lse ? args.lse + sequence * spec.num_heads + head : nullptr),
        block_table(advance<int32_t>(args.block_tables, sequence * spec.block_tables_stride)),
        context_len(args.context_lens[sequence]),
        block_size(spec.block_size),
        head_dim(spec.head_dim),
        scale(scale_of(spec)) {
    const int64_t kv_head = head / (spec.num_heads / spec.num_kv_heads);
    keys = {advance<T>(args.k_cache, kv_head * spec.k_strides.head), spec.k_strides};
    values = {advance<T>(args.v_cache, kv_head * spec.v_strides.head), spec.v_strides};
  }
};

}  // namespace quire
