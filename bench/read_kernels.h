// Kernels that read memory and compute nothing: how fast a decode step could be if only reading counted. Which of them
// is fastest depends on processor, size and pieces, so that a floor is the best of all.
#pragma once

#include <cstdint>
#include <span>

#include "bench/pieces.h"

namespace quire::bench {

struct ReadKernel {
  const char* name;
  const char* summary;
  /// Reads every byte of the pieces on the calling thread; returns something that depends on all of them.
  uint64_t (*read)(std::span<const Piece> pieces);
};

/// All read kernels, at least four.
std::span<const ReadKernel> read_kernels();

/// Multiply-adds that the calling thread makes in registers: `rounds` rounds; returns how many single-precision
/// multiply-adds that was. `sink` gets something that depends on all of them.
int64_t multiply_add_rounds(int64_t rounds, float& sink);

}  // namespace quire::bench
