// The smallest complete use of Quire: two sequences whose tokens lie in blocks of a shared cache, one decode step, and
// the fp64 reference to compare with.
//
// The keys are chosen so that the answer can be followed by hand. With query (1, 0) and scale 1, a key (ln w, 0) has
// the logit ln w, so its token's weight in the softmax is w / sum of all w. The query (0, 0) makes all weights equal.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "quire/quire.h"

namespace {

constexpr int64_t kHeadDim = 2;
constexpr int64_t kBlockSize = 2;

// Puts a token that weighs `weight` and has the value (value, 1) into one slot of a block.
void put(std::vector<float>& k_cache, std::vector<float>& v_cache, int64_t block, int64_t slot, float weight,
         float value) {
  const size_t at = static_cast<size_t>((block * kBlockSize + slot) * kHeadDim);
  k_cache[at] = std::log(weight);
  v_cache[at] = value;
  v_cache[at + 1] = 1;
}

int fail(const quire::Status& status) {
  std::printf("%s: %s\n", quire::name_of(status.code()), status.message().c_str());
  return 1;
}

}  // namespace

int main() {
  quire::AttentionSpec spec;
  spec.dtype = spec.kv_dtype = quire::DType::kF32;
  spec.batch_size = 2;
  spec.num_heads = 2;
  spec.num_kv_heads = 1;  // both query heads share it
  spec.head_dim = kHeadDim;
  spec.block_size = kBlockSize;
  spec.num_blocks = 5;
  spec.max_blocks_per_seq = 2;
  spec.scale = 1.0F;
  spec.want_lse = true;
  quire::set_dense_strides(spec);

  // Sequence 0 has three tokens, in blocks 3 and 1; sequence 1 has two, in block 4. Blocks 0 and 2 are free.
  const std::vector<int32_t> block_tables = {3, 1,    // sequence 0
                                             4, -1};  // sequence 1
  const std::vector<int32_t> context_lens = {3, 2};
  std::vector<float> k_cache(static_cast<size_t>(spec.num_blocks * kBlockSize * kHeadDim));
  std::vector<float> v_cache(k_cache.size());
  put(k_cache, v_cache, 3, 0, 1, 10);
  put(k_cache, v_cache, 3, 1, 2, 20);
  put(k_cache, v_cache, 1, 0, 1, 60);  // head 0: (1 * 10 + 2 * 20 + 1 * 60) / 4 = 27.5, head 1: (10 + 20 + 60) / 3 = 30
  put(k_cache, v_cache, 4, 0, 1, 10);
  put(k_cache, v_cache, 4, 1, 3, 30);  // head 0: (1 * 10 + 3 * 30) / 4 = 25, head 1: (10 + 30) / 2 = 20

  const std::vector<float> query = {1, 0, 0, 0,   // sequence 0: heads 0 and 1
                                    1, 0, 0, 0};  // sequence 1
  std::vector<float> output(query.size());        // [batch_size, num_heads, head_dim]
  std::vector<float> lse(4);                      // [batch_size, num_heads]
  const quire::AttentionArgs args = {.query = query.data(),
                                     .k_cache = k_cache.data(),
                                     .v_cache = v_cache.data(),
                                     .block_tables = block_tables.data(),
                                     .context_lens = context_lens.data(),
                                     .output = output.data(),
                                     .lse = lse.data()};

  // The library allocates nothing while it decodes: scratch memory is the caller's, and aligned.
  struct alignas(quire::kWorkspaceAlignment) Line {
    std::byte bytes[quire::kWorkspaceAlignment];
  };
  const quire::Result<size_t> bytes = quire::workspace_bytes(spec);
  if (!bytes.ok()) return fail(bytes.status());
  std::vector<Line> workspace(*bytes / sizeof(Line) + 1);

  const quire::Status status =
      quire::decode(spec, args, {.workspace = {workspace.data(), workspace.size() * sizeof(Line)}});
  if (!status.ok()) return fail(status);
  const quire::Result<quire::ReferenceResult> expected = quire::reference(spec, args);
  if (!expected.ok()) return fail(expected.status());

  bool right = true;
  for (size_t row = 0; row < 4; ++row) {
    std::printf("sequence %zu head %zu: output (%6.3f, %.3f)  reference (%6.3f, %.3f)  lse ln(%.3f)\n", row / 2,
                row % 2, static_cast<double>(output[row * 2]), static_cast<double>(output[row * 2 + 1]),
                expected->output[row * 2], expected->output[row * 2 + 1], std::exp(static_cast<double>(lse[row])));
    for (const size_t i : {row * 2, row * 2 + 1}) {
      right = right && std::abs(static_cast<double>(output[i]) - expected->output[i]) < 1e-4;
    }
    right = right && std::abs(static_cast<double>(lse[row]) - expected->lse[row]) < 1e-4;
  }
  std::puts(right ? "decode() agrees with reference()" : "decode() DISAGREES with reference()");
  return right ? 0 : 1;
}
