// to_f32 and from_f32: the one place that converts 16-bit types, for every SIMD target.
#include "quire/convert.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/convert.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void widen_as(const void* source, float* target, size_t count) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  const T* from = static_cast<const T*>(source);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(load_f32(d, from + i), d, target + i);
  if (i < count) {
    HWY_ALIGN float tail[hn::MaxLanes(d)];
    hn::Store(load_first_f32(d, from + i, count - i), d, tail);
    std::memcpy(target + i, tail, (count - i) * sizeof(float));
  }
}

template <typename Round>
void narrow_by(const float* source, void* target, size_t count, Round&& round) {
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  auto* to = static_cast<uint16_t*>(target);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(round(d, hn::LoadU(d, source + i)), HalfTag(), to + i);
  if (i < count) {
    HWY_ALIGN uint16_t tail[hn::MaxLanes(d)];
    hn::Store(round(d, load_first_f32(d, source + i, count - i)), HalfTag(), tail);
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
    case DType::kF16:
      return narrow_by(source, target, count, [](auto d, auto v) HWY_ATTR { return round_to_f16(d, v); });
    case DType::kBF16:
      return narrow_by(source, target, count, [](auto d, auto v) HWY_ATTR { return round_to_bf16(d, v); });
    default: return;
  }
}

}  // namespace
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
  if (count <= 0) return;  // the pointers may be null then
  const auto elements = static_cast<size_t>(count);
  if (dtype == DType::kF32) {
    std::memcpy(target, source, elements * sizeof(float));
  } else {
    HWY_DYNAMIC_DISPATCH(widen)(dtype, source, target, elements);
  }
}

void from_f32(DType dtype, const float* source, void* target, int64_t count) noexcept {
  if (count <= 0) return;  // the pointers may be null then
  const auto elements = static_cast<size_t>(count);
  if (dtype == DType::kF32) {
    std::memcpy(target, source, elements * sizeof(float));
  } else {
    HWY_DYNAMIC_DISPATCH(narrow)(dtype, source, target, elements);
  }
}

}  // namespace quire

#endif  // HWY_ONCE
