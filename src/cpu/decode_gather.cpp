// cpu-gather: copy each sequence out of its blocks, then batched matrix products by a BLAS.
//
//   1. per (sequence, KV head): gather the mapped tokens' K and V through the table into dense fp32 matrices
//      [head_dim, tokens], column-major, token after token;
//   2. per (sequence, query head): scores = scale * K^T q (sgemv), softmax, output = V p (sgemv, chunk by chunk).
//
// The product is a matrix-vector one per query head: with the few heads of a group a matrix-matrix product is faster
// only where the BLAS has kernels for small matrices (OpenBLAS 0.3.21: on AVX-512 up to 2.6 times, else 3 times
// slower), and step 1 takes most of the time anyway. K and V are read once from the cache, written as fp32 and read
// group_size times.
//
// Invariants
//  1. Only mapped tokens below context_len are gathered, side by side: an unmapped block leaves no gap and no zeros.
//  2. Scores are fp32; V p is computed for at most 64 tokens at a time and the parts are then added.
//  3. Matrices begin on 64-byte boundaries, so that a head's bits do not depend on where its neighbours end.
//  4. The threads are ours. A call to the BLAS is small enough to stay on the thread that makes it (kRowsPerCall).
#include <algorithm>

#include "cpu/head_scratch.h"
#include "cpu/head_view.h"
#include "cpu/ladder_support.h"
#include "cpu/parallel_for.h"
#include "cpu/simd/softmax.h"
#include "cpu/workspace_plan.h"
#include "quire/implementation.h"

// The Fortran interface, which every BLAS has: y = alpha * op(A) x + beta * y, A is m x n, column-major.
extern "C" void sgemv_(const char* transpose, const int* m, const int* n, const float* alpha, const float* a,
                       const int* lda, const float* x, const int* incx, const float* beta, float* y, const int* incy);

namespace quire {
namespace {

// A call takes a part of at most 256 x 32 or 128 x 64 elements. OpenBLAS computes products below 9,216 elements without
// its own threads, and takes its scratch from the stack where rows and columns together are below 480. Larger calls
// would take it from a pool that builds without threads do not lock: two calls at once then corrupt each other now and
// then (seen with Debian's libopenblas0-serial 0.3.21). It also keeps every index inside the BLAS below 2^31.
constexpr int64_t kRowsPerCall = 256;

enum class Product : char { kPlain = 'N', kTransposed = 'T' };

// y += A x or A^T x, where A is rows x tokens, column-major, with `head_dim` elements between columns.
void multiply_add(Product product, int64_t rows, int64_t tokens, int64_t head_dim, const float* matrix, const float* x,
                  float* y) {
  const char transpose = static_cast<char>(product);
  const int m = static_cast<int>(rows), n = static_cast<int>(tokens), lda = static_cast<int>(head_dim), step = 1;
  const float one = 1;
  sgemv_(&transpose, &m, &n, &one, matrix, &lda, x, &step, &one, y, &step);
}

// Arrays of the workspace, for at most `length` tokens a sequence.
struct GatherPlan {
  WorkspacePlan plan;
  int64_t matrix_pitch;  // floats between matrices of one array
  int64_t score_pitch;
  size_t keys, values;  // [batch_size, num_kv_heads, matrix_pitch] fp32
  size_t scores;        // [batch_size, num_heads, score_pitch] fp32
  size_t counts;        // [batch_size] int64: mapped tokens

  GatherPlan(const AttentionSpec& spec, int64_t length)
      : matrix_pitch(rounded(length * spec.head_dim)), score_pitch(rounded(length)) {
    keys = plan.add({spec.batch_size, spec.num_kv_heads, matrix_pitch}, sizeof(float));
    values = plan.add({spec.batch_size, spec.num_kv_heads, matrix_pitch}, sizeof(float));
    scores = plan.add({spec.batch_size, spec.num_heads, score_pitch}, sizeof(float));
    counts = plan.add({spec.batch_size}, sizeof(int64_t));
  }

  static int64_t rounded(int64_t floats) {
    constexpr auto kStep = static_cast<int64_t>(kSoftmaxPadding);
    return (floats + kStep - 1) / kStep * kStep;
  }
};

struct GatherStep {
  const AttentionSpec& spec;
  const AttentionArgs& args;
  const GatherPlan& plan;
  std::byte* workspace;

  float* floats(size_t array, int64_t offset) const { return reinterpret_cast<float*>(workspace + array) + offset; }
  int64_t& count(int64_t sequence) const { return reinterpret_cast<int64_t*>(workspace + plan.counts)[sequence]; }

