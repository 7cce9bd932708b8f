// Runs the read and multiply-add kernels on all threads: the machine's limits, as points and `calibrate` need them.
#pragma once

#include <string>
#include <vector>

#include "bench/read_kernels.h"

namespace quire::bench {

/// Kernels read memory in pieces of at most so much: long enough to be a stream, short enough to run a few ahead.
inline constexpr size_t kReadPieceBytes = 4096;

/// A read kernel with what it reads, cut to one run a thread.
class ThreadedRead {
 public:
  ThreadedRead(std::string name, const ReadKernel& kernel, std::span<const Piece> pieces, int threads,
               Executor& executor)
      : name_(std::move(name)), kernel_(&kernel), runs_(split_evenly(pieces, threads)), executor_(&executor) {}

  const std::string& name() const { return name_; }
  /// Reads everything once. The pieces must still be alive.
  void run() const;

 private:
  std::string name_;
  const ReadKernel* kernel_;
  std::vector<std::span<const Piece>> runs_;
  Executor* executor_;
};

/// Every read kernel on all threads; where there is so little to read that waking the others may cost more than they
/// bring, one of them also on the calling thread alone.
std::vector<ThreadedRead> threaded_reads(std::span<const Piece> pieces, Executor& executor);

/// Makes use of what a read kernel returns, so that no compiler leaves out what produced it.
void consume(uint64_t value);

/// Memory for reads: written once, since untouched pages all are one page of zeros. Empty where so much is not
/// available.
HostBuffer allocate_written(int64_t bytes, Executor& executor);

/// Single-precision multiply-adds a microsecond, all threads, in registers: the best of several short runs.
double peak_multiply_adds_per_us(Executor& executor);

}  // namespace quire::bench
