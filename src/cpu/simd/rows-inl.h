// Vector operations on rows of a cache: dot with a query, multiply-add into accumulators. Compiled once per SIMD
// target: included from files that use hwy/foreach_target.h, after hwy/highway.h.
//
// A row of head_dim elements is a number of whole vectors and a rest, and is read to its last element and not a byte
// further. The rest is loaded as the vector that ends where the row ends; its lanes that lie in the last whole vector
// too are masked. Only a row shorter than one vector is copied first. Our own fp32 rows (query, accumulators) are
// padded to kPaddedLanes, so that they are loaded and stored as vectors even then.

// clang-format off
#if defined(QUIRE_CPU_SIMD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUIRE_CPU_SIMD_ROWS_INL_H_
#undef QUIRE_CPU_SIMD_ROWS_INL_H_
#else
#define QUIRE_CPU_SIMD_ROWS_INL_H_
#endif
// clang-format on

#include <hwy/highway.h>

#include <cstddef>

#include "cpu/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {

/// Where the rest of a row is loaded from: the row's last vector, or its start where the row is shorter than that.
struct RestOfRow {
  size_t begin;    // of the vector
  size_t skipped;  // its first lanes, which the last whole vector has too
  size_t count;    // elements from `begin` to the row's end

  RestOfRow(size_t head_dim, size_t lanes)
      : begin(head_dim < lanes ? 0 : head_dim - lanes),
        skipped(head_dim < lanes ? 0 : lanes - head_dim % lanes),
        count(head_dim - begin) {}
};

/// The vector at `rest.begin`, without a mask.
template <typename T>
HWY_INLINE FloatVec load_rest_f32(FloatTag d, const T* row, const RestOfRow& rest) {
  return rest.count < hn::Lanes(d) ? load_first_f32(d, row, rest.count) : load_f32(d, row + rest.begin);
}

/// Asks for a row to be brought into the second-level cache.
template <typename T>
HWY_INLINE void prefetch_row(const T* row, size_t head_dim) {
  constexpr size_t kLineBytes = 64;
  const char* line = reinterpret_cast<const char*>(row);
  const char* end = line + head_dim * sizeof(T);
  for (; line + 3 * kLineBytes < end; line += 4 * kLineBytes) {
    __builtin_prefetch(line, 0, 2);
    __builtin_prefetch(line + kLineBytes, 0, 2);
    __builtin_prefetch(line + 2 * kLineBytes, 0, 2);
    __builtin_prefetch(line + 3 * kLineBytes, 0, 2);
  }
  for (; line < end; line += kLineBytes) __builtin_prefetch(line, 0, 2);
}

/// The dot product of a query with a row, in at least 8 partial sums.
template <typename T>
HWY_INLINE float dot_row(const float* HWY_RESTRICT query, const T* HWY_RESTRICT row, size_t head_dim) {
  const FloatTag d;
#if HWY_TARGET == HWY_SCALAR
  float sums[8] = {};
  for (size_t i = 0; i < head_dim; ++i) sums[i % 8] += query[i] * hn::GetLane(load_f32(d, row + i));
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
#else
  const size_t lanes = hn::Lanes(d);
  FloatVec even = hn::Zero(d), odd = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= head_dim; i += 2 * lanes) {
    even = hn::MulAdd(hn::LoadU(d, query + i), load_f32(d, row + i), even);
    odd = hn::MulAdd(hn::LoadU(d, query + i + lanes), load_f32(d, row + i + lanes), odd);
  }
  if (i + lanes <= head_dim) {
    even = hn::MulAdd(hn::LoadU(d, query + i), load_f32(d, row + i), even);
    i += lanes;
  }
  if (i < head_dim) {
    const RestOfRow rest(head_dim, lanes);
    const auto skipped = hn::FirstN(d, rest.skipped);
    const FloatVec sum = hn::MulAdd(hn::LoadU(d, query + rest.begin), load_rest_f32(d, row, rest), odd);
    odd = hn::IfThenElse(skipped, odd, sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
#endif
}

#if HWY_TARGET != HWY_SCALAR
/// Sums of the lanes of four vectors, stored side by side.
HWY_INLINE void store_sums(FloatVec a, FloatVec b, FloatVec c, FloatVec e, float* sums) {
  const FloatTag d;
  const hn::Repartition<uint64_t, FloatTag> d64;
  // In each 128-bit block: add lanes 0, 1 and 2, 3 of two vectors, then of all four.
  const auto ab = hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce = hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const FloatVec blocks =
      hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, ab, ce)), hn::BitCast(d, hn::InterleaveUpper(d64, ab, ce)));
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(blocks, d, lanes);
  const hn::CappedTag<float, 4> d4;
  auto sum = hn::Load(d4, lanes);
  for (size_t i = 4; i < hn::Lanes(d); i += 4) sum = hn::Add(sum, hn::Load(d4, lanes + i));
  hn::StoreU(sum, d4, sums);
}

