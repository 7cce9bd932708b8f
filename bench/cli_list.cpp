// `quire list`: what there is to run, on what, and why something is not there.
#include <fmt/format.h>

#include "bench/cli.h"
#include "bench/environment.h"
#include "bench/numbers.h"
#include "bench/options.h"

namespace quire::bench {
namespace {

const char* name_of(DeviceKind kind) { return kind == DeviceKind::kCpu ? "cpu" : "cuda"; }

std::string flags_text(const ImplementationFlags& flags) {
  std::string text;
  const std::pair<bool, const char*> words[] = {{flags.capturable, "capturable"},
                                                {flags.bounded_workspace, "bounded_workspace"},
                                                {flags.batch_invariant, "batch_invariant"}};
  for (const auto& [on, word] : words) {
    if (on) text += (text.empty() ? "" : ", ") + std::string(word);
  }
  return text.empty() ? "none" : text;
}

// What an implementation takes is asked of it, one change at a time on top of a plain problem.
AttentionSpec plain_problem(DeviceKind kind) {
  AttentionSpec spec;
  spec.device.kind = kind;
  spec.batch_size = 1;
  spec.num_heads = 16;
  spec.num_kv_heads = 8;
  spec.head_dim = 128;
  spec.block_size = 16;
  spec.num_blocks = 1;
  spec.max_blocks_per_seq = 1;
  return spec;
}

bool takes(const Implementation& implementation, AttentionSpec spec) {
  set_dense_strides(spec);
  return check_support(implementation, spec).ok();
}

std::string dtypes_taken(const Implementation& implementation) {
  std::vector<std::string> names;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF8E4M3, DType::kF8E5M2, DType::kI8}) {
    AttentionSpec spec = plain_problem(implementation.backend);
    spec.dtype = spec.kv_dtype = dtype;
    if (takes(implementation, spec)) names.emplace_back(quire::name_of(dtype));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

// "1..512", or "64, 128, 256": runs of neighbouring values.
std::string head_dims_taken(const Implementation& implementation) {
  constexpr int64_t kMost = 1024;
  std::string text;
  int64_t run = 0;  // values in the current run
  for (int64_t head_dim = 1; head_dim <= kMost + 1; ++head_dim) {
    AttentionSpec spec = plain_problem(implementation.backend);
    spec.head_dim = head_dim;
    if (head_dim <= kMost && takes(implementation, spec)) {
      ++run;
    } else if (run > 0) {
      if (!text.empty()) text += ", ";
      text += run > 1 ? fmt::format("{}..{}", head_dim - run, head_dim - 1) : std::to_string(head_dim - 1);
      run = 0;
    }
  }
  return text;
}

}  // namespace

int run_list(const std::vector<std::string>& args) {
  const Result<Parsed<ListOptions>> parsed = parse_list_options(args);
  if (!parsed.ok()) return fail("quire list", parsed.status());
  if (!parsed->help.empty()) return print_out(parsed->help) ? kExitOk : kExitUsage;

  const Environment e = read_environment();
  std::string text = fmt::format("Devices\n  cpu      {}, {} of memory\n", machine_line(e, e.threads_available),
                                 byte_text(static_cast<double>(e.memory_bytes)));
  text += "  cuda:0   not available: this build has no CUDA\n\nImplementations, best first\n";
  for (const Implementation* implementation : implementations()) {
    text += fmt::format("  {} ({})\n", implementation->name, name_of(implementation->backend));
    if (implementation->unavailable != nullptr) {
      text += fmt::format("      not available: {}\n", implementation->unavailable);
      continue;
    }
    text +=
        fmt::format("      {}\n      dtypes {}; head_dim {}; flags: {}\n", implementation->summary,
                    dtypes_taken(*implementation), head_dims_taken(*implementation), flags_text(implementation->flags));
  }
  return print_out(text) ? kExitOk : kExitUsage;
}

}  // namespace quire::bench
