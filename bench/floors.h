// What reading a point's bytes costs when nothing is computed, timed in turns with the implementations.
//
// Two limits. The floor reads as many bytes as the live keys and values have, from memory in one piece: no decode is
// faster. The paged floor reads these very keys and values through the block table: what a kernel without arithmetic
// would take. Each is the best of several read kernels, since which one is best differs by machine, size and block
// size.
#pragma once

#include <vector>

#include "bench/cold.h"
#include "bench/job.h"
#include "bench/limits.h"

namespace quire::bench {

class FloorReads {
 public:
  /// `sets` and the others must outlive this. Where memory for the contiguous buffer is short, there is no floor, only
  /// a paged one.
  FloorReads(const std::vector<Case>& sets, int64_t kv_bytes, Executor& executor, Evictor& evictor);
  FloorReads(const FloorReads&) = delete;
  FloorReads& operator=(const FloorReads&) = delete;

  /// How many reads there are to sample: each kernel, contiguous and paged.
  size_t size() const { return contiguous_.reads.size() + paged_.front().reads.size(); }

  /// Evicts what read `index` reads (of this set, where paged), then takes one sample of it.
  void sample(size_t index, size_t set);

  /// Fills in kernels, samples and floors.
  void summarise(Floors& floors) const;

 private:
  // One stretch of memory and the reads over it.
  struct Region {
    Region(std::vector<Piece> read_pieces, Executor& executor)
        : pieces(std::move(read_pieces)), reads(threaded_reads(pieces, executor)) {}

    std::vector<Piece> pieces;
    std::vector<ThreadedRead> reads;
  };

  Evictor& evictor_;
  HostBuffer buffer_;
  Region contiguous_;
  std::vector<Region> paged_;                                            // of each set
  std::vector<std::vector<double>> contiguous_samples_, paged_samples_;  // [read][sample]
};

}  // namespace quire::bench
