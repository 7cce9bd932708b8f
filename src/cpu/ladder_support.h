// What every CPU implementation of the ladder takes, and the call of a template by the cache's element type.
#pragma once

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
    return {StatusCode::kUnsupported, std::string("kv_dtype ") + name_of(spec.kv_dtype) +
                                          " is not offered with dtype " + name_of(spec.dtype)};
  }
  if (spec.head_dim > kMaxHeadDim) {
    return {StatusCode::kUnsupported,
            "head_dim " + std::to_string(spec.head_dim) + " is not offered, at most " + std::to_string(kMaxHeadDim)};
  }
  return {};
}

}  // namespace quire
