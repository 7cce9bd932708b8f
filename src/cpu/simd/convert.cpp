// to_f32 and from_f32: the one place that converts 16-bit types, for every SIMD target.
#include "quire/convert.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/convert.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {

template <typename T>
void widen_as(const void* source, float* target, size_t count) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  const T* from = static_cast<const T*>(source);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(load_f32(d, from + i), d, target + i);
  if (i < count) {
    HWY_ALIGN float tail[hn::MaxLanes(d)];
    hn::Store(load_tail_f32(d, from + i, count - i), d, tail);
    std::memcpy(target + i, tail, (count - i) * sizeof(float));
  }
}

using Half = hn::Rebind<uint16_t, FloatTag>;  // as many 16-bit lanes as there are floats

HWY_INLINE hn::Vec<Half> round_to_f16(FloatTag /*d*/, FloatVec value) {
  const hn::Rebind<hwy::float16_t, FloatTag> to;
  return hn::BitCast(Half(), hn::DemoteTo(to, value));
}

// Nearest, ties to even, by integers: half of the dropped part's range, less one where the kept part is even, carries
// into the kept part. NaN would carry into infinity or zero, so it keeps its upper bits and becomes quiet.
HWY_INLINE hn::Vec<Half> round_to_bf16(FloatTag d, FloatVec value) {
  const hn::RebindToUnsigned<FloatTag> du;
  const auto bits = hn::BitCast(du, value);
  const auto kept_is_odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(bits, hn::Add(hn::Set(du, 0x7FFF), kept_is_odd));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
  const auto is_nan = hn::MaskFromVec(hn::BitCast(du, hn::VecFromMask(d, hn::IsNaN(value))));
  const auto upper = hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded));
  return hn::DemoteTo(Half(), hn::BitCast(hn::RebindToSigned<FloatTag>(), upper));
}

template <typename Round>
void narrow_by(const float* source, void* target, size_t count, Round&& round) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  auto* to = static_cast<uint16_t*>(target);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(round(d, hn::LoadU(d, source + i)), Half(), to + i);
  if (i < count) {
    HWY_ALIGN uint16_t tail[hn::MaxLanes(d)];
    hn::Store(round(d, load_tail_f32(d, source + i, count - i)), Half(), tail);
    std::memcpy(to + i, tail, (count - i) * sizeof(uint16_t));
  }
}

void widen(DType dtype, const void* source, float* target, size_t count) {
  switch (dtype) {
    case DType::kF16: return widen_as<hwy::float16_t>(source, target, count);
    case DType::kBF16: return widen_as<hwy::bfloat16_t>(source, target, count);
    default: return;
  }
}

void narrow(DType dtype, const float* source, void* target, size_t count) {
  switch (dtype) {
    case DType::kF16: return narrow_by(source, target, count, [](auto d, auto v) HWY_ATTR { return round_to_f16(d, v); });
    case DType::kBF16: return narrow_by(source, target, count, [](auto d, auto v) HWY_ATTR { return round_to_bf16(d, v); });
    default: return;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace quire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace quire {
namespace {
HWY_EXPORT(widen);
HWY_EXPORT(narrow);
}  // namespace

void to_f32(DType dtype, const void* source, float* target, int64_t count) noexcept {
  if (count == 0) return;  // pointers may be null then, which memcpy does not allow
  const auto elements = static_cast<size_t>(count);
  if (dtype == DType::kF32) {
    std::memcpy(target, source, elements * sizeof(float));
  } else {
    HWY_DYNAMIC_DISPATCH(widen)(dtype, source, target, elements);
  }
}

void from_f32(DType dtype, const float* source, void* target, int64_t count) noexcept {
  if (count == 0) return;  // pointers may be null then, which memcpy does not allow
  const auto elements = static_cast<size_t>(count);
  if (dtype == DType::kF32) {
    std::memcpy(target, source, elements * sizeof(float));
  } else {
    HWY_DYNAMIC_DISPATCH(narrow)(dtype, source, target, elements);
  }
}

}  // namespace quire

#endif  // HWY_ONCE
