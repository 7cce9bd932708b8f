// The implementations of decode as documented objects: list them, ask why one refuses, run one by name.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "quire/attention.h"

namespace quire {

/// What an implementation promises beyond right results.
struct ImplementationFlags {
  bool capturable = false;         // may be captured into a CUDA graph and replayed with other data
  bool bounded_workspace = false;  // workspace does not grow with batch_size or context
  bool batch_invariant = false;    // honours AttentionSpec::batch_invariant
};

/// One way to compute decode. Objects are immutable and live as long as the program.
struct Implementation {
  const char* name = "";                  // such as "cpu-chunked"
  const char* summary = "";               // one line
  DeviceKind backend = DeviceKind::kCpu;  // where it runs
  ImplementationFlags flags = {};
  const char* unavailable = nullptr;  // why this build has no code for it; null when it has

  // The functions below are null when unavailable. All take a spec that passed validate().

  /// Ok, or unsupported with the reason.
  Status (*supports)(const AttentionSpec& spec) = nullptr;
  /// Workspace this spec needs with so many threads (CPU).
  size_t (*workspace_bytes)(const AttentionSpec& spec, int num_threads) = nullptr;
  /// Computes the step. Assumes arguments, tables and workspace were checked; run_implementation() does that.
  Status (*run)(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) = nullptr;
};

/// All implementations this version knows, best first, the unavailable ones included.
std::span<const Implementation* const> implementations() noexcept;

/// The implementation of that name, or null.
const Implementation* find_implementation(std::string_view name) noexcept;

/// Ok where `implementation` can compute `spec` on this machine; else says why not.
Status check_support(const Implementation& implementation, const AttentionSpec& spec);

/// The first implementation that supports the spec: the one decode() runs.
Result<const Implementation*> select_implementation(const AttentionSpec& spec);

/// Workspace of one implementation; `executor` as in Execution.
Result<size_t> workspace_bytes(const Implementation& implementation, const AttentionSpec& spec,
                               const Executor* executor = nullptr);

/// decode() with a chosen implementation: the same checks, the same errors.
Status run_implementation(const Implementation& implementation, const AttentionSpec& spec, const AttentionArgs& args,
                          const Execution& execution = {});

}  // namespace quire
