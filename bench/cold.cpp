#include "bench/cold.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "bench/limits.h"
#include "bench/parallel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace quire::bench {
namespace {

// Bytes one task evicts: enough to be worth handing to a thread.
constexpr size_t kBytesPerTask = size_t{1} << 20;

#if defined(__x86_64__)

constexpr size_t kLine = 64;

bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  static const bool has = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1U << 23)) != 0;
  return has;
}

__attribute__((target("clflushopt"))) void flush_unordered(const std::byte* begin, const std::byte* end) {
  for (const std::byte* line = begin; line < end; line += kLine) _mm_clflushopt(const_cast<std::byte*>(line));
  _mm_mfence();
}

void flush_lines(const std::byte* begin, const std::byte* end) {
  if (has_clflushopt()) return flush_unordered(begin, end);
  for (const std::byte* line = begin; line < end; line += kLine) _mm_clflush(line);
  _mm_mfence();
}

const char* method() { return has_clflushopt() ? "clflushopt" : "clflush"; }

#elif defined(__aarch64__)

constexpr size_t kLine = 64;  // the smallest in use; a longer line is then flushed twice

void flush_lines(const std::byte* begin, const std::byte* end) {
  for (const std::byte* line = begin; line < end; line += kLine) asm volatile("dc civac, %0" : : "r"(line) : "memory");
  asm volatile("dsb sy" : : : "memory");
}

const char* method() { return "dc civac"; }

#else
#define QUIRE_NO_CACHE_LINE_FLUSH

const char* method() { return "reading twice the last-level cache"; }

#endif

#ifdef QUIRE_NO_CACHE_LINE_FLUSH

void displace_everything(Executor& executor) {
  const int64_t reported = sysconf(_SC_LEVEL3_CACHE_SIZE);
  static const HostBuffer buffer = allocate_written(2 * std::max(reported, int64_t{64} << 20), executor);
  ThreadedRead("", read_kernels().front(), std::vector<Piece>{{buffer.data(), buffer.bytes()}}, 1, executor).run();
}

#endif

}  // namespace

const char* eviction_method() { return method(); }

void evict(std::span<const Piece> pieces, Executor& executor) {
#ifdef QUIRE_NO_CACHE_LINE_FLUSH
  (void)pieces;
  displace_everything(executor);
#else
  size_t total = 0;
  for (const Piece& piece : pieces) total += piece.bytes;
  const size_t tasks = std::clamp<size_t>(total / kBytesPerTask, 1, std::max<size_t>(1, pieces.size()));
  parallel_for(executor, static_cast<int64_t>(tasks), [&](int64_t task) {
    const size_t begin = pieces.size() * static_cast<size_t>(task) / tasks;
    const size_t end = pieces.size() * static_cast<size_t>(task + 1) / tasks;
    for (const Piece& piece : pieces.subspan(begin, end - begin)) {
      const auto misaligned = reinterpret_cast<uintptr_t>(piece.data) % kLine;
      flush_lines(piece.data - misaligned, piece.data + piece.bytes);
    }
  });
#endif
}

}  // namespace quire::bench
