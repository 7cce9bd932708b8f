// The list of implementations: find, ask, select, run.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "quire/implementation.h"

namespace quire {

const Implementation* find_implementation(std::string_view name) noexcept {
  for (const Implementation* candidate : implementations()) {
    if (name == candidate->name) return candidate;
  }
  return nullptr;
}

Status check_support(const Implementation& implementation, const AttentionSpec& spec) {
  if (Status s = validate(spec); !s.ok()) return s;
  if (implementation.unavailable != nullptr) {
    return {StatusCode::kUnsupported, std::string(implementation.name) + ": " + implementation.unavailable};
  }
  if (implementation.backend != spec.device.kind) {
    return {StatusCode::kUnsupported, std::string(implementation.name) + ": does not run on this device"};
  }
  if (spec.batch_invariant && !implementation.flags.batch_invariant) {
    return {StatusCode::kUnsupported, std::string(implementation.name) + ": batch_invariant is not offered"};
  }
  const Status supported = implementation.supports(spec);
  if (supported.ok()) return {};
  return {supported.code(), std::string(implementation.name) + ": " + supported.message()};
}

Result<const Implementation*> select_implementation(const AttentionSpec& spec) {
  if (Status s = validate(spec); !s.ok()) return s;
  std::string reasons;
  for (const Implementation* candidate : implementations()) {
    if (candidate->backend != spec.device.kind) continue;
    const Status supported = check_support(*candidate, spec);
    if (supported.ok()) return candidate;
    if (!reasons.empty()) reasons += "; ";
    reasons += supported.message();
  }
  if (reasons.empty()) reasons = "this build has none for the device";
  return Status(StatusCode::kUnsupported, "no implementation takes this problem (" + reasons + ")");
}

Result<size_t> workspace_bytes(const Implementation& implementation, const AttentionSpec& spec,
                               const Executor* executor) {
  if (Status s = check_support(implementation, spec); !s.ok()) return s;
  if (executor == nullptr) executor = &default_executor();
  const size_t bytes = implementation.workspace_bytes(spec, executor->num_threads());
  if (bytes > static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max())) {
    return Status(StatusCode::kUnsupported, std::string(implementation.name) +
                                                ": needs a workspace larger than any memory, at least " +
                                                std::to_string(std::numeric_limits<ptrdiff_t>::max()) + " bytes");
  }
  return bytes;
}

namespace {

Status check_workspace(const Implementation& implementation, const AttentionSpec& spec, const Execution& execution) {
  const Result<size_t> bytes = workspace_bytes(implementation, spec, execution.executor);
  if (!bytes.ok()) return bytes.status();
  const size_t needed = *bytes;
  if (execution.workspace.bytes < needed) {
    return {StatusCode::kWorkspaceTooSmall, "workspace.bytes is " + std::to_string(execution.workspace.bytes) + ", " +
                                                implementation.name + " needs " + std::to_string(needed)};
  }
  if (needed > 0 && execution.workspace.data == nullptr) {
    return {StatusCode::kInvalidArgument, "workspace.data is null, needs " + std::to_string(needed) + " bytes"};
  }
  if (reinterpret_cast<uintptr_t>(execution.workspace.data) % kWorkspaceAlignment != 0) {
    return {StatusCode::kInvalidArgument, "workspace.data is not aligned to 256 bytes"};
  }
  return {};
}

}  // namespace

Status run_implementation(const Implementation& implementation, const AttentionSpec& spec, const AttentionArgs& args,
                          const Execution& execution) {
  if (Status s = check_support(implementation, spec); !s.ok()) return s;
  if (spec.batch_size == 0) return {};
  if (Status s = validate_args(spec, args); !s.ok()) return s;
  Execution resolved = execution;
  if (resolved.executor == nullptr) resolved.executor = &default_executor();
  if (Status s = check_workspace(implementation, spec, resolved); !s.ok()) return s;
  if (spec.device.kind == DeviceKind::kCpu) {
    if (Status s = validate_tables(spec, args.block_tables, args.context_lens); !s.ok()) return s;
  }
  return implementation.run(spec, args, resolved);
}

}  // namespace quire
