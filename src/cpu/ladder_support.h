// What every CPU implementation of the ladder takes, and how long its sequences may be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "cpu/head_scratch.h"
#include "quire/attention.h"

namespace quire {

/// fp32, fp16 or bf16, the same for query and cache; head_dim up to 512; everything else about the shape is free.
inline Status ladder_supports(const AttentionSpec& spec) {
  if (!is_convertible(spec.dtype)) {
    return {StatusCode::kUnsupported, std::string("dtype ") + name_of(spec.dtype) + " is not offered"};
  }
  if (spec.kv_dtype != spec.dtype) {
    return {StatusCode::kUnsupported,
            std::string("kv_dtype ") + name_of(spec.kv_dtype) + " is not offered with dtype " + name_of(spec.dtype)};
  }
  if (spec.head_dim > kMaxHeadDim) {
    return {StatusCode::kUnsupported,
            "head_dim " + std::to_string(spec.head_dim) + " is not offered, at most " + std::to_string(kMaxHeadDim)};
  }
  return {};
}

/// The longest context the table's width allows: what a workspace must have room for. Lengths are int32.
inline int64_t longest_context(const AttentionSpec& spec) {
  return std::min<int64_t>(spec.max_blocks_per_seq * spec.block_size, std::numeric_limits<int32_t>::max());
}

}  // namespace quire
