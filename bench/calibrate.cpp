#include "bench/calibrate.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "bench/cold.h"
#include "bench/limits.h"
#include "bench/parallel.h"
#include "bench/stats.h"

namespace quire::bench {
namespace {

constexpr int kSamples = 11;
constexpr size_t kPieceBytes = 4096;
constexpr int64_t kSizes[] = {int64_t{1} << 20, int64_t{4} << 20, int64_t{16} << 20, int64_t{64} << 20, int64_t{256} << 20};

ReadCalibration calibrate_reads(const std::vector<Piece>& pieces, int64_t bytes, bool cold, Executor& executor) {
  ReadCalibration result{.bytes = bytes, .cold = cold, .reads = {}, .best = {}};
  for (int sample = 0; sample < kSamples && !interrupted(); ++sample) {
    for (const ReadKernel& kernel : read_kernels()) {
      const ThreadedRead read(kernel, pieces, executor);
      if (cold) evict(pieces, executor);
      else read.run();
      const double start = now_us();
      read.run();
      result.reads[kernel.name].samples_us.push_back(now_us() - start);
    }
  }
  for (auto& [name, series] : result.reads) {
    series.us = median_interval(series.samples_us);
    if (result.best.empty() || series.us.median < result.reads[result.best].us.median) result.best = name;
  }
  return result;
}

Interval time_wake(Executor& executor) {
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i) {
    const double start = now_us();
    parallel_for(executor, executor.num_threads(), [](int64_t) {});
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

Calibration calibrate(int threads, const std::function<void(const std::string& text)>& progress) {
  ThreadPool pool(threads, true);
  Calibration result;
  result.threads = pool.num_threads();
  result.eviction_method = eviction_method();
  result.clock_us = time_clock();
  result.wake_us = time_wake(pool);
  if (progress) progress("multiply-adds");
  result.multiply_adds_per_us = peak_multiply_adds_per_us(pool);
  const HostBuffer buffer = HostBuffer::allocate(static_cast<size_t>(*std::rbegin(kSizes)));
  std::fill_n(buffer.data(), buffer.bytes(), std::byte{0x3C});
  for (const int64_t bytes : kSizes) {
    const std::vector<Piece> pieces = contiguous_pieces(buffer.data(), static_cast<size_t>(bytes), kPieceBytes);
    for (const bool cold : {true, false}) {
      if (interrupted() || static_cast<size_t>(bytes) > buffer.bytes()) return result;
      if (progress) progress(fmt::format("reading {} MiB {}", bytes >> 20, cold ? "cold" : "hot"));
      result.reads.push_back(calibrate_reads(pieces, bytes, cold, pool));
    }
  }
  return result;
}

}  // namespace quire::bench