  // Step 1. Every KV head of a sequence finds the same count; the first one notes it.
  void gather(int64_t sequence, int64_t kv_head) const {
    const int64_t element = size_of(spec.kv_dtype);
    const auto* k_cache = static_cast<const std::byte*>(args.k_cache);
    const auto* v_cache = static_cast<const std::byte*>(args.v_cache);
    const int64_t matrix = (sequence * spec.num_kv_heads + kv_head) * plan.matrix_pitch;
    float* key = floats(plan.keys, matrix);
    float* value = floats(plan.values, matrix);
    int64_t mapped = 0;
    for (int64_t t = 0; t < args.context_lens[sequence]; ++t) {
      const int64_t block = args.block_tables[sequence * spec.block_tables_stride + t / spec.block_size];
      if (block < 0) continue;
      const int64_t slot = t % spec.block_size;
      const CacheStrides& ks = spec.k_strides;
      const CacheStrides& vs = spec.v_strides;
      const int64_t k_offset = (block * ks.block + slot * ks.token + kv_head * ks.head) * element;
      const int64_t v_offset = (block * vs.block + slot * vs.token + kv_head * vs.head) * element;
      to_f32(spec.kv_dtype, k_cache + k_offset, key + mapped * spec.head_dim, spec.head_dim);
      to_f32(spec.kv_dtype, v_cache + v_offset, value + mapped * spec.head_dim, spec.head_dim);
      ++mapped;
    }
    if (kv_head == 0) count(sequence) = mapped;
  }

  // Step 2.
  void attend(int64_t sequence, int64_t head) const {
    const int64_t kv_head = head / (spec.num_heads / spec.num_kv_heads);
    const int64_t matrix = (sequence * spec.num_kv_heads + kv_head) * plan.matrix_pitch;
    const float* keys = floats(plan.keys, matrix);
    const float* values = floats(plan.values, matrix);
    float* scores = floats(plan.scores, (sequence * spec.num_heads + head) * plan.score_pitch);
    const int64_t tokens = count(sequence);
    const int64_t element = size_of(spec.dtype);
    const int64_t query = sequence * spec.query_strides.batch + head * spec.query_strides.head;
    const int64_t output = sequence * spec.output_strides.batch + head * spec.output_strides.head;

    HeadScratch scratch;
    scratch.start(spec.dtype, static_cast<const std::byte*>(args.query) + query * element, spec.head_dim);
    OnlineSoftmax softmax;
    if (tokens > 0) {
      compute_scores(keys, scratch.query, tokens, scores);
      const RowSoftmax row = softmax_in_place(scores, static_cast<size_t>(tokens));
      softmax = {.max = row.max, .sum = row.sum, .empty = false};
      add_values(values, scores, tokens, scratch.accumulator);
    }
    scratch.finish(softmax, spec.dtype, spec.head_dim, static_cast<std::byte*>(args.output) + output * element,
                   spec.want_lse ? args.lse + sequence * spec.num_heads + head : nullptr);
  }

  void compute_scores(const float* keys, const float* query, int64_t tokens, float* scores) const {
    const int64_t step = chunk_tokens(spec.head_dim);
    std::fill_n(scores, tokens, 0.0F);
    for (int64_t t = 0; t < tokens; t += step) {
      for (int64_t d = 0; d < spec.head_dim; d += kRowsPerCall) {
        multiply_add(Product::kTransposed, std::min(kRowsPerCall, spec.head_dim - d), std::min(step, tokens - t),
                     spec.head_dim, keys + t * spec.head_dim + d, query + d, scores + t);
      }
    }
    const float scale = scale_of(spec);
    for (int64_t t = 0; t < tokens; ++t) scores[t] *= scale;
  }

  void add_values(const float* values, const float* weights, int64_t tokens, float* accumulator) const {
    const int64_t step = chunk_tokens(spec.head_dim);
    alignas(64) float sums[kMaxHeadDim];
    for (int64_t t = 0; t < tokens; t += step) {
      std::fill_n(sums, spec.head_dim, 0.0F);
      for (int64_t d = 0; d < spec.head_dim; d += kRowsPerCall) {
        multiply_add(Product::kPlain, std::min(kRowsPerCall, spec.head_dim - d), std::min(step, tokens - t),
                     spec.head_dim, values + t * spec.head_dim + d, weights + t, sums + d);
      }
      for (int64_t d = 0; d < spec.head_dim; ++d) accumulator[d] += sums[d];
    }
  }
};

size_t workspace_bytes(const AttentionSpec& spec, int /*num_threads*/) {
  return GatherPlan(spec, longest_context(spec)).plan.bytes();
}

Status run(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  const GatherPlan plan(spec, *std::max_element(args.context_lens, args.context_lens + spec.batch_size));
  const GatherStep step = {spec, args, plan, static_cast<std::byte*>(execution.workspace.data)};
  parallel_for(*execution.executor, spec.batch_size * spec.num_kv_heads,
               [&](int64_t i) { step.gather(i / spec.num_kv_heads, i % spec.num_kv_heads); });
  parallel_for(*execution.executor, spec.batch_size * spec.num_heads,
               [&](int64_t i) { step.attend(i / spec.num_heads, i % spec.num_heads); });
  return {};
}

}  // namespace

extern constinit const Implementation cpu_gather = {
    .name = "cpu-gather",
    .summary = "gathers whole sequences through the table, then batched matrix-vector products by a BLAS",
    .backend = DeviceKind::kCpu,
    .flags = {.batch_invariant = true},
    .supports = ladder_supports,
    .workspace_bytes = workspace_bytes,
    .run = run,
};

}  // namespace quire
