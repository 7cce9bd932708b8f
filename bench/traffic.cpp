#include "bench/traffic.h"

#include <algorithm>
#include <vector>

#include "bench/generate_layout.h"

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

Traffic traffic_of(const Workload& workload) {
  const BlockLayout layout = place_blocks(workload, 0);
  AttentionSpec spec = spec_of(workload, layout.num_blocks, layout.max_blocks_per_seq);
  spec.block_tables_stride = layout.max_blocks_per_seq;  // the layout's tables have no gaps
  std::vector<int32_t> context_lens;
  for (int64_t b = 0; b < workload.batch_size; ++b) {
    context_lens.push_back(static_cast<int32_t>(workload.context_len(b)));
  }
  return traffic_of(spec, layout.block_tables.data(), context_lens.data());
}

}  // namespace quire::bench
