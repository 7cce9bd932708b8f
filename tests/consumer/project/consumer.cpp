// A foreign project's program: one token attended to by one head, so that the output is that token's value.
#include <quire/quire.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

int fail(const quire::Status& status) {
  std::puts(status.message().c_str());
  return 1;
}

}  // namespace

int main() {
  quire::AttentionSpec spec;
  spec.dtype = spec.kv_dtype = quire::DType::kF32;
  spec.batch_size = spec.num_heads = spec.num_kv_heads = spec.head_dim = 1;
  spec.block_size = spec.num_blocks = spec.max_blocks_per_seq = 1;
  quire::set_dense_strides(spec);

  const quire::Result<size_t> bytes = quire::workspace_bytes(spec);
  if (!bytes.ok()) return fail(bytes.status());
  struct alignas(quire::kWorkspaceAlignment) Line {
    std::byte bytes[quire::kWorkspaceAlignment];
  };
  std::vector<Line> workspace(*bytes / sizeof(Line) + 1);

  const float query = 1, key = 2, value = 42;
  const int32_t block = 0, context_len = 1;
  float output = 0;
  const quire::AttentionArgs args = {.query = &query,
                                     .k_cache = &key,
                                     .v_cache = &value,
                                     .block_tables = &block,
                                     .context_lens = &context_len,
                                     .output = &output};
  const quire::Status status =
      quire::decode(spec, args, {.workspace = {workspace.data(), workspace.size() * sizeof(Line)}});
  if (!status.ok()) return fail(status);
  std::printf("Quire %s: %g\n", quire::kVersion, static_cast<double>(output));
  return output == value ? 0 : 1;
}
