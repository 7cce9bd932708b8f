// What the tests of cases and probes share: workloads with every kind of memory, and which cache elements are live.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/generate.h"

namespace quire::bench {

inline Workload ragged_workload(DType dtype = DType::kF16) {
  Workload w;
  w.context_lens = {37, 0, 64, 1};
  w.batch_size = 4;
  w.seq_len = 64;
  w.num_heads = 4;
  w.num_kv_heads = 2;
  w.head_dim = 24;
  w.block_size = 16;
  w.dtype = dtype;
  w.kv_dtype = dtype;
  w.seed = 11;
  return w;
}

// Each combination of layout, gaps, shared blocks and unmapped blocks, in each type.
inline std::vector<Workload> irregular_workloads() {
  std::vector<Workload> all;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (int kind = 0; kind < 16; ++kind) {
      Workload w = ragged_workload(dtype);
      if (kind & 1) w.layout = Layout::kHnd;
      if (kind & 2) w.padded_strides = true;
      if (kind & 4) w.shared_blocks = true;
      if (kind & 8) w.unmapped_blocks = true;
      all.push_back(w);
    }
  }
  return all;
}

inline std::vector<float> widen(DType dtype, const std::byte* data, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  to_f32(dtype, data, values.data(), count);
  return values;
}

inline std::vector<float> widen(DType dtype, const HostBuffer& buffer) {
  return widen(dtype, buffer.data(), static_cast<int64_t>(buffer.bytes()) / size_of(dtype));
}

// For each element of a cache, whether a live token of some sequence owns it.
inline std::vector<bool> live_elements(const Case& c, const HostBuffer& cache, const CacheStrides& strides) {
  std::vector<bool> live(cache.bytes() / static_cast<size_t>(size_of(c.spec.kv_dtype)), false);
  for (int64_t b = 0; b < c.spec.batch_size; ++b) {
    for (int64_t t = 0; t < c.context_lens_data()[b]; ++t) {
      const int64_t block = c.table_row(b)[t / c.spec.block_size];
      if (block < 0) continue;
      for (int64_t head = 0; head < c.spec.num_kv_heads; ++head) {
        const int64_t first = block * strides.block + t % c.spec.block_size * strides.token + head * strides.head;
        std::fill_n(live.begin() + first, c.spec.head_dim, true);
      }
    }
  }
  return live;
}

// True where exactly the live elements of both caches are numbers, and all others NaN.
inline bool dead_memory_is_poisoned(const Case& c) {
  const auto poisoned = [&](const HostBuffer& cache, const CacheStrides& strides) {
    const std::vector<float> values = widen(c.spec.kv_dtype, cache);
    const std::vector<bool> live = live_elements(c, cache, strides);
    return std::equal(values.begin(), values.end(), live.begin(), live.end(),
                      [](float value, bool is_live) { return std::isfinite(value) == is_live; });
  };
  return poisoned(c.k_cache, c.spec.k_strides) && poisoned(c.v_cache, c.spec.v_strides);
}

}  // namespace quire::bench
