// Faults of what is written: the honest kernel, and then something done to its output, its lse or its inputs.
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <numbers>

#include "bench/faults_base.h"
#include "bench/philox.h"
#include "quire/convert.h"

namespace quire::bench {
namespace {

size_t row_bytes(const AttentionSpec& spec) { return static_cast<size_t>(spec.head_dim * size_of(spec.dtype)); }

// Runs the honest kernel, then calls edit(row) for each row of the output.
template <typename Edit>
Status run_and_edit(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution, Edit&& edit) {
  if (Status s = honest().run(spec, args, execution); !s.ok()) return s;
  for (int64_t b = 0; b < spec.batch_size; ++b) {
    for (int64_t h = 0; h < spec.num_heads; ++h) edit(output_row(spec, args, b, h));
  }
  return {};
}

Status write_zeros(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  return run_and_edit(spec, args, execution, [&](std::byte* row) { std::memset(row, 0, row_bytes(spec)); });
}

Status write_constant(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  const std::vector<float> values(static_cast<size_t>(spec.head_dim), 0.01F);
  return run_and_edit(spec, args, execution,
                      [&](std::byte* row) { from_f32(spec.dtype, values.data(), row, spec.head_dim); });
}

Status write_nothing(const AttentionSpec& /*spec*/, const AttentionArgs& /*args*/, const Execution& /*execution*/) {
  return {};
}

// Another element in each call.
Status write_one_nan(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  if (Status s = honest().run(spec, args, execution); !s.ok()) return s;
  static std::atomic<uint64_t> calls{0};
  const Philox4 random = philox4x32({static_cast<uint32_t>(calls.fetch_add(1)), 0, 0, 0}, {0, 0});
  const auto pick = [](uint32_t bits, int64_t bound) {
    return static_cast<int64_t>(bits % static_cast<uint64_t>(bound));
  };
  std::byte* row = output_row(spec, args, pick(random[0], spec.batch_size), pick(random[1], spec.num_heads));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  from_f32(spec.dtype, &nan, row + pick(random[2], spec.head_dim) * size_of(spec.dtype), 1);
  return {};
}

// Flips the lowest bit of the first query element: the output is right, and so it would stay unnoticed.
Status write_input(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  if (Status s = honest().run(spec, args, execution); !s.ok()) return s;
  *static_cast<std::byte*>(const_cast<void*>(args.query)) ^= std::byte{1};
  return {};
}

// Right in its first call on some memory, which it then takes for the answer to every later one there.
Status replay_first_result(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  static const void* known_cache = nullptr;
  static std::vector<std::byte> output;
  static std::vector<float> lse;
  const bool known = known_cache == args.k_cache;
  if (!known) {
    if (Status s = honest().run(spec, args, execution); !s.ok()) return s;
    known_cache = args.k_cache;
    output.resize(static_cast<size_t>(spec.batch_size * spec.num_heads) * row_bytes(spec));
    lse.assign(args.lse, args.lse + (spec.want_lse ? spec.batch_size * spec.num_heads : 0));
  }
  for (int64_t row = 0; row < spec.batch_size * spec.num_heads; ++row) {
    std::byte* live = output_row(spec, args, row / spec.num_heads, row % spec.num_heads);
    std::byte* kept = output.data() + static_cast<size_t>(row) * row_bytes(spec);
    std::memcpy(known ? live : kept, known ? kept : live, row_bytes(spec));
  }
  if (known && !lse.empty()) std::memcpy(args.lse, lse.data(), lse.size() * sizeof(float));
  return {};
}

Status write_lse_in_base_2(const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
  if (Status s = honest().run(spec, args, execution); !s.ok()) return s;
  for (int64_t row = 0; row < spec.batch_size * spec.num_heads; ++row) args.lse[row] *= std::numbers::log2e_v<float>;
  return {};
}

constexpr Implementation kFaults[] = {
    fault("zero-output", "writes zeros, and the right lse", write_zeros),
    fault("constant-output", "writes 0.01 everywhere, and the right lse", write_constant),
    fault("output-not-written", "returns at once", write_nothing),
    fault("one-nan", "makes one output element NaN", write_one_nan),
    fault("input-written", "changes one bit of the query", write_input),
    fault("first-result-replayed", "right once, then cached", replay_first_result),
    fault("lse-in-base-2", "writes lse / ln 2", write_lse_in_base_2),
};

}  // namespace

std::span<const Implementation> output_faults() noexcept { return kFaults; }

}  // namespace quire::bench
