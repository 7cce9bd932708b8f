#include "bench/check_matrix.h"

#include <algorithm>
#include <utility>

namespace quire::bench {
namespace {

Workload with_lengths(std::vector<int64_t> context_lens) {
  Workload w;
  w.batch_size = static_cast<int64_t>(context_lens.size());
  w.seq_len = *std::max_element(context_lens.begin(), context_lens.end());
  w.context_lens = std::move(context_lens);
  w.num_heads = 4;
  w.num_kv_heads = 2;
  w.head_dim = 64;
  w.block_size = 16;
  return w;
}

// Lengths around the edges of blocks of 16 and chunks of 32 and 64, empty rows between them.
Workload ragged() { return with_lengths({1, 0, 15, 16, 17, 63, 64, 65, 129, 0, 300}); }

void add_memory(std::vector<NamedWorkload>& list) {
  list.push_back({"ragged", ragged()});
  for (const bool hnd : {false, true}) {
    for (const bool padded : {false, true}) {
      if (!hnd && !padded) continue;
      Workload w = ragged();
      w.layout = hnd ? Layout::kHnd : Layout::kNhd;
      w.padded_strides = padded;
      list.push_back({std::string(hnd ? "hnd" : "nhd") + (padded ? ", gaps between rows" : ""), w});
    }
  }
  for (int kind = 1; kind < 4; ++kind) {
    Workload w = ragged();
    w.unmapped_blocks = kind & 1;
    w.shared_blocks = kind & 2;
    list.push_back({kind == 1 ? "-1 entries" : kind == 2 ? "shared blocks" : "-1 entries, shared blocks", w});
  }
  Workload all = ragged();
  all.layout = Layout::kHnd;
  all.padded_strides = all.unmapped_blocks = all.shared_blocks = true;
  list.push_back({"hnd, gaps, -1 entries, shared blocks", all});
}

void add_lengths(std::vector<NamedWorkload>& list) {
  list.push_back({"one token", with_lengths({1})});
  list.push_back({"all empty", with_lengths({0, 0, 0})});
  list.push_back({"one long sequence", with_lengths({20'000, 3})});
  list.push_back({"257 sequences", with_lengths(std::vector<int64_t>(257, 33))});
}

void add_shapes(std::vector<NamedWorkload>& list) {
  for (const int64_t block_size : {1, 3, 24, 48, 80, 256, 528}) {
    Workload w = with_lengths({2 * block_size + 1, block_size, 700});
    w.block_size = block_size;
    list.push_back({"block_size " + std::to_string(block_size), w});
  }
  for (const auto& [heads, kv_heads] : {std::pair{1, 1}, {8, 8}, {9, 3}, {10, 2}, {28, 4}, {12, 2}, {48, 2}, {32, 1}}) {
    Workload w = with_lengths({70, 17, 0});
    w.num_heads = heads;
    w.num_kv_heads = kv_heads;
    list.push_back({std::to_string(heads) + "/" + std::to_string(kv_heads) + " heads", w});
  }
  for (const int64_t head_dim : {1, 2, 7, 8, 16, 40, 80, 96, 112, 120, 128, 160, 192, 256, 512}) {
    Workload w = with_lengths({70, 17, 0});
    w.head_dim = head_dim;
    list.push_back({"head_dim " + std::to_string(head_dim), w});
  }
}

}  // namespace

std::vector<NamedWorkload> check_matrix(uint64_t seed) {
  std::vector<NamedWorkload> kinds;
  add_memory(kinds);
  add_lengths(kinds);
  add_shapes(kinds);
  std::vector<NamedWorkload> list;
  for (const NamedWorkload& kind : kinds) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      Workload w = kind.workload;
      w.dtype = w.kv_dtype = dtype;
      w.seed = seed;
      list.push_back({kind.name + ", " + name_of(dtype), w});
    }
  }
  return list;
}

}  // namespace quire::bench
