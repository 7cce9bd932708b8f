// Conversion between storage types and fp32: what lets a program without a half type fill and read 16-bit tensors.
#pragma once

#include <cstdint>

#include "quire/types.h"

namespace quire {

/// True for the types that to_f32 and from_f32 convert: fp32, fp16, bf16.
constexpr bool is_convertible(DType dtype) noexcept {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Widens `count` elements of type `dtype` to fp32, exactly. `source` and `target` must not overlap.
/// Does nothing unless is_convertible(dtype).
void to_f32(DType dtype, const void* source, float* target, int64_t count) noexcept;

/// Rounds `count` fp32 values to `dtype`: to nearest, ties to even; overflow becomes infinity, NaN stays NaN.
/// `source` and `target` must not overlap. Does nothing unless is_convertible(dtype).
void from_f32(DType dtype, const float* source, void* target, int64_t count) noexcept;

}  // namespace quire
