// The definition of correct: one (sequence, head) at a time, in fp64, from the values as stored.
#include "quire/reference.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "cpu/parallel_for.h"
#include "quire/convert.h"
#include "validate.h"

namespace quire {
namespace {

// The step of one query head. logits and row are scratch for context_len and head_dim elements.
struct HeadReference {
  const AttentionSpec& spec;
  const AttentionArgs& args;
  ReferenceResult& result;

  const std::byte* cache_row(const void* cache, const CacheStrides& strides, int64_t block, int64_t slot,
                             int64_t kv_head) const {
    const int64_t element = block * strides.block + slot * strides.token + kv_head * strides.head;
    return static_cast<const std::byte*>(cache) + element * size_of(spec.kv_dtype);
  }

  void compute(int64_t b, int64_t h) const {
    const int64_t head_dim = spec.head_dim;
    const int64_t kv_head = h / (spec.num_heads / spec.num_kv_heads);
    const double scale = scale_of(spec);
    std::vector<float> query(static_cast<size_t>(head_dim)), row(query);
    const int64_t query_element = b * spec.query_strides.batch + h * spec.query_strides.head;
    to_f32(spec.dtype, static_cast<const std::byte*>(args.query) + query_element * size_of(spec.dtype), query.data(),
           head_dim);

    struct Token {
      int64_t block, slot;
      double logit;
    };
    std::vector<Token> tokens;
    double max = -std::numeric_limits<double>::infinity();
    for (int64_t t = 0; t < args.context_lens[b]; ++t) {
      const int64_t block = args.block_tables[b * spec.block_tables_stride + t / spec.block_size];
      if (block < 0) continue;
      const int64_t slot = t % spec.block_size;
      to_f32(spec.kv_dtype, cache_row(args.k_cache, spec.k_strides, block, slot, kv_head), row.data(), head_dim);
      double dot = 0;
      for (size_t d = 0; d < row.size(); ++d) dot += double{query[d]} * double{row[d]};
      tokens.push_back({block, slot, dot * scale});
      max = std::fmax(max, dot * scale);
    }

    double sum = 0, norm_squared = 0;
    double* output = result.output.data() + (b * spec.num_heads + h) * head_dim;
    for (const Token& token : tokens) {
      const double p = std::exp(token.logit - max);
      to_f32(spec.kv_dtype, cache_row(args.v_cache, spec.v_strides, token.block, token.slot, kv_head), row.data(),
             head_dim);
      double length_squared = 0;
      for (size_t d = 0; d < row.size(); ++d) {
        output[d] += p * double{row[d]};
        length_squared += double{row[d]} * double{row[d]};
      }
      sum += p;
      norm_squared += p * p * length_squared;
    }
    const auto index = static_cast<size_t>(b * spec.num_heads + h);
    result.lse[index] = tokens.empty() ? -std::numeric_limits<double>::infinity() : max + std::log(sum);
    if (tokens.empty()) return;  // output 0, norm 0
    for (int64_t d = 0; d < head_dim; ++d) output[d] /= sum;
    result.norm[index] = std::sqrt(norm_squared) / sum;
  }
};

}  // namespace

Result<ReferenceResult> reference(const AttentionSpec& spec, const AttentionArgs& args, Executor* executor) {
  if (Status s = validate(spec); !s.ok()) return s;
  if (!is_convertible(spec.dtype) || !is_convertible(spec.kv_dtype)) {
    return Status(StatusCode::kUnsupported, std::string("reference: dtype ") + name_of(spec.dtype) + " with kv_dtype " +
                                                name_of(spec.kv_dtype) + " is not offered");
  }
  if (Status s = validate_input_memory(spec, args); !s.ok()) return s;
  if (Status s = validate_tables(spec, args.block_tables, args.context_lens); !s.ok()) return s;
  const auto heads = static_cast<size_t>(spec.batch_size * spec.num_heads);
  ReferenceResult result;
  result.output.assign(heads * static_cast<size_t>(spec.head_dim), 0.0);
  result.lse.assign(heads, 0.0);
  result.norm.assign(heads, 0.0);
  parallel_for(executor != nullptr ? *executor : default_executor(), static_cast<int64_t>(heads), [&](int64_t i) {
    HeadReference{spec, args, result}.compute(i / spec.num_heads, i % spec.num_heads);
  });
  return result;
}

}  // namespace quire
