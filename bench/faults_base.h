// What planted faults have in common: the honest kernel they start from, and edited copies of its tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quire/implementation.h"

namespace quire::bench {

/// The right implementation that faults falsify.
const Implementation& honest() noexcept;

/// supports and workspace_bytes of a fault that shows wherever the honest kernel runs.
Status honest_supports(const AttentionSpec& spec);
size_t honest_workspace_bytes(const AttentionSpec& spec, int num_threads);

/// "n/a, because": the shape gives this fault nothing to get wrong.
Status not_applicable(const char* reason);

constexpr Implementation fault(const char* name, const char* summary, decltype(Implementation::run) run,
                               decltype(Implementation::supports) supports = honest_supports) {
  Implementation implementation;
  implementation.name = name;
  implementation.summary = summary;
  implementation.supports = supports;
  implementation.workspace_bytes = honest_workspace_bytes;
  implementation.run = run;
  return implementation;
}

/// The faults of each file.
std::span<const Implementation> token_faults() noexcept;       // the wrong tokens, heads or scale
std::span<const Implementation> output_faults() noexcept;      // the wrong thing written
std::span<const Implementation> arithmetic_faults() noexcept;  // the wrong softmax
std::span<const Implementation> isolation_faults() noexcept;   // more broken than the result

/// A copy of block tables and lengths to falsify, with room for one more block in each row.
class EditedTables {
 public:
  EditedTables(const AttentionSpec& spec, const AttentionArgs& args);

  int32_t& length(int64_t sequence) { return context_lens_[static_cast<size_t>(sequence)]; }
  int32_t& entry(int64_t sequence, int64_t i) { return block_tables_[static_cast<size_t>(sequence * columns_ + i)]; }
  int64_t live_blocks(int64_t sequence);

  /// The honest kernel on the edited tables.
  Status run(AttentionSpec spec, AttentionArgs args, const Execution& execution) const;

 private:
  int64_t block_size_;
  int64_t columns_;
  std::vector<int32_t> block_tables_;  // [batch_size, columns_]; -1 behind the live entries
  std::vector<int32_t> context_lens_;
};

/// Rows of query or output: where element 0 of (sequence, head) lies.
std::byte* output_row(const AttentionSpec& spec, const AttentionArgs& args, int64_t sequence, int64_t head);
const std::byte* query_row(const AttentionSpec& spec, const AttentionArgs& args, int64_t sequence, int64_t head);

}  // namespace quire::bench
