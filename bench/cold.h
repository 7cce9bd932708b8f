// Makes memory cold: no cache holds it when the next call starts.
//
// The usual way, rotating through a pool several times the last-level cache, breaks where a virtual machine reports
// hundreds of megabytes of a cache that it shares with its neighbours: the pool would be gigabytes for a point of a few
// kilobytes, and nobody knows what the neighbours left of it. Flushing exactly the lines that a call will read works for
// any cache of any size, costs time in proportion to the point, and leaves everything else as it is.
#pragma once

#include <span>

#include "bench/pieces.h"

namespace quire::bench {

/// Evicts these pieces from all caches, on the executor's threads, and waits until it is done.
void evict(std::span<const Piece> pieces, Executor& executor);

/// How evict() works on this processor: "clflushopt", "clflush", "dc civac" or "reading twice the last-level cache".
const char* eviction_method();

}  // namespace quire::bench