/// dots[0..3] = query . rows[0..3], each in at least 8 partial sums.
template <typename T>
HWY_INLINE void dot_four_rows(const float* HWY_RESTRICT query, const T* const* HWY_RESTRICT rows, size_t head_dim,
                              float* HWY_RESTRICT dots) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  const T *row0 = rows[0], *row1 = rows[1], *row2 = rows[2], *row3 = rows[3];
  FloatVec even0 = hn::Zero(d), even1 = hn::Zero(d), even2 = hn::Zero(d), even3 = hn::Zero(d);
  FloatVec odd0 = hn::Zero(d), odd1 = hn::Zero(d), odd2 = hn::Zero(d), odd3 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= head_dim; i += 2 * lanes) {
    const FloatVec q_even = hn::LoadU(d, query + i);
    even0 = hn::MulAdd(q_even, load_f32(d, row0 + i), even0);
    even1 = hn::MulAdd(q_even, load_f32(d, row1 + i), even1);
    even2 = hn::MulAdd(q_even, load_f32(d, row2 + i), even2);
    even3 = hn::MulAdd(q_even, load_f32(d, row3 + i), even3);
    const FloatVec q_odd = hn::LoadU(d, query + i + lanes);
    odd0 = hn::MulAdd(q_odd, load_f32(d, row0 + i + lanes), odd0);
    odd1 = hn::MulAdd(q_odd, load_f32(d, row1 + i + lanes), odd1);
    odd2 = hn::MulAdd(q_odd, load_f32(d, row2 + i + lanes), odd2);
    odd3 = hn::MulAdd(q_odd, load_f32(d, row3 + i + lanes), odd3);
  }
  if (i + lanes <= head_dim) {
    const FloatVec q = hn::LoadU(d, query + i);
    even0 = hn::MulAdd(q, load_f32(d, row0 + i), even0);
    even1 = hn::MulAdd(q, load_f32(d, row1 + i), even1);
    even2 = hn::MulAdd(q, load_f32(d, row2 + i), even2);
    even3 = hn::MulAdd(q, load_f32(d, row3 + i), even3);
    i += lanes;
  }
  if (i < head_dim) {
    const RestOfRow rest(head_dim, lanes);
    const auto skipped = hn::FirstN(d, rest.skipped);
    const FloatVec q = hn::LoadU(d, query + rest.begin);
    odd0 = hn::IfThenElse(skipped, odd0, hn::MulAdd(q, load_rest_f32(d, row0, rest), odd0));
    odd1 = hn::IfThenElse(skipped, odd1, hn::MulAdd(q, load_rest_f32(d, row1, rest), odd1));
    odd2 = hn::IfThenElse(skipped, odd2, hn::MulAdd(q, load_rest_f32(d, row2, rest), odd2));
    odd3 = hn::IfThenElse(skipped, odd3, hn::MulAdd(q, load_rest_f32(d, row3, rest), odd3));
  }
  store_sums(hn::Add(even0, odd0), hn::Add(even1, odd1), hn::Add(even2, odd2), hn::Add(even3, odd3), dots);
}
#else
template <typename T>
HWY_INLINE void dot_four_rows(const float* query, const T* const* rows, size_t head_dim, float* dots) {
  for (size_t r = 0; r < 4; ++r) dots[r] = dot_row(query, rows[r], head_dim);
}
#endif

/// accumulator[0, head_dim) += weight * row.
template <typename T>
HWY_INLINE void multiply_add_row(float weight, const T* HWY_RESTRICT row, size_t head_dim,
                                 float* HWY_RESTRICT accumulator) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  const FloatVec w = hn::Set(d, weight);
  const auto added = [&](FloatVec values, const float* target)
                         HWY_ATTR { return hn::MulAdd(w, values, hn::LoadU(d, target)); };
  size_t i = 0;
  for (; i + lanes <= head_dim; i += lanes) {
    hn::StoreU(added(load_f32(d, row + i), accumulator + i), d, accumulator + i);
  }
  if (i < head_dim) {
    const RestOfRow rest(head_dim, lanes);
    float* target = accumulator + rest.begin;
    const FloatVec sum = added(load_rest_f32(d, row, rest), target);
    hn::StoreU(hn::IfThenElse(hn::FirstN(d, rest.skipped), hn::LoadU(d, target), sum), d, target);
  }
}

