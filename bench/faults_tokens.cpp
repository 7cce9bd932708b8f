// Faults of the wrong tokens: the honest kernel on falsified tables, lengths, heads or scale. Where one sequence is
// enough, it is the longest, where a single token counts least.
#include <algorithm>
#include <cstring>
#include <utility>

#include "bench/faults_base.h"

namespace quire::bench {
namespace {

Status needs_two_sequences(const AttentionSpec& spec) {
  if (spec.batch_size < 2) return not_applicable("one sequence has no other");
  return honest_supports(spec);
}

int64_t longest_sequence(const AttentionSpec& spec, const AttentionArgs& args) {
  return std::max_element(args.context_lens, args.context_lens + spec.batch_size) - args.context_lens;
}

Status drop_last_token(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  EditedTables tables(spec, args);
  int32_t& length = tables.length(longest_sequence(spec, args));
  length = std::max(0, length - 1);
  return tables.run(spec, args, execution);
}

// One token too many: the next slot, or, where the last block is full, a slot of whatever block the next table entry
// names, forced into the cache.
Status read_past_the_end(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  EditedTables tables(spec, args);
  const int64_t b = longest_sequence(spec, args);
  const int64_t next = tables.length(b) / spec.block_size;
  if (tables.length(b) % spec.block_size == 0) {
    const int64_t stale = args.block_tables[b * spec.block_tables_stride + next];
    tables.entry(b, next) = static_cast<int32_t>(std::clamp<int64_t>(stale, 0, spec.num_blocks - 1));
  }
  tables.length(b) += 1;
  return tables.run(spec, args, execution);
}

Status drop_block(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  EditedTables tables(spec, args);
  const int64_t b = longest_sequence(spec, args);
  tables.entry(b, tables.live_blocks(b) / 2) = -1;
  return tables.run(spec, args, execution);
}

Status needs_full_block(const AttentionSpec& spec) {
  if (spec.max_blocks_per_seq < 2) return not_applicable("no sequence has a full block before its last");
  return honest_supports(spec);
}

Status double_block(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  EditedTables tables(spec, args);
  const int64_t b = longest_sequence(spec, args);
  const int64_t live = tables.live_blocks(b);
  if (live >= 2) {
    const int64_t doubled = (live - 1) / 2;  // not the last: full
    for (int64_t i = live; i > doubled; --i) tables.entry(b, i) = tables.entry(b, i - 1);
    tables.length(b) += static_cast<int32_t>(spec.block_size);
  }
  return tables.run(spec, args, execution);
}

Status take_block_of_another(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  EditedTables tables(spec, args);
  const int64_t b = longest_sequence(spec, args);
  const int64_t other = b == 0 ? 1 : 0;
  if (tables.live_blocks(other) > 0) tables.entry(b, 0) = tables.entry(other, 0);
  return tables.run(spec, args, execution);
}

Status ignore_last_quarter(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  EditedTables tables(spec, args);
  int32_t& length = tables.length(longest_sequence(spec, args));
  length -= length / 4;
  return tables.run(spec, args, execution);
}

Status swap_table_rows(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  EditedTables tables(spec, args);
  for (int64_t i = 0; i < spec.max_blocks_per_seq; ++i) std::swap(tables.entry(0, i), tables.entry(1, i));
  std::swap(tables.length(0), tables.length(1));
  return tables.run(spec, args, execution);
}

Status needs_two_blocks(const AttentionSpec& spec) {
  if (spec.num_blocks < 2) return not_applicable("the id of the only block has no bit to lose");
  return honest_supports(spec);
}

// What a 32-bit product of block id and stride loses in a cache beyond 2^31 elements, its top bit, lost at the size at
// hand: the highest bit that a block id has here.
Status narrow_offset(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  int32_t top_bit = 1;
  while (int64_t{top_bit} * 2 < spec.num_blocks) top_bit *= 2;
  EditedTables tables(spec, args);
  for (int64_t b = 0; b < spec.batch_size; ++b) {
    for (int64_t i = 0; i < tables.live_blocks(b); ++i) {
      if (tables.entry(b, i) >= 0) tables.entry(b, i) &= ~top_bit;
    }
  }
  return tables.run(spec, args, execution);
}

Status needs_two_kv_heads(const AttentionSpec& spec) {
  if (spec.num_kv_heads < 2) return not_applicable("one KV head has no neighbour");
  return honest_supports(spec);
}

// Each group reads the keys and values of the next KV head: the honest kernel on queries that moved one group on.
Status read_neighbouring_head(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  const int64_t group_size = spec.num_heads / spec.num_kv_heads;
  const auto row_bytes = static_cast<size_t>(spec.head_dim * size_of(spec.dtype));
  const auto rows = static_cast<size_t>(spec.batch_size * spec.num_heads);
  std::vector<std::byte> query(rows * row_bytes), output(rows * row_bytes);
  std::vector<float> lse(rows);
  const auto moved = [&](int64_t b, int64_t h) {
    return static_cast<size_t>(b * spec.num_heads + (h + group_size) % spec.num_heads);
  };
  AttentionSpec moved_spec = spec;
  moved_spec.query_strides = {.batch = spec.num_heads * spec.head_dim, .head = spec.head_dim};
  moved_spec.output_strides = moved_spec.query_strides;
  AttentionArgs moved_args = args;
  moved_args.query = query.data();
  moved_args.output = output.data();
  moved_args.lse = lse.data();
  for (int64_t b = 0; b < spec.batch_size; ++b) {
    for (int64_t h = 0; h < spec.num_heads; ++h) {
      std::memcpy(query.data() + moved(b, h) * row_bytes, query_row(spec, args, b, h), row_bytes);
    }
  }
  if (Status s = honest().run(moved_spec, moved_args, execution); !s.ok()) return s;
  for (int64_t b = 0; b < spec.batch_size; ++b) {
    for (int64_t h = 0; h < spec.num_heads; ++h) {
      std::memcpy(output_row(spec, args, b, h), output.data() + moved(b, h) * row_bytes, row_bytes);
      if (spec.want_lse) args.lse[b * spec.num_heads + h] = lse[moved(b, h)];
    }
  }
  return {};
}

Status run_with_scale(AttentionSpec spec, const AttentionArgs& args, const Execution& execution, float scale) {
  spec.scale = scale;
  return honest().run(spec, args, execution);
}

Status misstate_scale(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  return run_with_scale(spec, args, execution, scale_of(spec) * 1.01F);
}

Status ignore_query(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  return run_with_scale(spec, args, execution, 0);
}

constexpr Implementation kFaults[] = {
    fault("last-token-dropped", "reads one token less", drop_last_token),
    fault("token-past-the-end", "reads one token more", read_past_the_end),
    fault("block-dropped", "leaves out one block", drop_block),
    fault("block-doubled", "counts one block twice", double_block, needs_full_block),
    fault("block-of-another", "reads another sequence's first block", take_block_of_another, needs_two_sequences),
    fault("last-quarter-ignored", "reads three quarters of a sequence", ignore_last_quarter),
    fault("neighbouring-head", "reads the next KV head", read_neighbouring_head, needs_two_kv_heads),
    fault("table-rows-swapped", "reads each other's tokens in two sequences", swap_table_rows, needs_two_sequences),
    fault("narrow-offset", "loses the top bit of each block id", narrow_offset, needs_two_blocks),
    fault("scale-off-by-1-percent", "multiplies logits by 1.01", misstate_scale),
    fault("mean-of-v", "weighs all tokens alike", ignore_query),
};

}  // namespace

std::span<const Implementation> token_faults() noexcept { return kFaults; }

}  // namespace quire::bench
