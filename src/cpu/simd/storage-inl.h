// Vectors of fp32 and what they are in memory: fp32, fp16 or bf16. Compiled once per SIMD target: included from files
// that use hwy/foreach_target.h, after hwy/highway.h.
//
// fp16 is converted by the hardware where there is such hardware, and by integers elsewhere, to the same bits.
// Highway's own software path is not used: in 1.0.3 it knows neither infinity nor NaN and cuts instead of rounding.

// clang-format off
#if defined(QUIRE_CPU_SIMD_STORAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUIRE_CPU_SIMD_STORAGE_INL_H_
#undef QUIRE_CPU_SIMD_STORAGE_INL_H_
#else
#define QUIRE_CPU_SIMD_STORAGE_INL_H_
#endif
// clang-format on

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

// Whether this target converts fp16 in hardware. On x86 a lower target is a better one.
#undef QUIRE_HARDWARE_F16
#if HWY_ARCH_ARM_A64 || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C))
#define QUIRE_HARDWARE_F16 1
#else
#define QUIRE_HARDWARE_F16 0
#endif

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
using IntTag = hn::RebindToSigned<FloatTag>;
using HalfTag = hn::Rebind<uint16_t, FloatTag>;  // as many 16-bit lanes as there are floats
using F16Tag = hn::Rebind<hwy::float16_t, FloatTag>;
using BF16Tag = hn::Rebind<hwy::bfloat16_t, FloatTag>;

HWY_INLINE FloatVec widen_f16(FloatTag d, hn::Vec<F16Tag> half) {
#if QUIRE_HARDWARE_F16
  return hn::PromoteTo(d, half);
#else
  const IntTag di;
  const auto bits = hn::PromoteTo(di, hn::BitCast(HalfTag(), half));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(di, 0x8000)));
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7FFF));
  const auto subnormal = hn::BitCast(di, hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24F)));
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto normal = hn::Add(shifted, hn::Set(di, (127 - 15) << 23));
  const auto infinite = hn::Or(shifted, hn::Set(di, 0x7F800000));
  const auto quiet_nan = hn::Or(shifted, hn::Set(di, 0x7FC00000));
  auto wide = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x0400)), subnormal, normal);
  wide = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7BFF)), infinite, wide);
  wide = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7C00)), quiet_nan, wide);
  return hn::BitCast(d, hn::Or(wide, sign));
#endif
}

HWY_INLINE hn::Vec<HalfTag> round_to_f16(FloatTag d, FloatVec value) {
#if QUIRE_HARDWARE_F16
  (void)d;
  return hn::BitCast(HalfTag(), hn::DemoteTo(F16Tag(), value));
#else
  const IntTag di;
  const auto bits = hn::BitCast(di, value);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
  // Half of the dropped part's range, less one where the kept part is even, carries into the kept part.
  const auto kept_is_odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
  const auto rounded = hn::Add(magnitude, hn::Add(hn::Set(di, 0x0FFF - ((127 - 15) << 23)), kept_is_odd));
  const auto normal = hn::ShiftRight<13>(rounded);
  // The last place of 0.5 is fp16's smallest subnormal: adding 0.5 rounds to a multiple of it.
  const auto half = hn::Set(d, 0.5F);
  const auto subnormal = hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), half)), hn::BitCast(di, half));
  const auto quiet_nan = hn::Or(hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 0x03FF)), hn::Set(di, 0x7E00));
  auto narrow = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, (127 - 14) << 23)), subnormal, normal);
  narrow = hn::IfThenElse(hn::Gt(narrow, hn::Set(di, 0x7C00)), hn::Set(di, 0x7C00), narrow);
  narrow = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), quiet_nan, narrow);
  return hn::DemoteTo(HalfTag(), hn::Or(narrow, sign));
#endif
}

HWY_INLINE FloatVec widen_bf16(FloatTag d, hn::Vec<BF16Tag> half) {
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(IntTag(), hn::BitCast(HalfTag(), half))));
}

HWY_INLINE hn::Vec<HalfTag> round_to_bf16(FloatTag d, FloatVec value) {
  const hn::RebindToUnsigned<FloatTag> du;
  const auto bits = hn::BitCast(du, value);
  // As above. NaN would carry into infinity or zero, so it keeps its upper bits and becomes quiet.
  const auto kept_is_odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(bits, hn::Add(hn::Set(du, 0x7FFF), kept_is_odd));
  const auto quiet_nan = hn::Or(bits, hn::Set(du, 0x400000));
  const auto is_nan = hn::MaskFromVec(hn::BitCast(du, hn::VecFromMask(d, hn::IsNaN(value))));
  const auto upper = hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet_nan, rounded));
  return hn::DemoteTo(HalfTag(), hn::BitCast(IntTag(), upper));
}

/// Loads one vector as fp32.
HWY_INLINE FloatVec load_f32(FloatTag d, const float* from) { return hn::LoadU(d, from); }
HWY_INLINE FloatVec load_f32(FloatTag d, const hwy::float16_t* from) { return widen_f16(d, hn::LoadU(F16Tag(), from)); }
HWY_INLINE FloatVec load_f32(FloatTag d, const hwy::bfloat16_t* from) {
  return widen_bf16(d, hn::LoadU(BF16Tag(), from));
}

/// Loads `count` elements, fewer than a vector, and zeros behind them. Reads not a byte further, which a masked load of
/// 16-bit lanes does on most targets.
template <typename T>
HWY_INLINE FloatVec load_first_f32(FloatTag d, const T* from, size_t count) {
  HWY_ALIGN T padded[hn::MaxLanes(d)];
  std::memset(static_cast<void*>(padded), 0, sizeof padded);
  std::memcpy(static_cast<void*>(padded), from, count * sizeof(T));
  return load_f32(d, padded);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace quire
HWY_AFTER_NAMESPACE();

#endif  // the per-target include guard
