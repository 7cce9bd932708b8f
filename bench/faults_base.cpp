#include "bench/faults_base.h"

namespace quire::bench {

const Implementation& honest() noexcept {
  static const Implementation& implementation = *find_implementation("cpu-chunked");
  return implementation;
}

Status honest_supports(const AttentionSpec& spec) { return honest().supports(spec); }

size_t honest_workspace_bytes(const AttentionSpec& spec, int num_threads) {
  return honest().workspace_bytes(spec, num_threads);
}

Status not_applicable(const char* reason) { return {StatusCode::kUnsupported, reason}; }

EditedTables::EditedTables(const AttentionSpec& spec, const AttentionArgs& args)
    : block_size_(spec.block_size),
      columns_(spec.max_blocks_per_seq + 1),
      block_tables_(static_cast<size_t>(spec.batch_size * columns_), -1),
      context_lens_(args.context_lens, args.context_lens + spec.batch_size) {
  for (int64_t b = 0; b < spec.batch_size; ++b) {
    for (int64_t i = 0; i < live_blocks(b); ++i) entry(b, i) = args.block_tables[b * spec.block_tables_stride + i];
  }
}

int64_t EditedTables::live_blocks(int64_t sequence) { return (length(sequence) + block_size_ - 1) / block_size_; }

Status EditedTables::run(AttentionSpec spec, AttentionArgs args, const Execution& execution) const {
  spec.max_blocks_per_seq = columns_;
  spec.block_tables_stride = columns_;
  args.block_tables = block_tables_.data();
  args.context_lens = context_lens_.data();
  return honest().run(spec, args, execution);
}

std::byte* output_row(const AttentionSpec& spec, const AttentionArgs& args, int64_t sequence, int64_t head) {
  return static_cast<std::byte*>(args.output) +
         (sequence * spec.output_strides.batch + head * spec.output_strides.head) * size_of(spec.dtype);
}

const std::byte* query_row(const AttentionSpec& spec, const AttentionArgs& args, int64_t sequence, int64_t head) {
  return static_cast<const std::byte*>(args.query) +
         (sequence * spec.query_strides.batch + head * spec.query_strides.head) * size_of(spec.dtype);
}

}  // namespace quire::bench
