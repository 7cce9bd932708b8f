// No false alarm: kernels that compute decode honestly, but unlike the library's, pass every probe and gate. They stand
// for what GPU kernels do: exponentials in base 2 with the scale folded in, weights rounded to 16 bits, splits merged
// after their normalisation, an approximate reciprocal.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "bench/check.h"
#include "bench/parallel.h"
#include "tests/bench/case_memory.h"

namespace quire::bench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLog2E = 1.44269504F;

struct Variant {
  bool base_2 = false;          // weights 2^fma(dot, scale * log2 e, -maximum)
  bool rounds_weights = false;  // to the storage type; their sum stays unrounded
  int64_t splits = 1;           // each normalised in fp32 before the merge
  bool approximate = false;     // reciprocal off by an ulp
};

struct Partial {
  float maximum = -kInfinity;  // in the exponent's base
  float denominator = 0;
  std::vector<float> output;
};

template <Variant Chosen>
class Kernel {
 public:
  Kernel(const AttentionSpec& spec, const AttentionArgs& args, int64_t b, int64_t h)
      : spec_(spec), args_(args), b_(b), kv_head_(h / (spec.num_heads / spec.num_kv_heads)) {
    query_ =
        widen(spec.dtype, bytes(args.query, b * spec.query_strides.batch + h * spec.query_strides.head), spec.head_dim);
  }

  Partial attend(int64_t first, int64_t last) const {
    Partial p{.output = std::vector<float>(query_.size())};
    for (int64_t t = first; t < last; ++t) {
      const int64_t block = args_.block_tables[b_ * spec_.block_tables_stride + t / spec_.block_size];
      if (block >= 0)
        add(p, row(args_.k_cache, spec_.k_strides, block, t), row(args_.v_cache, spec_.v_strides, block, t));
    }
    if (p.denominator > 0) {
      for (float& o : p.output) o *= reciprocal(p.denominator);
    }
    return p;
  }

  static float power(float x) { return Chosen.base_2 ? std::exp2(x) : std::exp(x); }

  static float reciprocal(float x) {
    const float exact = 1 / x;
    return Chosen.approximate ? std::nextafter(exact, 2 * exact) : exact;
  }

 private:
  const std::byte* bytes(const void* base, int64_t elements) const {
    return static_cast<const std::byte*>(base) + elements * size_of(spec_.dtype);
  }

  std::vector<float> row(const void* cache, const CacheStrides& s, int64_t block, int64_t t) const {
    return widen(spec_.kv_dtype, bytes(cache, block * s.block + t % spec_.block_size * s.token + kv_head_ * s.head),
                 spec_.head_dim);
  }

  void add(Partial& p, const std::vector<float>& key, const std::vector<float>& value) const {
    float dot = 0;
    for (size_t d = 0; d < key.size(); ++d) dot += query_[d] * key[d];
    const float factor = Chosen.base_2 ? scale_of(spec_) * kLog2E : scale_of(spec_);
    const float maximum = std::max(p.maximum, dot * factor);
    const float shrink = power(p.maximum - maximum);
    float weight = power(std::fma(dot, factor, -maximum));
    p.maximum = maximum;
    p.denominator = p.denominator * shrink + weight;
    if (Chosen.rounds_weights) {
      uint32_t storage = 0;
      from_f32(spec_.dtype, &weight, &storage, 1);
      to_f32(spec_.dtype, &storage, &weight, 1);
    }
    for (size_t d = 0; d < value.size(); ++d) p.output[d] = p.output[d] * shrink + weight * value[d];
  }

  const AttentionSpec& spec_;
  const AttentionArgs& args_;
  int64_t b_, kv_head_;
  std::vector<float> query_;
};

template <Variant Chosen>
void decode_row(const AttentionSpec& spec, const AttentionArgs& args, int64_t b, int64_t h) {
  const Kernel<Chosen> kernel(spec, args, b, h);
  const int64_t length = args.context_lens[b];
  std::vector<Partial> partials;
  Partial merged{.output = std::vector<float>(static_cast<size_t>(spec.head_dim))};
  for (int64_t split = 0; split < Chosen.splits; ++split) {
    partials.push_back(kernel.attend(length * split / Chosen.splits, length * (split + 1) / Chosen.splits));
    merged.maximum = std::max(merged.maximum, partials.back().maximum);
  }
  for (const Partial& p : partials) {
    if (p.denominator == 0) continue;
    const float weight = p.denominator * kernel.power(p.maximum - merged.maximum);
    merged.denominator += weight;
    for (size_t d = 0; d < p.output.size(); ++d) merged.output[d] += p.output[d] * weight;
  }
  const float inverse = merged.denominator > 0 ? kernel.reciprocal(merged.denominator) : 0;
  for (float& o : merged.output) o *= inverse;
  from_f32(spec.dtype, merged.output.data(),
           static_cast<std::byte*>(args.output) +
               (b * spec.output_strides.batch + h * spec.output_strides.head) * size_of(spec.dtype),
           spec.head_dim);
  const float lse = Chosen.base_2 ? (merged.maximum + std::log2(merged.denominator)) / kLog2E
                                  : merged.maximum + std::log(merged.denominator);
  args.lse[b * spec.num_heads + h] = merged.denominator > 0 ? lse : -kInfinity;
}

template <Variant Chosen>
Implementation implementation(const char* name) {
  Implementation result = *find_implementation("cpu-chunked");
  result.name = name;
  result.run = [](const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
    parallel_for(*execution.executor, spec.batch_size * spec.num_heads,
                 [&](int64_t row) { decode_row<Chosen>(spec, args, row / spec.num_heads, row % spec.num_heads); });
    return Status();
  };
  return result;
}

TEST(CheckMargins, honest_kernels_of_other_kinds_are_right) {
  const Implementation kernels[] = {
      implementation<Variant{.base_2 = true}>("base 2"),
      implementation<Variant{.rounds_weights = true}>("16-bit weights"),
      implementation<Variant{.base_2 = true, .rounds_weights = true, .splits = 7}>("base 2, 16-bit weights, 7 splits"),
      implementation<Variant{.splits = 128, .approximate = true}>("128 splits, approximate reciprocal"),
  };
#ifdef QUIRE_REDUCED_TESTS
  const std::vector<int64_t> contexts = {17, 2'048};
#else
  const std::vector<int64_t> contexts = {17, 2'048, 131'072};
#endif
  ThreadPool pool(2);
  std::vector<std::byte> workspace(1 << 20);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t context : contexts) {
      Workload w = ragged_workload(dtype);
      w.context_lens = {context, 0, 5};
      w.batch_size = 3;
      w.num_heads = w.num_kv_heads = 2;
      Result<Checker> checker = Checker::create(w, 1, pool);
      ASSERT_TRUE(checker.ok());
      std::vector<Subject> subjects;
      for (const Implementation& kernel : kernels) {
        void* data = workspace.data();
        size_t bytes = workspace.size();
        std::align(kWorkspaceAlignment, 1, data, bytes);
        subjects.push_back({&kernel, {.workspace = {data, bytes}, .executor = &pool, .stream = nullptr}});
      }
      CallObserver nobody;
      const std::vector<Verdict> verdicts = checker->check(subjects, CheckDepth::kPoint, nobody);
      for (size_t i = 0; i < verdicts.size(); ++i) {
        EXPECT_TRUE(verdicts[i].right) << kernels[i].name << " at " << context << " in " << name_of(dtype) << ": "
                                       << verdicts[i].reason;
      }
    }
  }
}

}  // namespace
}  // namespace quire::bench
