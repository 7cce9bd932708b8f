// The definition of correct: one (sequence, head) at a time, in fp64, from the values as stored.
#include "quire/reference.h"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <new>
#include <string>

#include "cpu/parallel_for.h"
#include "quire/convert.h"
#include "validate.h"

namespace quire {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A stored row as fp32, which holds every value of the storage types.
void read_row(DType dtype, const void* tensor, int64_t element, std::vector<float>& row) {
  const std::byte* stored = static_cast<const std::byte*>(tensor) + element * size_of(dtype);
  to_f32(dtype, stored, row.data(), static_cast<int64_t>(row.size()));
}

void compute_head(const AttentionSpec& spec, const AttentionArgs& args, int64_t b, int64_t h, ReferenceResult& result) {
  const int64_t kv_head = h / (spec.num_heads / spec.num_kv_heads);
  std::vector<float> query(static_cast<size_t>(spec.head_dim)), row(query);
  read_row(spec.dtype, args.query, b * spec.query_strides.batch + h * spec.query_strides.head, query);

  struct Token {
    int64_t block, slot;
    double logit;
  };
  std::vector<Token> tokens;
  double max = -kInfinity;
  for (int64_t t = 0; t < args.context_lens[b]; ++t) {
    const int64_t block = args.block_tables[b * spec.block_tables_stride + t / spec.block_size];
    const int64_t slot = t % spec.block_size;
    if (block < 0) continue;
    const CacheStrides& k = spec.k_strides;
    read_row(spec.kv_dtype, args.k_cache, block * k.block + slot * k.token + kv_head * k.head, row);
    double dot = 0;
    for (size_t d = 0; d < row.size(); ++d) dot += double{query[d]} * double{row[d]};
    tokens.push_back({block, slot, dot * scale_of(spec)});
    max = std::fmax(max, tokens.back().logit);
  }

  const double shift = max == -kInfinity ? 0 : max;  // logits that are all -inf weigh 0, not NaN
  const int64_t index = b * spec.num_heads + h;
  double* output = result.output.data() + index * spec.head_dim;
  double sum = 0, norm_squared = 0;
  for (const auto& [block, slot, logit] : tokens) {
    const double p = std::exp(logit - shift);
    const CacheStrides& v = spec.v_strides;
    read_row(spec.kv_dtype, args.v_cache, block * v.block + slot * v.token + kv_head * v.head, row);
    double length_squared = 0;
    for (size_t d = 0; d < row.size(); ++d) {
      output[d] += p * double{row[d]};
      length_squared += double{row[d]} * double{row[d]};
    }
    sum += p;
    norm_squared += p * p * length_squared;
  }
  result.lse[static_cast<size_t>(index)] = shift + std::log(sum);  // -inf for an empty row
  if (tokens.empty()) return;                                      // output and norm 0
  for (int64_t d = 0; d < spec.head_dim; ++d) output[d] /= sum;
  result.norm[static_cast<size_t>(index)] = std::sqrt(norm_squared) / sum;
}

ReferenceResult compute(const AttentionSpec& spec, const AttentionArgs& args, Executor& executor) {
  const auto heads = static_cast<size_t>(spec.batch_size * spec.num_heads);
  ReferenceResult result;
  result.output.resize(heads * static_cast<size_t>(spec.head_dim));
  result.lse.resize(heads);
  result.norm.resize(heads);
  std::atomic<bool> out_of_memory{false};
  parallel_for(executor, static_cast<int64_t>(heads), [&](int64_t i) {
    try {
      compute_head(spec, args, i / spec.num_heads, i % spec.num_heads, result);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  });
  if (out_of_memory) throw std::bad_alloc();
  return result;
}

}  // namespace

Result<ReferenceResult> reference(const AttentionSpec& spec, const AttentionArgs& args, Executor* executor) {
  if (Status s = validate(spec); !s.ok()) return s;
  if (!is_convertible(spec.dtype) || !is_convertible(spec.kv_dtype)) {
    return Status(StatusCode::kUnsupported, std::string("reference: dtype ") + name_of(spec.dtype) + " with kv_dtype " +
                                                name_of(spec.kv_dtype) + " is not offered");
  }
  if (Status s = validate_input_memory(spec, args); !s.ok()) return s;
  if (Status s = validate_tables(spec, args.block_tables, args.context_lens); !s.ok()) return s;
  try {
    return compute(spec, args, executor != nullptr ? *executor : default_executor());
  } catch (const std::exception&) {  // std::bad_alloc, or std::length_error from a vector
    return Status(StatusCode::kInternal, "reference: out of memory for " + std::to_string(spec.batch_size) + " x " +
                                             std::to_string(spec.num_heads) + " heads");
  }
}

}  // namespace quire
