// The memory a decode step must read, as contiguous pieces: what read kernels walk and what is evicted before a cold call.
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

/// A buffer as pieces of `piece_bytes`, the last one shorter.
std::vector<Piece> contiguous_pieces(const std::byte* data, size_t bytes, size_t piece_bytes);

/// Cuts a list into `parts` runs of about equal bytes, one a thread.
std::vector<std::span<const Piece>> split_evenly(const std::vector<Piece>& pieces, int parts);

}  // namespace quire::bench
