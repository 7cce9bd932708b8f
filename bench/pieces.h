// The memory a decode step must read, as contiguous pieces: what read kernels walk and what is evicted before a cold
// call.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/generate.h"

namespace quire::bench {

struct Piece {
  const std::byte* data;
  size_t bytes;
};

/// Keys and values of all live tokens, sequence by sequence, in the order of its block table. A piece is as long as the
/// strides leave memory contiguous: the live part of a block in a dense NHD cache, of one head of it in HND.
std::vector<Piece> paged_pieces(const Case& c);

/// The same memory in the same order, in pieces of at most `most_bytes`.
std::vector<Piece> cut(std::span<const Piece> pieces, size_t most_bytes);

/// Bytes of all pieces together.
size_t total_bytes(std::span<const Piece> pieces);

/// Cuts a list into `parts` runs of about equal bytes, one a thread.
std::vector<std::span<const Piece>> split_evenly(std::span<const Piece> pieces, int parts);

}  // namespace quire::bench
