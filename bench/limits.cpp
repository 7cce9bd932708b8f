#include "bench/limits.h"

#include <algorithm>
#include <atomic>

#include "bench/clock.h"
#include "bench/environment.h"
#include "bench/parallel.h"

namespace quire::bench {
namespace {

constexpr size_t kOneThreadBytes = size_t{4} << 20;

std::atomic<uint64_t> read_sink;
std::atomic<float> multiply_sink;

}  // namespace

void consume(uint64_t value) { read_sink.fetch_add(value, std::memory_order_relaxed); }

void ThreadedRead::run() const {
  parallel_for(*executor_, static_cast<int64_t>(runs_.size()),
               [&](int64_t i) { consume(kernel_->read(runs_[static_cast<size_t>(i)])); });
}

std::vector<ThreadedRead> threaded_reads(std::span<const Piece> pieces, Executor& executor) {
  std::vector<ThreadedRead> reads;
  for (const ReadKernel& kernel : read_kernels()) {
    reads.emplace_back(kernel.name, kernel, pieces, executor.num_threads(), executor);
  }
  if (total_bytes(pieces) <= kOneThreadBytes) {
    const ReadKernel& first = read_kernels().front();
    reads.emplace_back(std::string(first.name) + "_one_thread", first, pieces, 1, executor);
  }
  return reads;
}

HostBuffer allocate_written(int64_t bytes, Executor& executor) {
  constexpr int64_t kChunkBytes = int64_t{1} << 20;
  if (bytes > available_memory_bytes()) return {};
  HostBuffer buffer = HostBuffer::allocate(static_cast<size_t>(bytes));
  parallel_for(executor, (bytes + kChunkBytes - 1) / kChunkBytes, [&](int64_t chunk) {
    const int64_t begin = chunk * kChunkBytes;
    if (buffer.data() != nullptr)
      std::fill_n(buffer.data() + begin, std::min(kChunkBytes, bytes - begin), std::byte{0x3C});
  });
  return buffer;
}

double peak_multiply_adds_per_us(Executor& executor) {
  constexpr int64_t kRounds = 100'000;  // about half a millisecond
  constexpr int kRuns = 9;
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::atomic<int64_t> multiply_adds{0};
    const double start = now_us();
    parallel_for(executor, executor.num_threads(), [&](int64_t) {
      float sink = 0;
      multiply_adds += multiply_add_rounds(kRounds, sink);
      multiply_sink.store(sink, std::memory_order_relaxed);
    });
    best = std::max(best, static_cast<double>(multiply_adds.load()) / (now_us() - start));
  }
  return best;
}

}  // namespace quire::bench
