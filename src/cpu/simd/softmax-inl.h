// The softmax's vector operations: maximum, exponential, sum. Compiled once per SIMD target: included from files that
// use hwy/foreach_target.h, after hwy/highway.h.

// clang-format off
#if defined(QUIRE_CPU_SIMD_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUIRE_CPU_SIMD_SOFTMAX_INL_H_
#undef QUIRE_CPU_SIMD_SOFTMAX_INL_H_
#else
#define QUIRE_CPU_SIMD_SOFTMAX_INL_H_
#endif
// clang-format on

#include <hwy/highway.h>

#include <cstddef>

#include "cpu/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {

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

/// values[i] = e^(values[i] - shift) for `count` floats, a multiple of the vector's lanes; returns their sum.
HWY_INLINE float exp_and_sum(float* values, size_t count, float shift) {
  const FloatTag d;
  const FloatVec s = hn::Set(d, shift);
  FloatVec sum = hn::Zero(d);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const FloatVec p = exp_nonpositive(d, hn::Sub(hn::LoadU(d, values + i), s));
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
