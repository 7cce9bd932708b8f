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
    bool overflow = false;
    for (const int64_t extent : shape) overflow |= __builtin_mul_overflow(size, static_cast<size_t>(extent), &size);
    overflow |= __builtin_add_overflow(size, kWorkspaceAlignment - 1, &size);
    overflow |= __builtin_add_overflow(bytes_, size / kWorkspaceAlignment * kWorkspaceAlignment, &bytes_);
    if (overflow) bytes_ = std::numeric_limits<size_t>::max();
    return offset;
  }

  /// Of the whole workspace; the largest size_t where it does not fit.
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

}  // namespace quire
