// The plain parts of the attention API: defaults of a spec, specs from views, decode as selection and run.
#include "quire/attention.h"

#include <cmath>
#include <string>

#include "quire/implementation.h"

namespace quire {

float scale_of(const AttentionSpec& spec) noexcept {
  return spec.scale.value_or(static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.head_dim))));
}

CacheStrides nhd_strides(int64_t block_size, int64_t num_kv_heads, int64_t head_dim) noexcept {
  return {.block = block_size * num_kv_heads * head_dim, .token = num_kv_heads * head_dim, .head = head_dim};
}

CacheStrides hnd_strides(int64_t block_size, int64_t num_kv_heads, int64_t head_dim) noexcept {
  return {.block = block_size * num_kv_heads * head_dim, .token = head_dim, .head = block_size * head_dim};
}

void set_dense_strides(AttentionSpec& spec) noexcept {
  spec.query_strides = {.batch = spec.num_heads * spec.head_dim, .head = spec.head_dim};
  spec.output_strides = spec.query_strides;
  spec.k_strides = nhd_strides(spec.block_size, spec.num_kv_heads, spec.head_dim);
  spec.v_strides = spec.k_strides;
  spec.block_tables_stride = spec.max_blocks_per_seq;
}

namespace {

// A view's rank, and a dense last dimension: the only layouts kernels read.
Status check_view(const char* name, const TensorView& view, int rank) {
  if (view.rank != rank) {
    return {StatusCode::kInvalidArgument,
            std::string(name) + ".rank is " + std::to_string(view.rank) + ", must be " + std::to_string(rank)};
  }
  const int last = rank - 1;
  if (view.stride[last] != 1) {
    return {StatusCode::kUnsupported, std::string(name) + ".stride[" + std::to_string(last) + "] is " +
                                          std::to_string(view.stride[last]) + ", only 1 is supported"};
  }
  return {};
}

Status check_equal(const std::string& name, int64_t value, const char* other_name, int64_t other) {
  if (value == other) return {};
  return {StatusCode::kInvalidArgument,
          name + " is " + std::to_string(value) + ", but " + other_name + " is " + std::to_string(other)};
}

}  // namespace

Result<AttentionSpec> spec_from_views(const TensorView& query, const TensorView& k_cache, const TensorView& v_cache,
                                      const TensorView& output) {
  if (Status s = check_view("query", query, 3); !s.ok()) return s;
  if (Status s = check_view("k_cache", k_cache, 4); !s.ok()) return s;
  if (Status s = check_view("v_cache", v_cache, 4); !s.ok()) return s;
  if (Status s = check_view("output", output, 3); !s.ok()) return s;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "v_cache.shape[" + std::to_string(i) + "]";
    if (Status s = check_equal(name, v_cache.shape[i], "k_cache's", k_cache.shape[i]); !s.ok()) return s;
  }
  for (int i = 0; i < 3; ++i) {
    const std::string name = "output.shape[" + std::to_string(i) + "]";
    if (Status s = check_equal(name, output.shape[i], "query's", query.shape[i]); !s.ok()) return s;
  }
  if (Status s = check_equal("k_cache.shape[3]", k_cache.shape[3], "query.shape[2]", query.shape[2]); !s.ok()) return s;
  if (v_cache.dtype != k_cache.dtype) {
    return Status(StatusCode::kUnsupported, std::string("v_cache.dtype is ") + name_of(v_cache.dtype) +
                                                ", but k_cache.dtype is " + name_of(k_cache.dtype));
  }
  if (output.dtype != query.dtype) {
    return Status(StatusCode::kUnsupported, std::string("output.dtype is ") + name_of(output.dtype) +
                                                ", but query.dtype is " + name_of(query.dtype));
  }
  AttentionSpec spec;
  spec.dtype = query.dtype;
  spec.kv_dtype = k_cache.dtype;
  spec.batch_size = query.shape[0];
  spec.num_heads = query.shape[1];
  spec.head_dim = query.shape[2];
  spec.num_blocks = k_cache.shape[0];
  spec.block_size = k_cache.shape[1];
  spec.num_kv_heads = k_cache.shape[2];
  spec.query_strides = {query.stride[0], query.stride[1]};
  spec.output_strides = {output.stride[0], output.stride[1]};
  spec.k_strides = {k_cache.stride[0], k_cache.stride[1], k_cache.stride[2]};
  spec.v_strides = {v_cache.stride[0], v_cache.stride[1], v_cache.stride[2]};
  return spec;
}

Result<size_t> workspace_bytes(const AttentionSpec& spec, const Executor* executor) {
  const Result<const Implementation*> chosen = select_implementation(spec);
  if (!chosen.ok()) return chosen.status();
  return workspace_bytes(**chosen, spec, executor);
}

Status initialize_workspace(const AttentionSpec& spec, const Workspace& /*workspace*/, CudaStream /*stream*/) {
  // CPU implementations keep nothing between calls.
  return validate(spec);
}

Status decode(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  const Result<const Implementation*> chosen = select_implementation(spec);
  if (!chosen.ok()) return chosen.status();
  return run_implementation(**chosen, spec, args, execution);
}

}  // namespace quire
