#include "bench/read_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/read_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quire::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<uint64_t>;
using WordVec = hn::Vec<Words>;

constexpr size_t kLine = 64;
constexpr size_t kAheadPieces = 4;  // how far prefetching runs in front of reading
constexpr size_t kStreams = 4;

// The bytes behind the last whole vector of a piece.
HWY_INLINE uint64_t read_bytes(const std::byte* data, size_t bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum += static_cast<uint64_t>(data[i]);
  return sum;
}

HWY_INLINE WordVec load(Words d, const std::byte* data) {
  return hn::LoadU(d, reinterpret_cast<const uint64_t*>(data));
}

HWY_INLINE uint64_t total(Words d, WordVec sum) { return hn::GetLane(hn::SumOfLanes(d, sum)); }

// One piece in order, four accumulators.
HWY_INLINE uint64_t read_piece(const Piece& piece) {
  const Words d;
  const size_t step = hn::Lanes(d) * sizeof(uint64_t);
  WordVec sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  size_t i = 0;
  for (; i + 4 * step <= piece.bytes; i += 4 * step) {
    sum0 = hn::Add(sum0, load(d, piece.data + i));
    sum1 = hn::Add(sum1, load(d, piece.data + i + step));
    sum2 = hn::Add(sum2, load(d, piece.data + i + 2 * step));
    sum3 = hn::Add(sum3, load(d, piece.data + i + 3 * step));
  }
  for (; i + step <= piece.bytes; i += step) sum0 = hn::Add(sum0, load(d, piece.data + i));
  return total(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))) + read_bytes(piece.data + i, piece.bytes - i);
}

uint64_t read_plain(std::span<const Piece> pieces) {
  uint64_t sum = 0;
  for (const Piece& piece : pieces) sum += read_piece(piece);
  return sum;
}

// While a piece is read, the one kAheadPieces further is asked for, line by line.
template <int Locality>
HWY_INLINE uint64_t read_prefetching(std::span<const Piece> pieces) {
  uint64_t sum = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i + kAheadPieces < pieces.size()) {
      const Piece& ahead = pieces[i + kAheadPieces];
      for (size_t line = 0; line < ahead.bytes; line += kLine) __builtin_prefetch(ahead.data + line, 0, Locality);
    }
    sum += read_piece(pieces[i]);
  }
  return sum;
}

uint64_t read_prefetching_to_l2(std::span<const Piece> pieces) { return read_prefetching<2>(pieces); }
uint64_t read_prefetching_nontemporal(std::span<const Piece> pieces) { return read_prefetching<0>(pieces); }

// Four pieces from four places of the list at once, a line of each in turn.
uint64_t read_four_streams(std::span<const Piece> pieces) {
  const Words d;
  const size_t step = hn::Lanes(d) * sizeof(uint64_t);
  const size_t quarter = pieces.size() / kStreams;
  uint64_t sum = 0;
  for (size_t i = 0; i < quarter; ++i) {
    const Piece& p0 = pieces[i];
    const Piece& p1 = pieces[i + quarter];
    const Piece& p2 = pieces[i + 2 * quarter];
    const Piece& p3 = pieces[i + 3 * quarter];
    const size_t common = HWY_MIN(HWY_MIN(p0.bytes, p1.bytes), HWY_MIN(p2.bytes, p3.bytes)) / step * step;
    WordVec sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (size_t at = 0; at < common; at += step) {
      sum0 = hn::Add(sum0, load(d, p0.data + at));
      sum1 = hn::Add(sum1, load(d, p1.data + at));
      sum2 = hn::Add(sum2, load(d, p2.data + at));
      sum3 = hn::Add(sum3, load(d, p3.data + at));
    }
    sum += total(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
    for (const Piece& p : {p0, p1, p2, p3}) sum += read_piece({p.data + common, p.bytes - common});
  }
  return sum + read_plain(pieces.subspan(quarter * kStreams));
}

// Twelve chains hide the latency of two multiply-adds a cycle at up to six cycles each.
int64_t multiply_add(int64_t rounds, float& sink) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V factor = hn::Set(d, 0.999F + 0 * sink), addend = hn::Set(d, 0.001F);
  V a0 = hn::Iota(d, 0.0F), a1 = hn::Add(a0, addend), a2 = hn::Add(a1, addend), a3 = hn::Add(a2, addend);
  V a4 = hn::Add(a3, addend), a5 = hn::Add(a4, addend), a6 = hn::Add(a5, addend), a7 = hn::Add(a6, addend);
  V a8 = hn::Add(a7, addend), a9 = hn::Add(a8, addend), a10 = hn::Add(a9, addend), a11 = hn::Add(a10, addend);
  for (int64_t i = 0; i < rounds; ++i) {
    a0 = hn::MulAdd(a0, factor, addend);
    a1 = hn::MulAdd(a1, factor, addend);
    a2 = hn::MulAdd(a2, factor, addend);
    a3 = hn::MulAdd(a3, factor, addend);
    a4 = hn::MulAdd(a4, factor, addend);
    a5 = hn::MulAdd(a5, factor, addend);
    a6 = hn::MulAdd(a6, factor, addend);
    a7 = hn::MulAdd(a7, factor, addend);
    a8 = hn::MulAdd(a8, factor, addend);
    a9 = hn::MulAdd(a9, factor, addend);
    a10 = hn::MulAdd(a10, factor, addend);
    a11 = hn::MulAdd(a11, factor, addend);
  }
  const V even = hn::Add(hn::Add(hn::Add(a0, a2), hn::Add(a4, a6)), hn::Add(a8, a10));
  const V odd = hn::Add(hn::Add(hn::Add(a1, a3), hn::Add(a5, a7)), hn::Add(a9, a11));
  sink = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  return rounds * 12 * static_cast<int64_t>(hn::Lanes(d));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace quire::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace quire::bench {
namespace {

HWY_EXPORT(read_plain);
HWY_EXPORT(read_prefetching_to_l2);
HWY_EXPORT(read_prefetching_nontemporal);
HWY_EXPORT(read_four_streams);
HWY_EXPORT(multiply_add);

constexpr ReadKernel kReadKernels[] = {
    {"plain", "pieces in order", [](std::span<const Piece> p) { return HWY_DYNAMIC_DISPATCH(read_plain)(p); }},
    {"prefetch_l2", "prefetches to L2 four pieces ahead",
     [](std::span<const Piece> p) { return HWY_DYNAMIC_DISPATCH(read_prefetching_to_l2)(p); }},
    {"prefetch_nta", "prefetches past the outer caches four pieces ahead",
     [](std::span<const Piece> p) { return HWY_DYNAMIC_DISPATCH(read_prefetching_nontemporal)(p); }},
    {"four_streams", "four pieces at once, a vector of each in turn",
     [](std::span<const Piece> p) { return HWY_DYNAMIC_DISPATCH(read_four_streams)(p); }},
};

}  // namespace

std::span<const ReadKernel> read_kernels() { return kReadKernels; }

int64_t multiply_add_rounds(int64_t rounds, float& sink) { return HWY_DYNAMIC_DISPATCH(multiply_add)(rounds, sink); }

}  // namespace quire::bench

#endif  // HWY_ONCE
