// Faults that break more than their result: what a worker process is for.
#include <atomic>
#include <cstdlib>

#include "bench/faults_base.h"

namespace quire::bench {
namespace {

Status read_null(const AttentionSpec& /*spec*/, const AttentionArgs& /*args*/, const Execution& /*execution*/) {
  const volatile int* volatile nowhere = nullptr;
  return *nowhere == 0 ? Status() : not_applicable("null can be read");
}

Status call_abort(const AttentionSpec& /*spec*/, const AttentionArgs& /*args*/, const Execution& /*execution*/) {
  std::abort();
}

Status never_return(const AttentionSpec& /*spec*/, const AttentionArgs& /*args*/, const Execution& /*execution*/) {
  std::atomic<bool> done{false};
  while (!done.load()) {
  }
  return {};
}

Status needs_slots(const AttentionSpec& spec) {
  if (spec.block_size < 2) return not_applicable("a block of one slot has no dead slot behind a live one");
  return honest_supports(spec);
}

Status read_dead_slots(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  EditedTables tables(spec, args);
  for (int64_t b = 0; b < spec.batch_size; ++b) {
    tables.length(b) = static_cast<int32_t>(tables.live_blocks(b) * spec.block_size);
  }
  return tables.run(spec, args, execution);
}

constexpr Implementation kFaults[] = {
    fault("null-read", "reads address 0", read_null),
    fault("abort", "aborts", call_abort),
    fault("endless-loop", "does not return", never_return),
    fault("dead-slots-read", "reads each sequence's last block whole", read_dead_slots, needs_slots),
};

}  // namespace

std::span<const Implementation> isolation_faults() noexcept { return kFaults; }

}  // namespace quire::bench
