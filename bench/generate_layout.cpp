#include "bench/generate_layout.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/philox.h"

namespace quire::bench {
namespace {

// A table row is longer than the table is wide, so that a kernel which takes the width for the stride shows.
constexpr int64_t kTablePadding = 3;

// Tables in terms of blocks numbered in the order they are handed out.
class Placement {
 public:
  explicit Placement(const Workload& workload) : workload_(workload) {
    for (int64_t b = 0; b < workload.batch_size; ++b) columns_ = std::max(columns_, live_blocks(b));
    tables_.assign(static_cast<size_t>(workload.batch_size * columns_), -1);
    for (int64_t b = 0; b < workload.batch_size; ++b) {
      for (int64_t i = 0; i < live_blocks(b); ++i) entry(b, i) = choose(b, i);
    }
  }

  BlockLayout permuted(int set) const {
    const auto num_blocks = static_cast<int64_t>(live_slots_.size()) + kSpareBlocks;
    std::vector<int32_t> physical(static_cast<size_t>(num_blocks));
    std::iota(physical.begin(), physical.end(), 0);
    const RandomSource random{workload_.seed, set, RandomStream::kPlacement};
    for (size_t i = physical.size() - 1; i > 0; --i) std::swap(physical[i], physical[random.below(i, i + 1)]);

    BlockLayout layout{num_blocks, columns_, tables_, std::vector<int32_t>(static_cast<size_t>(num_blocks), 0)};
    for (int32_t& block : layout.block_tables) {
      if (block >= 0) block = physical[static_cast<size_t>(block)];
    }
    for (size_t block = 0; block < live_slots_.size(); ++block) {
      layout.live_slots[static_cast<size_t>(physical[block])] = live_slots_[block];
    }
    return layout;
  }

 private:
  int64_t live_blocks(int64_t b) const { return blocks_of(workload_.context_len(b), workload_.block_size); }
  int64_t full_blocks(int64_t b) const { return workload_.context_len(b) / workload_.block_size; }
  int32_t& entry(int64_t b, int64_t i) { return tables_[static_cast<size_t>(b * columns_ + i)]; }

  int32_t choose(int64_t b, int64_t i) {
    if (workload_.unmapped_blocks && is_unmapped(b, i)) return -1;
    if (workload_.shared_blocks) {
      // The first half of the full blocks is the first sequence's, as a common prompt would be; the first sequence
      // names its first block twice. Only full blocks are shared: their live slots are the same for all.
      const bool twice = b == 0 && i == 1 && full_blocks(0) >= 2;
      const bool prefix = b > 0 && i < full_blocks(b) / 2 && i < full_blocks(0);
      const int32_t shared = twice ? entry(0, 0) : prefix ? entry(0, i) : -1;
      if (shared >= 0) return shared;
    }
    live_slots_.push_back(
        static_cast<int32_t>(std::min(workload_.block_size, workload_.context_len(b) - i * workload_.block_size)));
    return static_cast<int32_t>(live_slots_.size() - 1);
  }

  // One entry in four; of a batch's last sequence every one.
  bool is_unmapped(int64_t b, int64_t i) const {
    if (workload_.batch_size > 1 && b == workload_.batch_size - 1) return true;
    const RandomSource random{workload_.seed, 0, RandomStream::kUnmapped};
    return random.below(static_cast<uint64_t>(b * columns_ + i), 4) == 0;
  }

  const Workload& workload_;
  int64_t columns_ = 0;
  std::vector<int32_t> tables_;
  std::vector<int32_t> live_slots_;  // of each block handed out
};

// Odd gaps, another for each tensor and dimension.
void pad_strides(AttentionSpec& spec, Layout layout) {
  const int64_t dim = spec.head_dim;
  spec.query_strides = {.batch = spec.num_heads * (dim + 3) + 5, .head = dim + 3};
  spec.output_strides = {.batch = spec.num_heads * (dim + 1) + 7, .head = dim + 1};
  const auto cache = [&](int64_t inner, int64_t middle, int64_t outer) {
    CacheStrides s;
    if (layout == Layout::kNhd) {
      s.head = dim + inner;
      s.token = spec.num_kv_heads * s.head + middle;
      s.block = spec.block_size * s.token + outer;
    } else {
      s.token = dim + inner;
      s.head = spec.block_size * s.token + middle;
      s.block = spec.num_kv_heads * s.head + outer;
    }
    return s;
  };
  spec.k_strides = cache(5, 9, 21);
  spec.v_strides = cache(2, 11, 34);
}

}  // namespace

BlockLayout place_blocks(const Workload& workload, int set) { return Placement(workload).permuted(set); }

AttentionSpec spec_of(const Workload& workload, int64_t num_blocks, int64_t max_blocks_per_seq) {
  AttentionSpec spec;
  spec.dtype = workload.dtype;
  spec.kv_dtype = workload.kv_dtype;
  spec.batch_size = workload.batch_size;
  spec.num_heads = workload.num_heads;
  spec.num_kv_heads = workload.num_kv_heads;
  spec.head_dim = workload.head_dim;
  spec.block_size = workload.block_size;
  spec.num_blocks = num_blocks;
  spec.max_blocks_per_seq = max_blocks_per_seq;
  spec.want_lse = true;
  set_dense_strides(spec);
  if (workload.layout == Layout::kHnd) {
    spec.k_strides = hnd_strides(spec.block_size, spec.num_kv_heads, spec.head_dim);
    spec.v_strides = spec.k_strides;
  }
  if (workload.padded_strides) pad_strides(spec, workload.layout);
  spec.block_tables_stride = max_blocks_per_seq + kTablePadding;
  return spec;
}

}  // namespace quire::bench
