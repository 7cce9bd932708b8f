// What decode needs at least: bytes of keys and values, and multiply-adds. Live tokens alone count.
#pragma once

#include <cstdint>

#include "bench/workload.h"
#include "quire/attention.h"

namespace quire::bench {

struct Traffic {
  int64_t live_tokens = 0;    // mapped tokens below context_len, over all sequences; a shared block counts for each
  int64_t kv_bytes = 0;       // 2 * live_tokens * num_kv_heads * head_dim * element size
  int64_t multiply_adds = 0;  // 2 * live_tokens * num_heads * head_dim
};

Traffic traffic_of(const AttentionSpec& spec, const int32_t* block_tables, const int32_t* context_lens);

/// Of a workload, before any of its memory exists.
Traffic traffic_of(const Workload& workload);

}  // namespace quire::bench
