// Threads that stay where they are, so that samples differ by what ran and not by where.
#pragma once

#include <sched.h>

#include "quire/executor.h"

namespace quire::bench {

/// A ThreadPool whose threads, the calling one included, each keep to one processor of the affinity mask. The calling
/// thread, which must be the one that uses the pool, gets its own mask back at the end.
class PinnedPool {
 public:
  /// 0 threads: available_threads().
  explicit PinnedPool(int threads);
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  Executor& executor() { return pool_; }

 private:
  cpu_set_t callers_mask_;
  ThreadPool pool_;
};

}  // namespace quire::bench
