#include "bench/limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "bench/parallel.h"

namespace quire::bench {
namespace {

// Results go here, so that no compiler can leave out what produced them.
std::atomic<uint64_t> read_sink;
std::atomic<float> multiply_sink;

}  // namespace

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ThreadedRead::run() const {
  parallel_for(*executor_, static_cast<int64_t>(runs_.size()), [&](int64_t i) {
    read_sink.fetch_add(kernel_->read(runs_[static_cast<size_t>(i)]), std::memory_order_relaxed);
  });
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