/// sum_i weights[i] * (the vector at rows[i] + offset). `load` loads that vector.
template <typename T, typename Load>
HWY_INLINE FloatVec weighted_sum(const float* HWY_RESTRICT weights, const T* const* HWY_RESTRICT rows, size_t count,
                                 Load&& load) {
  const FloatTag d;
  FloatVec even = hn::Zero(d), odd = hn::Zero(d);
  size_t r = 0;
  for (; r + 2 <= count; r += 2) {
    even = hn::MulAdd(hn::Set(d, weights[r]), load(rows[r]), even);
    odd = hn::MulAdd(hn::Set(d, weights[r + 1]), load(rows[r + 1]), odd);
  }
  if (r < count) even = hn::MulAdd(hn::Set(d, weights[r]), load(rows[r]), even);
  return hn::Add(even, odd);
}

/// accumulator[0, head_dim) = accumulator * decay + sum_i weights[i] * rows[i]. The sum over rows is made first, in
/// registers, and then added.
template <typename T>
HWY_INLINE void multiply_add_rows(const float* HWY_RESTRICT weights, const T* const* HWY_RESTRICT rows, size_t count,
                                  size_t head_dim, float decay, float* HWY_RESTRICT accumulator) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  const FloatVec keep = hn::Set(d, decay);
  const auto add = [&](FloatVec sum, float* target)
                       HWY_ATTR { hn::StoreU(hn::MulAdd(hn::LoadU(d, target), keep, sum), d, target); };
  size_t i = 0;
  for (; i + 4 * lanes <= head_dim; i += 4 * lanes) {
    FloatVec even0 = hn::Zero(d), even1 = hn::Zero(d), even2 = hn::Zero(d), even3 = hn::Zero(d);
    FloatVec odd0 = hn::Zero(d), odd1 = hn::Zero(d), odd2 = hn::Zero(d), odd3 = hn::Zero(d);
    size_t r = 0;
    for (; r + 2 <= count; r += 2) {
      const T *even = rows[r] + i, *odd = rows[r + 1] + i;
      const FloatVec w_even = hn::Set(d, weights[r]), w_odd = hn::Set(d, weights[r + 1]);
      even0 = hn::MulAdd(w_even, load_f32(d, even), even0);
      even1 = hn::MulAdd(w_even, load_f32(d, even + lanes), even1);
      even2 = hn::MulAdd(w_even, load_f32(d, even + 2 * lanes), even2);
      even3 = hn::MulAdd(w_even, load_f32(d, even + 3 * lanes), even3);
      odd0 = hn::MulAdd(w_odd, load_f32(d, odd), odd0);
      odd1 = hn::MulAdd(w_odd, load_f32(d, odd + lanes), odd1);
      odd2 = hn::MulAdd(w_odd, load_f32(d, odd + 2 * lanes), odd2);
      odd3 = hn::MulAdd(w_odd, load_f32(d, odd + 3 * lanes), odd3);
    }
    if (r < count) {
      const T* last = rows[r] + i;
      const FloatVec w = hn::Set(d, weights[r]);
      even0 = hn::MulAdd(w, load_f32(d, last), even0);
      even1 = hn::MulAdd(w, load_f32(d, last + lanes), even1);
      even2 = hn::MulAdd(w, load_f32(d, last + 2 * lanes), even2);
      even3 = hn::MulAdd(w, load_f32(d, last + 3 * lanes), even3);
    }
    add(hn::Add(even0, odd0), accumulator + i);
    add(hn::Add(even1, odd1), accumulator + i + lanes);
    add(hn::Add(even2, odd2), accumulator + i + 2 * lanes);
    add(hn::Add(even3, odd3), accumulator + i + 3 * lanes);
  }
  for (; i + lanes <= head_dim; i += lanes) {
    add(weighted_sum(weights, rows, count, [&](const T* row) HWY_ATTR { return load_f32(d, row + i); }),
        accumulator + i);
  }
  if (i < head_dim) {
    const RestOfRow rest(head_dim, lanes);
    const FloatVec sum =
        weighted_sum(weights, rows, count, [&](const T* row) HWY_ATTR { return load_rest_f32(d, row, rest); });
    float* target = accumulator + rest.begin;
    const FloatVec before = hn::LoadU(d, target);
    const auto skipped = hn::FirstN(d, rest.skipped);
    hn::StoreU(hn::IfThenElse(skipped, before, hn::MulAdd(before, keep, sum)), d, target);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace quire
HWY_AFTER_NAMESPACE();

#endif  // the per-target include guard
