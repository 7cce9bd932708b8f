// Runs the read and multiply-add kernels on all threads: the machine's limits, as points and `calibrate` need them.
#pragma once

#include <vector>

#include "bench/read_kernels.h"

namespace quire::bench {

/// A read kernel with the pieces it reads, cut to one run a thread.
class ThreadedRead {
 public:
  ThreadedRead(const ReadKernel& kernel, const std::vector<Piece>& pieces, Executor& executor)
      : kernel_(&kernel), runs_(split_evenly(pieces, executor.num_threads())), executor_(&executor) {}

  const char* name() const { return kernel_->name; }
  /// Reads everything once. `pieces` must still be alive.
  void run() const;

 private:
  const ReadKernel* kernel_;
  std::vector<std::span<const Piece>> runs_;
  Executor* executor_;
};

/// Single-precision multiply-adds a microsecond, all threads, in registers: the best of several short runs.
double peak_multiply_adds_per_us(Executor& executor);

/// Steady clock, in microseconds.
double now_us();

}  // namespace quire::bench
