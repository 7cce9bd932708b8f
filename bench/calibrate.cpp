#include "bench/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/clock.h"
#include "bench/cold.h"
#include "bench/environment.h"
#include "bench/limits.h"
#include "bench/parallel.h"
#include "bench/pinned_pool.h"
#include "bench/stats.h"

namespace quire::bench {
namespace {

constexpr int64_t kSmallest = int64_t{1} << 20;
constexpr int64_t kLargest = int64_t{1} << 30;
constexpr int64_t kSizeStep = 4;
// Samples of a size, so many that all sizes take about as long.
constexpr int64_t kBytesPerKernel = int64_t{2} << 30;
constexpr int64_t kFewestSamples = 5, kMostSamples = 101;

using Progress = std::function<void(const std::string& text)>;

ReadCalibration calibrate_reads(std::span<const Piece> pieces, bool cold, Executor& executor,
                                const Progress& progress) {
  ReadCalibration result;
  result.bytes = static_cast<int64_t>(total_bytes(pieces));
  result.cold = cold;
  std::vector<ThreadedRead> reads;
  for (const ReadKernel& kernel : read_kernels()) {
    reads.emplace_back(kernel.name, kernel, pieces, executor.num_threads(), executor);
  }
  Evictor evictor(executor);
  const int64_t samples = std::clamp(kBytesPerKernel / result.bytes, kFewestSamples, kMostSamples);
  for (int64_t sample = 0; sample < samples && !interrupted(); ++sample) {
    for (const ThreadedRead& read : reads) {
      if (progress) progress(fmt::format("reading {} MiB {}", result.bytes >> 20, cold ? "cold" : "hot"));
      if (cold) {
        evictor.evict(pieces);
      } else {
        read.run();
        on_every_thread(executor, [](int64_t) {});
      }
      const double start = now_us();
      read.run();
      result.reads[read.name()].samples_us.push_back(now_us() - start);
    }
  }
  for (auto& [name, series] : result.reads) {
    series.us = median_interval(series.samples_us);
    if (result.best.empty() || series.us.median < result.reads[result.best].us.median) result.best = name;
  }
  return result;
}

Interval time_handover(Executor& executor, std::chrono::microseconds pause) {
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i) {
    std::this_thread::sleep_for(pause);
    const double start = now_us();
    on_every_thread(executor, [](int64_t) {});
    samples.push_back(now_us() - start);
  }
  return median_interval(samples);
}

double time_clock() {
  std::vector<double> samples;
  for (int i = 0; i < 1001; ++i) {
    const double start = now_us();
    samples.push_back(now_us() - start);
  }
  return median_interval(samples).median;
}

}  // namespace

Calibration calibrate(int threads, const Progress& progress) {
  PinnedPool pool(threads);
  Calibration result;
  result.threads = pool.executor().num_threads();
  result.eviction_method = Evictor::method();
  result.clock_us = time_clock();
  result.handover_us = time_handover(pool.executor(), std::chrono::microseconds(0));
  result.wake_us = time_handover(pool.executor(), std::chrono::milliseconds(2));
  if (progress) progress("multiply-adds");
  result.multiply_adds_per_us = peak_multiply_adds_per_us(pool.executor());
  const HostBuffer buffer = allocate_written(std::min(kLargest, available_memory_bytes() / 2), pool.executor());
  for (int64_t bytes = kSmallest; bytes <= static_cast<int64_t>(buffer.bytes()); bytes *= kSizeStep) {
    const std::vector<Piece> pieces =
        cut(std::vector<Piece>{{buffer.data(), static_cast<size_t>(bytes)}}, kReadPieceBytes);
    for (const bool cold : {true, false}) {
      ReadCalibration reads = calibrate_reads(pieces, cold, pool.executor(), progress);
      if (interrupted()) return result;
      result.reads.push_back(std::move(reads));
    }
  }
  return result;
}

}  // namespace quire::bench
