// Every rule about a problem, in one place. Messages name the field and its value.
#include "validate.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

namespace quire {
namespace {

Status invalid(const std::string& field, const std::string& value, const std::string& rule) {
  return {StatusCode::kInvalidArgument, field + " is " + value + ", " + rule};
}

Status at_least(const char* field, int64_t value, int64_t least) {
  if (value >= least) return {};
  return invalid(field, std::to_string(value), "must be at least " + std::to_string(least));
}

Status positive_strides(const char* field, std::initializer_list<std::pair<const char*, int64_t>> strides) {
  for (const auto& [name, stride] : strides) {
    if (stride <= 0) return invalid(std::string(field) + "." + name, std::to_string(stride), "must be positive");
  }
  return {};
}

struct Dimension {
  int64_t size;
  int64_t stride;
};

// Elements from the first to one past the last of a strided tensor; 0 if it has none, -1 where 64 bits do not hold the
// byte count.
int64_t extent(std::initializer_list<Dimension> dimensions, DType dtype) {
  int64_t last = 0;
  for (const Dimension& d : dimensions) {
    if (d.size == 0) return 0;
    int64_t step = 0;
    if (__builtin_mul_overflow(d.size - 1, d.stride, &step) || __builtin_add_overflow(last, step, &last)) return -1;
  }
  int64_t bytes = 0;
  if (last == std::numeric_limits<int64_t>::max() || __builtin_mul_overflow(last + 1, size_of(dtype), &bytes))
    return -1;
  return last + 1;
}

int64_t query_extent(const AttentionSpec& s, const RowStrides& strides) {
  return extent({{s.batch_size, strides.batch}, {s.num_heads, strides.head}, {s.head_dim, 1}}, s.dtype);
}

int64_t cache_extent(const AttentionSpec& s, const CacheStrides& strides) {
  return extent(
      {{s.num_blocks, strides.block}, {s.block_size, strides.token}, {s.num_kv_heads, strides.head}, {s.head_dim, 1}},
      s.kv_dtype);
}

int64_t table_extent(const AttentionSpec& s) {
  return extent({{s.batch_size, s.block_tables_stride}, {s.max_blocks_per_seq, 1}}, DType::kF32);
}

// Rows of the output must be apart, or one row's result would overwrite another's.
bool rows_overlap(const AttentionSpec& s, const RowStrides& r) {
  const int64_t heads_span = (s.num_heads - 1) * r.head + s.head_dim;
  const int64_t batch_span = (s.batch_size - 1) * r.batch + s.head_dim;
  const bool batch_outer = (s.num_heads == 1 || r.head >= s.head_dim) && (s.batch_size <= 1 || r.batch >= heads_span);
  const bool head_outer = (s.batch_size <= 1 || r.batch >= s.head_dim) && (s.num_heads == 1 || r.head >= batch_span);
  return !batch_outer && !head_outer;
}

Status check_strides(const AttentionSpec& s) {
  const auto rows = [](const char* field, const RowStrides& r) {
    return positive_strides(field, {{"batch", r.batch}, {"head", r.head}});
  };
  const auto cache = [](const char* field, const CacheStrides& c) {
    return positive_strides(field, {{"block", c.block}, {"token", c.token}, {"head", c.head}});
  };
  if (Status e = rows("query_strides", s.query_strides); !e.ok()) return e;
  if (Status e = rows("output_strides", s.output_strides); !e.ok()) return e;
  if (Status e = cache("k_strides", s.k_strides); !e.ok()) return e;
  if (Status e = cache("v_strides", s.v_strides); !e.ok()) return e;
  // A table without columns has no entry to stride over.
  if (s.max_blocks_per_seq > 0) {
    if (Status e = at_least("block_tables_stride", s.block_tables_stride, 1); !e.ok()) return e;
  }
  const auto fits = [](const char* field, int64_t elements) -> Status {
    if (elements >= 0) return {};
    return {StatusCode::kInvalidArgument, std::string(field) + ": the tensor's size does not fit 64 bits"};
  };
  if (Status e = fits("query_strides", query_extent(s, s.query_strides)); !e.ok()) return e;
  if (Status e = fits("output_strides", query_extent(s, s.output_strides)); !e.ok()) return e;
  if (Status e = fits("k_strides", cache_extent(s, s.k_strides)); !e.ok()) return e;
  if (Status e = fits("v_strides", cache_extent(s, s.v_strides)); !e.ok()) return e;
  if (Status e = fits("block_tables_stride", table_extent(s)); !e.ok()) return e;
  if (rows_overlap(s, s.output_strides)) {
    return invalid("output_strides",
                   std::to_string(s.output_strides.batch) + "/" + std::to_string(s.output_strides.head),
                   "rows of the output would overlap");
  }
  return {};
}

struct MemoryRange {
  const char* field;
  const void* data;
  int64_t bytes;
  int64_t alignment;
};

bool overlap(const MemoryRange& a, const MemoryRange& b) {
  if (a.bytes == 0 || b.bytes == 0) return false;
  const auto first_a = reinterpret_cast<uintptr_t>(a.data);
  const auto first_b = reinterpret_cast<uintptr_t>(b.data);
  return first_a < first_b + static_cast<uintptr_t>(b.bytes) && first_b < first_a + static_cast<uintptr_t>(a.bytes);
}

std::array<MemoryRange, 5> input_ranges(const AttentionSpec& s, const AttentionArgs& a) {
  const int64_t element = size_of(s.dtype);
  const int64_t kv_element = size_of(s.kv_dtype);
  return {{{"query", a.query, query_extent(s, s.query_strides) * element, element},
           {"k_cache", a.k_cache, cache_extent(s, s.k_strides) * kv_element, kv_element},
           {"v_cache", a.v_cache, cache_extent(s, s.v_strides) * kv_element, kv_element},
           {"block_tables", a.block_tables, table_extent(s) * 4, 4},
           {"context_lens", a.context_lens, s.batch_size * 4, 4}}};
}

Status check_range(const MemoryRange& range) {
  if (range.bytes == 0) return {};
  if (range.data == nullptr) return invalid(range.field, "null", "needs " + std::to_string(range.bytes) + " bytes");
  if (reinterpret_cast<uintptr_t>(range.data) % static_cast<uintptr_t>(range.alignment) != 0) {
    return {StatusCode::kInvalidArgument, std::string(range.field) + " is not aligned to its element of " +
                                              std::to_string(range.alignment) + " bytes"};
  }
  return {};
}

}  // namespace

Status validate(const AttentionSpec& s) {
  if (s.device.index < 0) return at_least("device.index", s.device.index, 0);
  for (const auto& [field, dtype] : {std::pair{"dtype", s.dtype}, std::pair{"kv_dtype", s.kv_dtype}}) {
    if (size_of(dtype) == 0) return invalid(field, std::to_string(static_cast<int>(dtype)), "not a value of DType");
  }
  if (Status e = at_least("batch_size", s.batch_size, 0); !e.ok()) return e;
  if (Status e = at_least("num_heads", s.num_heads, 1); !e.ok()) return e;
  if (Status e = at_least("num_kv_heads", s.num_kv_heads, 1); !e.ok()) return e;
  if (s.num_heads % s.num_kv_heads != 0) {
    return invalid("num_heads", std::to_string(s.num_heads),
                   "must be a multiple of num_kv_heads, " + std::to_string(s.num_kv_heads));
  }
  if (Status e = at_least("head_dim", s.head_dim, 1); !e.ok()) return e;
  if (Status e = at_least("block_size", s.block_size, 1); !e.ok()) return e;
  if (Status e = at_least("num_blocks", s.num_blocks, 0); !e.ok()) return e;
  if (Status e = at_least("max_blocks_per_seq", s.max_blocks_per_seq, 0); !e.ok()) return e;
  if (int64_t tokens = 0; __builtin_mul_overflow(s.max_blocks_per_seq, s.block_size, &tokens)) {
    return invalid("max_blocks_per_seq", std::to_string(s.max_blocks_per_seq), "times block_size does not fit 64 bits");
  }
  if (s.scale.has_value() && !std::isfinite(*s.scale)) {
    return invalid("scale", std::to_string(*s.scale), "must be finite");
  }
  return check_strides(s);
}

Status validate_input_memory(const AttentionSpec& spec, const AttentionArgs& args) {
  for (const MemoryRange& input : input_ranges(spec, args)) {
    if (Status e = check_range(input); !e.ok()) return e;
  }
  return {};
}

Status validate_args(const AttentionSpec& s, const AttentionArgs& a) {
  if (Status e = validate_input_memory(s, a); !e.ok()) return e;
  const int64_t element = size_of(s.dtype);
  const int64_t lse_bytes = s.want_lse ? s.batch_size * s.num_heads * 4 : 0;
  const MemoryRange outputs[] = {
      {"output", a.output, query_extent(s, s.output_strides) * element, element},
      {"lse", a.lse, lse_bytes, 4},
  };
  for (const MemoryRange& output : outputs) {
    if (Status e = check_range(output); !e.ok()) return e;
    for (const MemoryRange& input : input_ranges(s, a)) {
      if (overlap(output, input)) {
        return {StatusCode::kInvalidArgument, std::string(output.field) + " overlaps " + input.field};
      }
    }
  }
  if (overlap(outputs[0], outputs[1])) return {StatusCode::kInvalidArgument, "output overlaps lse"};
  return {};
}

Status validate_tables(const AttentionSpec& s, const int32_t* block_tables, const int32_t* context_lens) {
  if (s.batch_size > 0 && context_lens == nullptr) return invalid("context_lens", "null", "must be given");
  const int64_t most = s.max_blocks_per_seq * s.block_size;
  for (int64_t b = 0; b < s.batch_size; ++b) {
    const int64_t length = context_lens[b];
    if (length < 0 || length > most) {
      return {StatusCode::kOutOfRange, "context_lens[" + std::to_string(b) + "] is " + std::to_string(length) +
                                           ", must be 0.." + std::to_string(most) +
                                           " (max_blocks_per_seq * block_size)"};
    }
    const int64_t live_blocks = (length + s.block_size - 1) / s.block_size;
    if (live_blocks > 0 && block_tables == nullptr) return invalid("block_tables", "null", "must be given");
    for (int64_t i = 0; i < live_blocks; ++i) {
      const int32_t block = block_tables[b * s.block_tables_stride + i];
      if (block < -1 || block >= s.num_blocks) {
        return {StatusCode::kOutOfRange, "block_tables[" + std::to_string(b) + "][" + std::to_string(i) + "] is " +
                                             std::to_string(block) + ", must be -1 or 0.." +
                                             std::to_string(s.num_blocks - 1)};
      }
    }
  }
  return {};
}

}  // namespace quire
