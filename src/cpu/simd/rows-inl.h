// Vector operations on rows of a cache: load as fp32, dot, multiply-add, exp. Compiled once per SIMD target: included
// from files that use hwy/foreach_target.h, after hwy/highway.h.
//
// A row is read to its last element and not a byte further. fp32 buffers of our own (query, accumulators) are padded to
// kPaddedLanes and zero behind their end, so that they are used in whole vectors.

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
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

/// Loads one vector of a row as fp32.
HWY_INLINE FloatVec load_f32(FloatTag d, const float* row) { return hn::LoadU(d, row); }
HWY_INLINE FloatVec load_f32(FloatTag d, const hwy::float16_t* row) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, FloatTag>(), row));
}
HWY_INLINE FloatVec load_f32(FloatTag d, const hwy::bfloat16_t* row) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::bfloat16_t, FloatTag>(), row));
}

/// Loads the last `count` elements of a row, fewer than a vector, and zeros behind them.
template <typename T>
HWY_INLINE FloatVec load_tail_f32(FloatTag d, const T* row, size_t count) {
  HWY_ALIGN T padded[hn::MaxLanes(d)];
  std::memset(static_cast<void*>(padded), 0, sizeof padded);
  std::memcpy(static_cast<void*>(padded), row, count * sizeof(T));
  return load_f32(d, padded);
}

/// The dot product of a padded fp32 query with a row, in two vectors of partial sums.
template <typename T>
HWY_INLINE float dot_row(const float* HWY_RESTRICT query, const T* HWY_RESTRICT row, size_t head_dim) {
  const FloatTag d;
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
  if (i < head_dim) odd = hn::MulAdd(hn::LoadU(d, query + i), load_tail_f32(d, row + i, head_dim - i), odd);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

/// accumulator[0, head_dim) += weight * row, for a padded accumulator.
template <typename T>
HWY_INLINE void multiply_add_row(float weight, const T* HWY_RESTRICT row, size_t head_dim,
                                 float* HWY_RESTRICT accumulator) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  const FloatVec w = hn::Set(d, weight);
  size_t i = 0;
  for (; i + lanes <= head_dim; i += lanes) {
    hn::StoreU(hn::MulAdd(w, load_f32(d, row + i), hn::LoadU(d, accumulator + i)), d, accumulator + i);
  }
  if (i < head_dim) {
    const FloatVec tail = load_tail_f32(d, row + i, head_dim - i);
    hn::StoreU(hn::MulAdd(w, tail, hn::LoadU(d, accumulator + i)), d, accumulator + i);
  }
}

/// accumulator[0, head_dim) = accumulator * decay + sum_i weights[i] * rows[i], for a padded accumulator. The sum over rows
/// is made first, in registers, and then added.
template <typename T>
HWY_INLINE void multiply_add_rows(const float* HWY_RESTRICT weights, const T* const* HWY_RESTRICT rows, size_t count,
                                  size_t head_dim, float decay, float* HWY_RESTRICT accumulator) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  const FloatVec keep = hn::Set(d, decay);
  const auto add = [&](FloatVec sum, float* target) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, target), keep, sum), d, target);
  };
  size_t i = 0;
  for (; i + 4 * lanes <= head_dim; i += 4 * lanes) {
    FloatVec sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
    for (size_t r = 0; r < count; ++r) {
      const FloatVec w = hn::Set(d, weights[r]);
      const T* row = rows[r] + i;
      sum0 = hn::MulAdd(w, load_f32(d, row), sum0);
      sum1 = hn::MulAdd(w, load_f32(d, row + lanes), sum1);
      sum2 = hn::MulAdd(w, load_f32(d, row + 2 * lanes), sum2);
      sum3 = hn::MulAdd(w, load_f32(d, row + 3 * lanes), sum3);
    }
    add(sum0, accumulator + i);
    add(sum1, accumulator + i + lanes);
    add(sum2, accumulator + i + 2 * lanes);
    add(sum3, accumulator + i + 3 * lanes);
  }
  for (; i < head_dim; i += lanes) {
    FloatVec sum = hn::Zero(d);
    const size_t left = head_dim - i;
    for (size_t r = 0; r < count; ++r) {
      const FloatVec row = left >= lanes ? load_f32(d, rows[r] + i) : load_tail_f32(d, rows[r] + i, left);
      sum = hn::MulAdd(hn::Set(d, weights[r]), row, sum);
    }
    add(sum, accumulator + i);
  }
}

/// e^x for x <= 0, within 2 ulp; below -87.3, where e^x leaves the normal numbers, 0. NaN stays NaN.
/// x = n ln2 + r with |r| <= ln2 / 2; e^r by its Taylor series to r^7, whose remainder is below 6e-9.
HWY_INLINE FloatVec exp_nonpositive(FloatTag d, FloatVec x) {
  const hn::RebindToSigned<FloatTag> di;
  const auto underflow = hn::Lt(x, hn::Set(d, -87.3F));
  x = hn::IfThenZeroElse(underflow, x);
  const FloatVec n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504F)));
  // ln2 in two parts: n times the first, which has 9 bits, is exact.
  FloatVec r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  FloatVec series = hn::Set(d, 1.0F / 5040);
  series = hn::MulAdd(series, r, hn::Set(d, 1.0F / 720));
  series = hn::MulAdd(series, r, hn::Set(d, 1.0F / 120));
  series = hn::MulAdd(series, r, hn::Set(d, 1.0F / 24));
  series = hn::MulAdd(series, r, hn::Set(d, 1.0F / 6));
  series = hn::MulAdd(series, r, hn::Set(d, 0.5F));
  series = hn::MulAdd(series, r, hn::Set(d, 1.0F));
  series = hn::MulAdd(series, r, hn::Set(d, 1.0F));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  return hn::IfThenZeroElse(underflow, hn::Mul(series, hn::BitCast(d, exponent)));
}

/// Largest of `count` floats, a multiple of the vector's lanes.
HWY_INLINE float max_of(const float* values, size_t count) {
  const FloatTag d;
  FloatVec max = hn::LoadU(d, values);
  for (size_t i = hn::Lanes(d); i < count; i += hn::Lanes(d)) max = hn::Max(max, hn::LoadU(d, values + i));
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

/// values[i] = e^(values[i] - max) for `count` floats, a multiple of the vector's lanes; returns their sum.
HWY_INLINE float exp_and_sum(float* values, size_t count, float max) {
  const FloatTag d;
  const FloatVec m = hn::Set(d, max);
  FloatVec sum = hn::Zero(d);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const FloatVec p = exp_nonpositive(d, hn::Sub(hn::LoadU(d, values + i), m));
    hn::StoreU(p, d, values + i);
    sum = hn::Add(sum, p);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace quire
HWY_AFTER_NAMESPACE();

#endif  // the per-target include guard
