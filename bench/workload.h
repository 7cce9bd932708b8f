// One point of the bench: a shape, its lengths and how its memory is laid out. Everything of it derives from the seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quire/quire.h"

namespace quire::bench {

enum class Layout : uint8_t { kNhd, kHnd };

struct Workload {
  int64_t batch_size = 1;
  int64_t seq_len = 128;              // the longest context
  std::vector<int64_t> context_lens;  // one a sequence where they differ; empty: all are seq_len
  int64_t num_heads = 16;
  int64_t num_kv_heads = 8;
  int64_t head_dim = 128;
  int64_t block_size = 256;
  Layout layout = Layout::kNhd;
  DType dtype = DType::kF16;
  DType kv_dtype = DType::kF16;
  uint64_t seed = 0;

  // Irregular memory, for the matrix of `quire check`.
  bool unmapped_blocks = false;  // about one live table entry in four is -1
  bool shared_blocks = false;    // sequences share some physical blocks
  bool padded_strides = false;   // gaps between heads, tokens, blocks and rows; K's strides differ from V's

  int64_t context_len(int64_t sequence) const {
    return context_lens.empty() ? seq_len : context_lens[static_cast<size_t>(sequence)];
  }
};

}  // namespace quire::bench
