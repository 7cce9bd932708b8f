#include "cpu/simd/softmax.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/softmax.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {
namespace {

RowSoftmax softmax(float* scores, size_t count) {
  const size_t padded = (count + kSoftmaxPadding - 1) / kSoftmaxPadding * kSoftmaxPadding;
  for (size_t i = count; i < padded; ++i) scores[i] = -HUGE_VALF;
  RowSoftmax row = {max_of(scores, padded), 0};
  const float shift = softmax_shift(row.max);
  for (size_t i = 0; i < padded; i += kSoftmaxPadding) row.sum += exp_and_sum(scores + i, kSoftmaxPadding, shift);
  return row;
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace quire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace quire {
namespace {
HWY_EXPORT(softmax);
}  // namespace

RowSoftmax softmax_in_place(float* scores, size_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(softmax)(scores, count);
}

}  // namespace quire

#endif  // HWY_ONCE
