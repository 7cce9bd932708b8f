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

// flush_lines() flushes the lines at `begin`, `begin` + kLine, ... from all caches of the machine, and returns when
// that is done.
#if defined(__x86_64__)

constexpr bool kCanFlush = true;
constexpr size_t kLine = 64;

bool has_clflushopt() {
  constexpr unsigned kBit = 1U << 23;  // of EBX, leaf 7
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  static const bool has = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & kBit) != 0;
  return has;
}

// The instruction that need not wait for others of its kind: several times as fast.
__attribute__((target("clflushopt"))) void flush_unordered(const std::byte* begin, const std::byte* end) {
  for (const std::byte* line = begin; line < end; line += kLine) _mm_clflushopt(const_cast<std::byte*>(line));
}

void flush_lines(const std::byte* begin, const std::byte* end) {
  if (has_clflushopt()) {
    flush_unordered(begin, end);
  } else {
    for (const std::byte* line = begin; line < end; line += kLine) _mm_clflush(line);
  }
  _mm_mfence();
}

const char* flush_name() { return has_clflushopt() ? "clflushopt" : "clflush"; }

#elif defined(__aarch64__)

constexpr bool kCanFlush = true;
constexpr size_t kLine = 64;  // the shortest in use; a longer one is flushed twice

void flush_lines(const std::byte* begin, const std::byte* end) {
  for (const std::byte* line = begin; line < end; line += kLine) asm volatile("dc civac, %0" : : "r"(line) : "memory");
  asm volatile("dsb sy" : : : "memory");
}

const char* flush_name() { return "dc civac"; }

#else

constexpr bool kCanFlush = false;
constexpr size_t kLine = 64;

void flush_lines(const std::byte* /*begin*/, const std::byte* /*end*/) {}

const char* flush_name() { return "reading"; }

#endif

// Of what each thread reads: twice its private cache, or, where nothing can be flushed, twice the last one.
int64_t displacing_bytes() {
  constexpr int64_t kLeastPrivate = int64_t{1} << 20, kLeastLast = int64_t{64} << 20;
  return kCanFlush ? 2 * std::max<int64_t>(kLeastPrivate, sysconf(_SC_LEVEL2_CACHE_SIZE))
                   : 2 * std::max<int64_t>(kLeastLast, sysconf(_SC_LEVEL3_CACHE_SIZE));
}

void flush(std::span<const Piece> pieces) {
  for (const Piece& piece : pieces) {
    const size_t into_line = reinterpret_cast<uintptr_t>(piece.data) % kLine;
    flush_lines(piece.data - into_line, piece.data + piece.bytes);
  }
}

}  // namespace

Evictor::Evictor(Executor& executor)
    : executor_(executor), displacing_(allocate_written(executor.num_threads() * displacing_bytes(), executor)) {}

void Evictor::evict(std::span<const Piece> pieces) {
  const std::vector<std::span<const Piece>> shares = split_evenly(pieces, executor_.num_threads());
  parallel_for(executor_, executor_.num_threads(), [&](int64_t thread) { flush(shares[static_cast<size_t>(thread)]); });
  // Not before all is flushed: what the flush itself brought in is to go too.
  const size_t own_bytes = displacing_.bytes() / static_cast<size_t>(executor_.num_threads());
  on_every_thread(executor_, [&](int64_t thread) {
    const Piece own{displacing_.data() + static_cast<size_t>(thread) * own_bytes, own_bytes};
    consume(read_kernels().front().read({&own, 1}));
  });
}

const char* Evictor::method() { return flush_name(); }

}  // namespace quire::bench
