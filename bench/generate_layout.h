// Where a workload's tokens lie: which physical block each table entry names, before any memory is allocated.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/workload.h"

namespace quire::bench {

/// Blocks placed for one set of a workload.
struct BlockLayout {
  int64_t num_blocks = 0;
  int64_t max_blocks_per_seq = 0;
  std::vector<int32_t> block_tables;  // [batch_size, max_blocks_per_seq]; -1 where unmapped or not live
  std::vector<int32_t> live_slots;    // [num_blocks]; a block's first so many slots hold tokens
};

/// Blocks no sequence refers to, in every cache.
inline constexpr int64_t kSpareBlocks = 2;

/// The layout of this set. Sets differ in the permutation alone: num_blocks is the same for all.
BlockLayout place_blocks(const Workload& workload, int set);

/// Blocks of a context of so many tokens.
constexpr int64_t blocks_of(int64_t tokens, int64_t block_size) { return (tokens + block_size - 1) / block_size; }

/// The spec of a workload whose tables have this size: shapes and, dense or padded, all strides. want_lse is set.
AttentionSpec spec_of(const Workload& workload, int64_t num_blocks, int64_t max_blocks_per_seq);

}  // namespace quire::bench
