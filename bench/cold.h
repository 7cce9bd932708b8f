// Makes memory cold: what the next call reads is in no cache when it starts.
//
// The usual way, rotating through a pool several times the last-level cache, breaks where a virtual machine reports
// hundreds of megabytes of a cache that it shares with its neighbours: the pool would be gigabytes for a point of a few
// kilobytes, and nobody knows what the neighbours left of it. Instead
//   1. the lines that the call will read are flushed from all caches, one by one, which works for any cache of any
//   size;
//   2. each thread reads memory of its own, twice its private cache. That displaces what flushing cannot name: page
//      tables, outputs, workspaces. Without this step calls of some 50 us came out 15 % faster than through a pool.
// docs/benchmarking.md has the comparison with a pool of three times the last-level cache.
#pragma once

#include <span>

#include "bench/pieces.h"

namespace quire::bench {

class Evictor {
 public:
  explicit Evictor(Executor& executor);

  /// Evicts these pieces, on all threads of the executor, and returns with all of them awake.
  void evict(std::span<const Piece> pieces);

  /// How lines are flushed on this processor: "clflushopt", "clflush" or "dc civac"; where there is no such
  /// instruction, "reading": each thread's own memory then is twice the last-level cache.
  static const char* method();

 private:
  Executor& executor_;
  HostBuffer displacing_;  // a share for each thread
};

}  // namespace quire::bench
