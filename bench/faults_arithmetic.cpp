// Faults of the softmax: a plain decode loop, right but for one switch.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/faults_base.h"
#include "bench/parallel.h"
#include "quire/convert.h"

namespace quire::bench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kChunk = 8;  // tokens between two looks at the maximum

struct Arithmetic {
  float first_maximum = -kInfinity;  // where the running maximum starts
  bool rescales = true;              // earlier sums shrink when the maximum rises
};

const std::byte* cache_row(const void* cache, const CacheStrides& s, DType dtype, int64_t block, int64_t slot,
                           int64_t head) {
  return static_cast<const std::byte*>(cache) + (block * s.block + slot * s.token + head * s.head) * size_of(dtype);
}

// Online softmax of one row: sums over the tokens so far, relative to their largest logit.
class OnlineRow {
 public:
  OnlineRow(const Arithmetic& arithmetic, int64_t head_dim)
      : arithmetic_(arithmetic), maximum_(arithmetic.first_maximum), output_(static_cast<size_t>(head_dim)) {}

  void raise_maximum(float largest) {
    const float raised = std::max(maximum_, largest);
    const float shrink = maximum_ == raised || !arithmetic_.rescales ? 1 : std::exp(maximum_ - raised);
    denominator_ *= shrink;
    for (float& o : output_) o *= shrink;
    maximum_ = raised;
  }

  void add(float logit, const std::vector<float>& value) {
    const float weight = std::exp(logit - maximum_);
    denominator_ += weight;
    for (size_t d = 0; d < output_.size(); ++d) output_[d] += weight * value[d];
  }

  void store(DType dtype, std::byte* output, float* lse) {
    for (float& o : output_) o = denominator_ > 0 ? o / denominator_ : 0;
    from_f32(dtype, output_.data(), output, static_cast<int64_t>(output_.size()));
    *lse = denominator_ > 0 ? maximum_ + std::log(denominator_) : -kInfinity;
  }

 private:
  Arithmetic arithmetic_;
  float maximum_;
  float denominator_ = 0;
  std::vector<float> output_;
};

void decode_row(const AttentionSpec& spec, const AttentionArgs& args, const Arithmetic& arithmetic, int64_t b,
                int64_t h) {
  const int64_t kv_head = h / (spec.num_heads / spec.num_kv_heads);
  const auto head_dim = static_cast<size_t>(spec.head_dim);
  std::vector<float> query(head_dim), row(head_dim);
  std::vector<std::pair<float, const std::byte*>> chunk;  // logit, value
  to_f32(spec.dtype, query_row(spec, args, b, h), query.data(), spec.head_dim);
  OnlineRow online(arithmetic, spec.head_dim);
  for (int64_t first = 0; first < args.context_lens[b]; first += kChunk) {
    chunk.clear();
    float largest = -kInfinity;
    for (int64_t t = first; t < std::min<int64_t>(first + kChunk, args.context_lens[b]); ++t) {
      const int64_t block = args.block_tables[b * spec.block_tables_stride + t / spec.block_size];
      if (block < 0) continue;
      const int64_t slot = t % spec.block_size;
      to_f32(spec.kv_dtype, cache_row(args.k_cache, spec.k_strides, spec.kv_dtype, block, slot, kv_head), row.data(),
             spec.head_dim);
      float dot = 0;
      for (size_t d = 0; d < head_dim; ++d) dot += query[d] * row[d];
      chunk.emplace_back(dot * scale_of(spec),
                         cache_row(args.v_cache, spec.v_strides, spec.kv_dtype, block, slot, kv_head));
      largest = std::max(largest, chunk.back().first);
    }
    if (chunk.empty()) continue;
    online.raise_maximum(largest);
    for (const auto& [logit, value] : chunk) {
      to_f32(spec.kv_dtype, value, row.data(), spec.head_dim);
      online.add(logit, row);
    }
  }
  online.store(spec.dtype, output_row(spec, args, b, h), &args.lse[b * spec.num_heads + h]);
}

template <Arithmetic Chosen>
Status decode_with(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  parallel_for(*execution.executor, spec.batch_size * spec.num_heads,
               [&](int64_t row) { decode_row(spec, args, Chosen, row / spec.num_heads, row % spec.num_heads); });
  return {};
}

Status needs_two_chunks(const AttentionSpec& spec) {
  if (spec.max_blocks_per_seq * spec.block_size <= kChunk) return not_applicable("one chunk of 8 tokens: no rescale");
  return honest_supports(spec);
}

constexpr Implementation kFaults[] = {
    fault("rescale-skipped", "keeps old sums when the maximum rises", decode_with<Arithmetic{.rescales = false}>,
          needs_two_chunks),
    fault("maximum-from-0", "starts the running maximum at 0", decode_with<Arithmetic{.first_maximum = 0}>),
    fault("finite-infinity", "starts the running maximum at -1e10", decode_with<Arithmetic{.first_maximum = -1e10F}>),
    fault("finite-infinity-16-bit", "starts the running maximum at -5e4",
          decode_with<Arithmetic{.first_maximum = -5e4F}>),
};

}  // namespace

std::span<const Implementation> arithmetic_faults() noexcept { return kFaults; }

}  // namespace quire::bench
