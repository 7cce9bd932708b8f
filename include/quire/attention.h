// Paged-attention decode: what to compute (AttentionSpec), on which memory (AttentionArgs), with which resources
// (Execution). docs/contract.md states every rule; the words are those of its vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "quire/executor.h"
#include "quire/status.h"
#include "quire/types.h"

namespace quire {

/// Strides of query and output, in elements; the last dimension is dense.
struct RowStrides {
  int64_t batch = 0;
  int64_t head = 0;

  friend bool operator==(const RowStrides&, const RowStrides&) = default;
};

/// Strides of a K or V cache, in elements; the last dimension is dense. NHD and HND are nothing but two choices of
/// these.
struct CacheStrides {
  int64_t block = 0;
  int64_t token = 0;  // between neighbouring slots of one block
  int64_t head = 0;

  friend bool operator==(const CacheStrides&, const CacheStrides&) = default;
};

/// Everything about a decode step but its pointers and the contents of its tables. Decides support and workspace size.
struct AttentionSpec {
  Device device = {};
  DType dtype = DType::kF16;     // query and output
  DType kv_dtype = DType::kF16;  // K and V cache
  int64_t batch_size = 0;
  int64_t num_heads = 0;  // query heads, a multiple of num_kv_heads
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t block_size = 0;          // tokens in a block
  int64_t num_blocks = 0;          // blocks in the cache
  int64_t max_blocks_per_seq = 0;  // columns of block_tables
  RowStrides query_strides = {};
  RowStrides output_strides = {};
  CacheStrides k_strides = {};
  CacheStrides v_strides = {};
  int64_t block_tables_stride = 0;  // elements between rows of block_tables
  std::optional<float> scale = {};  // multiplies q.k; any finite value; default 1/sqrt(head_dim)
  bool want_lse = false;
  bool batch_invariant = false;  // a row's bits must depend on that row's data alone
};

/// The scale in force: spec.scale, or 1/sqrt(head_dim).
float scale_of(const AttentionSpec& spec) noexcept;

/// Strides of a densely packed cache [num_blocks, block_size, num_kv_heads, head_dim].
CacheStrides nhd_strides(int64_t block_size, int64_t num_kv_heads, int64_t head_dim) noexcept;
/// Strides of a densely packed cache [num_blocks, num_kv_heads, block_size, head_dim].
CacheStrides hnd_strides(int64_t block_size, int64_t num_kv_heads, int64_t head_dim) noexcept;
/// Sets every stride of `spec` for dense tensors, both caches NHD. Call it after the shapes are set.
void set_dense_strides(AttentionSpec& spec) noexcept;

/// Fills shapes, dtypes and strides of a spec from views of query [batch_size, num_heads, head_dim], k_cache and
/// v_cache [num_blocks, block_size, num_kv_heads, head_dim] (an HND cache is passed as its permuted view) and output
/// (shaped as query). Errors: a rank or shape that does not fit (invalid_argument), a last stride other than 1
/// (unsupported). max_blocks_per_seq, block_tables_stride and the options are the caller's to set afterwards.
Result<AttentionSpec> spec_from_views(const TensorView& query, const TensorView& k_cache, const TensorView& v_cache,
                                      const TensorView& output);

/// The memory of one decode step: host pointers for a CPU device, device pointers for CUDA.
struct AttentionArgs {
  const void* query = nullptr;            // [batch_size, num_heads, head_dim]
  const void* k_cache = nullptr;          // [num_blocks, block_size, num_kv_heads, head_dim], by k_strides
  const void* v_cache = nullptr;          // likewise, by v_strides
  const int32_t* block_tables = nullptr;  // [batch_size, max_blocks_per_seq]; -1 = unmapped
  const int32_t* context_lens = nullptr;  // [batch_size]; tokens attended, the newest included
  void* output = nullptr;                 // [batch_size, num_heads, head_dim]; must not overlap an input
  float* lse = nullptr;                   // [batch_size, num_heads], dense, natural log; needed if spec.want_lse
  uint64_t* fault_count = nullptr;        // CUDA only, may be null: kernels add the bad ids and lengths they met
};

/// Scratch memory the caller owns: 256-byte aligned, at least workspace_bytes() long, used by one call at a time.
struct Workspace {
  void* data = nullptr;
  size_t bytes = 0;
};
inline constexpr size_t kWorkspaceAlignment = 256;

/// With what a call runs. The executor serves CPU calls (null = default_executor()), the stream CUDA calls.
struct Execution {
  Workspace workspace = {};
  Executor* executor = nullptr;
  CudaStream stream = nullptr;
};

/// Checks shapes, dtypes, strides and scale; names the first field at fault and its value. batch_size 0 is legal.
Status validate(const AttentionSpec& spec);

/// Checks pointers: none missing, each aligned to its element, output and lse overlapping no input nor each other.
Status validate_args(const AttentionSpec& spec, const AttentionArgs& args);

/// Checks table contents in host memory: every length in [0, max_blocks_per_seq * block_size], every live entry -1 or
/// in [0, num_blocks). Entries past the live range are not read. Errors (out_of_range) name row, column and value.
Status validate_tables(const AttentionSpec& spec, const int32_t* block_tables, const int32_t* context_lens);

/// Bytes of workspace that decode() needs for this spec; `executor` as in Execution. 0 is possible.
Result<size_t> workspace_bytes(const AttentionSpec& spec, const Executor* executor = nullptr);

/// Makes a workspace ready: once after its allocation, and again after an aborted CUDA launch.
Status initialize_workspace(const AttentionSpec& spec, const Workspace& workspace, CudaStream stream = nullptr);

/// Attends each sequence's query to its cached keys and values with the best implementation for this spec:
///   output[b, h] = sum_t p_t V[t],  p = softmax_t(scale * query[b, h] . K[t]),  lse[b, h] = ln sum_t exp(scale *
///   q.K[t])
/// over the mapped tokens t < context_lens[b]; a row without any gives output 0 and lse -inf. On the CPU the tables are
/// checked first; on error nothing is written.
Status decode(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution = {});

}  // namespace quire
