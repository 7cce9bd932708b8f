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
};

/// Bytes that generate() will allocate.
int64_t case_bytes(const Workload& workload);

/// The problem of this workload and set: N(0,1) query, K and V (Philox, counter-based: equal on every machine and for any
/// number of threads), blocks placed by a random permutation. Sets differ in all data and in the permutation.
/// Fails (internal) where memory is short.
Result<Case> generate(const Workload& workload, int set, Executor& executor);

/// Fills output and lse with a NaN pattern, so that what a call leaves unwritten shows.
void poison_output(Case& c);

/// A hash of every input byte: query, both caches, tables and lengths. Equal before and after a call, or it wrote.
uint64_t hash_inputs(const Case& c, Executor& executor);

}  // namespace quire::bench
