#include "bench/pieces.h"

#include <algorithm>
#include <numeric>

namespace quire::bench {
namespace {

// The first `slots` tokens of one block.
void add_block(const Case& c, const HostBuffer& cache, const CacheStrides& strides, int64_t block, int64_t slots,
               std::vector<Piece>& pieces) {
  const AttentionSpec& s = c.spec;
  const int64_t element = size_of(s.kv_dtype);
  const bool heads_touch = strides.head == s.head_dim || s.num_kv_heads == 1;
  const bool tokens_touch = heads_touch && (strides.token == s.num_kv_heads * s.head_dim || slots == 1);
  const bool tokens_of_head_touch = strides.token == s.head_dim || slots == 1;
  const auto add = [&](int64_t slot, int64_t head, int64_t elements) {
    const int64_t first = block * strides.block + slot * strides.token + head * strides.head;
    pieces.push_back({cache.data() + first * element, static_cast<size_t>(elements * element)});
  };
  if (tokens_touch) return add(0, 0, slots * s.num_kv_heads * s.head_dim);
  if (tokens_of_head_touch) {
    for (int64_t head = 0; head < s.num_kv_heads; ++head) add(0, head, slots * s.head_dim);
    return;
  }
  for (int64_t slot = 0; slot < slots; ++slot) {
    if (heads_touch) {
      add(slot, 0, s.num_kv_heads * s.head_dim);
    } else {
      for (int64_t head = 0; head < s.num_kv_heads; ++head) add(slot, head, s.head_dim);
    }
  }
}

}  // namespace

std::vector<Piece> paged_pieces(const Case& c) {
  std::vector<Piece> pieces;
  for (int64_t b = 0; b < c.spec.batch_size; ++b) {
    const int64_t length = c.context_lens_data()[b];
    for (int64_t t = 0; t < length; t += c.spec.block_size) {
      const int64_t block = c.table_row(b)[t / c.spec.block_size];
      if (block < 0) continue;
      const int64_t slots = std::min(c.spec.block_size, length - t);
      add_block(c, c.k_cache, c.spec.k_strides, block, slots, pieces);
      add_block(c, c.v_cache, c.spec.v_strides, block, slots, pieces);
    }
  }
  return pieces;
}

std::vector<Piece> cut(std::span<const Piece> pieces, size_t most_bytes) {
  std::vector<Piece> parts;
  for (const Piece& piece : pieces) {
    for (size_t begin = 0; begin < piece.bytes; begin += most_bytes) {
      parts.push_back({piece.data + begin, std::min(most_bytes, piece.bytes - begin)});
    }
  }
  return parts;
}

size_t total_bytes(std::span<const Piece> pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), size_t{0},
                         [](size_t sum, const Piece& piece) { return sum + piece.bytes; });
}

std::vector<std::span<const Piece>> split_evenly(std::span<const Piece> pieces, int parts) {
  const size_t total = total_bytes(pieces);
  std::vector<std::span<const Piece>> runs;
  size_t begin = 0, given = 0;
  for (int part = 1; part <= parts; ++part) {
    // A piece belongs to the part in which its middle lies.
    const size_t target = total / static_cast<size_t>(parts) * static_cast<size_t>(part);
    size_t end = begin;
    while (end < pieces.size() && (part == parts || given + pieces[end].bytes / 2 < target))
      given += pieces[end++].bytes;
    runs.push_back(pieces.subspan(begin, end - begin));
    begin = end;
  }
  return runs;
}

}  // namespace quire::bench
