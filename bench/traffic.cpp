#include "bench/traffic.h"

#include <algorithm>

namespace quire::bench {

Traffic traffic_of(const AttentionSpec& spec, const int32_t* block_tables, const int32_t* context_lens) {
  Traffic traffic;
  for (int64_t b = 0; b < spec.batch_size; ++b) {
    for (int64_t t = 0; t < context_lens[b]; t += spec.block_size) {
      if (block_tables[b * spec.block_tables_stride + t / spec.block_size] < 0) continue;
      traffic.live_tokens += std::min(spec.block_size, context_lens[b] - t);
    }
  }
  traffic.kv_bytes = 2 * traffic.live_tokens * spec.num_kv_heads * spec.head_dim * size_of(spec.kv_dtype);
  traffic.multiply_adds = 2 * traffic.live_tokens * spec.num_heads * spec.head_dim;
  return traffic;
}

}  // namespace quire::bench
