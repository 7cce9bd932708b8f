// Lays several arrays out in one workspace. Sizes saturate instead of wrapping, so that a workspace nobody can allocate
// is refused for its size, not mistaken for a small one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "quire/attention.h"

namespace quire {

class WorkspacePlan {
 public:
  /// Reserves an array of so many elements, aligned to 256 bytes; returns its offset.
  size_t add(std::initializer_list<int64_t> shape, size_t element_bytes) {
    const size_t offset = bytes_;
    size_t size = element_bytes;
    for (const int64_t extent : shape) size = saturated(size, static_cast<size_t>(extent), kMultiply);
    size = saturated(size, kWorkspaceAlignment - 1, kAdd) / kWorkspaceAlignment * kWorkspaceAlignment;
    bytes_ = saturated(bytes_, size, kAdd);
    return offset;
  }

  /// Of the whole workspace; the largest size_t where it does not fit.
  size_t bytes() const { return bytes_; }

 private:
  enum Operation { kAdd, kMultiply };

  static size_t saturated(size_t a, size_t b, Operation operation) {
    size_t result = 0;
    const bool overflow =
        operation == kAdd ? __builtin_add_overflow(a, b, &result) : __builtin_mul_overflow(a, b, &result);
    return overflow ? std::numeric_limits<size_t>::max() : result;
  }

  size_t bytes_ = 0;
};

}  // namespace quire
