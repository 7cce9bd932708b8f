// Workload -> Case: one problem instance in host memory, random where it is live and poisoned where it is dead.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/workload.h"

namespace quire::bench {

/// Uninitialised host memory, 4 KiB aligned; owned, move-only.
class HostBuffer {
 public:
  HostBuffer() = default;
  /// Returns an empty buffer where the system has no memory.
  static HostBuffer allocate(size_t bytes);

  std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t bytes_ = 0;
};

/// A spec, its arguments and the memory they point into. Dead memory holds poison: NaN in every slot, padding element
/// and block that no live token uses, an out-of-range id in every table entry that must not be read.
struct Case {
  AttentionSpec spec;  // want_lse is set
  AttentionArgs args;
  HostBuffer query, k_cache, v_cache, block_tables, context_lens, output, lse;

  float* lse_data() const { return reinterpret_cast<float*>(lse.data()); }
  int32_t* context_lens_data() const { return reinterpret_cast<int32_t*>(context_lens.data()); }
  /// Row of the block table, spec.block_tables_stride entries long.
  int32_t* table_row(int64_t sequence) const {
    return reinterpret_cast<int32_t*>(block_tables.data()) + sequence * spec.block_tables_stride;
  }

  /// The head_dim elements of one row of a tensor.
  std::byte* query_row(int64_t sequence, int64_t head) const { return row(query, spec.query_strides, sequence, head); }
  std::byte* output_row(int64_t sequence, int64_t head) const {
    return row(output, spec.output_strides, sequence, head);
  }
  std::byte* key(int64_t block, int64_t slot, int64_t kv_head) const {
    return row(k_cache, spec.k_strides, block, slot, kv_head);
  }
  std::byte* value(int64_t block, int64_t slot, int64_t kv_head) const {
    return row(v_cache, spec.v_strides, block, slot, kv_head);
  }

 private:
  std::byte* row(const HostBuffer& buffer, const RowStrides& s, int64_t sequence, int64_t head) const {
    return buffer.data() + (sequence * s.batch + head * s.head) * size_of(spec.dtype);
  }
  std::byte* row(const HostBuffer& buffer, const CacheStrides& s, int64_t block, int64_t slot, int64_t kv_head) const {
    return buffer.data() + (block * s.block + slot * s.token + kv_head * s.head) * size_of(spec.kv_dtype);
  }
};

/// Bytes that generate() will allocate.
int64_t case_bytes(const Workload& workload);

/// The problem of this workload and set: N(0,1) query, K and V (Philox, counter-based: equal on every machine and for
/// any number of threads), blocks placed by a random permutation. Sets differ in all data and in the permutation. Fails
/// (internal) where memory is short.
Result<Case> generate(const Workload& workload, int set, Executor& executor);

/// The same memory, tables and lengths, but query, K and V still unwritten.
Result<Case> generate_unfilled(const Workload& workload, int set);

/// An id outside [0, num_blocks), another for each `index`: what a dead table entry holds.
int32_t bad_block_id(int64_t num_blocks, int64_t index);

/// Makes all of query, K and V poison.
void poison_inputs(Case& c, Executor& executor);

/// Fills output and lse with a NaN pattern, so that what a call leaves unwritten shows.
void poison_output(Case& c);

/// True while the gaps between the rows of the output, and some elements behind its last, hold what poison_output()
/// left.
bool output_gaps_intact(const Case& c);

/// A hash of every input byte: query, both caches, tables and lengths. Equal before and after a call, or it wrote.
uint64_t hash_inputs(const Case& c, Executor& executor);

}  // namespace quire::bench
