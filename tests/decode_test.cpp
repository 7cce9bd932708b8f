// The call itself: what it refuses, that it then writes nothing, and that the next call works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "tests/accuracy.h"
#include "tests/every_implementation.h"
#include "tests/problem.h"

namespace quire::test {
namespace {

using testing::HasSubstr;

class Decode : public EveryImplementation {
 protected:
  Decode() : problem_({.dtype = DType::kF16, .num_heads = 4, .context_lens = {40, 3, 0}}) {}

  // Expects this error from a problem made bad, then success once it is good again. (Problem::run() itself expects that
  // a call that fails writes nothing.)
  template <typename Spoil>
  void expect_error(StatusCode code, const std::string& words, Spoil spoil) {
    const AttentionSpec good = problem_.spec();
    spoil(problem_.mutable_spec());
    const Status status = problem_.run(implementation()).status;
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_THAT(status.message(), HasSubstr(words));
    problem_.mutable_spec() = good;
    EXPECT_TRUE(agrees(problem_.run(implementation()), problem_.reference(), problem_.spec()));
  }

  // The status of a run with other pointers, checked to have written no output.
  Status run_with(const AttentionArgs& args) {
    const Result<size_t> bytes = workspace_bytes(implementation(), problem_.spec());
    GuardedBuffer workspace(bytes.ok() ? *bytes : 0, kWorkspaceAlignment);
    return run_implementation(implementation(), problem_.spec(), args,
                              {.workspace = {workspace.data(), workspace.bytes()}});
  }

  Problem problem_;
};

QUIRE_FOR_EVERY_IMPLEMENTATION(Decode);

TEST_P(Decode, refuses_an_invalid_spec) {
  constexpr StatusCode kInvalid = StatusCode::kInvalidArgument;
  expect_error(kInvalid, "num_heads is 3", [](AttentionSpec& s) { s.num_heads = 3; });
  expect_error(kInvalid, "block_size is 0", [](AttentionSpec& s) { s.block_size = 0; });
  expect_error(kInvalid, "scale is nan", [](AttentionSpec& s) { s.scale = std::numeric_limits<float>::quiet_NaN(); });
  expect_error(kInvalid, "v_strides.token is 0", [](AttentionSpec& s) { s.v_strides.token = 0; });
}

TEST_P(Decode, refuses_dtypes_it_does_not_support_and_says_why) {
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2, DType::kI8}) {
    expect_error(StatusCode::kUnsupported, name_of(dtype), [&](AttentionSpec& s) { s.dtype = s.kv_dtype = dtype; });
    expect_error(StatusCode::kUnsupported, name_of(dtype), [&](AttentionSpec& s) { s.kv_dtype = dtype; });
  }
  expect_error(StatusCode::kUnsupported, implementation().name, [](AttentionSpec& s) { s.kv_dtype = DType::kBF16; });
}

TEST_P(Decode, refuses_another_device) {
  expect_error(StatusCode::kUnsupported, "device", [](AttentionSpec& s) { s.device.kind = DeviceKind::kCuda; });
}

TEST_P(Decode, refuses_lengths_and_ids_out_of_range) {
  expect_error(StatusCode::kOutOfRange, "context_lens[0] is 40", [](AttentionSpec& s) {
    s.max_blocks_per_seq = 2;
    s.batch_size = 1;
  });
  expect_error(StatusCode::kOutOfRange, "block_tables[", [](AttentionSpec& s) { s.num_blocks = 1; });
}

TEST_P(Decode, takes_every_shape_the_contract_names) {
  for (const DType dtype : kStorageTypes) {
    for (int64_t head_dim = 1; head_dim <= 512; ++head_dim) {
      for (const int64_t group : {1, 3, 8, 71}) {
        AttentionSpec spec = problem_.spec();
        spec.dtype = spec.kv_dtype = dtype;
        spec.head_dim = head_dim;
        spec.num_heads = group * spec.num_kv_heads;
        set_dense_strides(spec);
        const Status status = check_support(implementation(), spec);
        ASSERT_TRUE(status.ok()) << status.message();
      }
    }
  }
}

TEST_P(Decode, refuses_missing_pointers) {
  const AttentionArgs good = problem_.args();
  const std::pair<const char*, const void* AttentionArgs::*> inputs[] = {
      {"query", &AttentionArgs::query}, {"k_cache", &AttentionArgs::k_cache}, {"v_cache", &AttentionArgs::v_cache}};
  for (const auto& [name, member] : inputs) {
    AttentionArgs args = good;
    args.*member = nullptr;
    const Status status = run_with(args);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(std::string(name) + " is null"));
  }
  AttentionArgs args = good;
  args.output = nullptr;
  EXPECT_THAT(run_with(args).message(), HasSubstr("output is null"));
  args = good;
  args.lse = nullptr;
  EXPECT_THAT(run_with(args).message(), HasSubstr("lse is null"));
  args = good;
  args.block_tables = nullptr;
  EXPECT_THAT(run_with(args).message(), HasSubstr("block_tables is null"));
  args = good;
  args.context_lens = nullptr;
  EXPECT_THAT(run_with(args).message(), HasSubstr("context_lens is null"));
}

TEST_P(Decode, refuses_output_that_overlaps_an_input) {
  AttentionArgs args = problem_.args();
  args.output = const_cast<void*>(args.query);
  const Status status = run_with(args);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("output overlaps query"));
}

TEST_P(Decode, refuses_a_workspace_that_is_missing_short_or_misaligned) {
  const Result<size_t> bytes = workspace_bytes(implementation(), problem_.spec());
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  GuardedBuffer larger(*bytes + kWorkspaceAlignment, kWorkspaceAlignment);
  const auto run = [&](void* data, size_t size) {
    return run_implementation(implementation(), problem_.spec(), problem_.args(), {.workspace = {data, size}});
  };
  EXPECT_EQ(run(larger.data() + 128, *bytes + 64).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(run(larger.data(), *bytes + kWorkspaceAlignment).ok()) << "more than asked for is no error";
  if (*bytes == 0) return;
  EXPECT_EQ(run(larger.data(), *bytes - 1).code(), StatusCode::kWorkspaceTooSmall);
  EXPECT_EQ(run(nullptr, 0).code(), StatusCode::kWorkspaceTooSmall);
  EXPECT_EQ(run(nullptr, *bytes).code(), StatusCode::kInvalidArgument);
}

TEST_P(Decode, of_an_empty_batch_touches_nothing) {
  AttentionSpec spec = problem_.spec();
  spec.batch_size = 0;
  EXPECT_TRUE(run_implementation(implementation(), spec, {}).ok());
  EXPECT_TRUE(run_implementation(implementation(), spec, problem_.args()).ok());
}

TEST_P(Decode, writes_no_lse_that_nobody_wants) {
  Problem problem({.context_lens = {40}});
  const Answer with = problem.run(implementation());
  problem.mutable_spec().want_lse = false;
  const Answer without = problem.run(implementation());
  EXPECT_EQ(with.output_bits, without.output_bits);
  const float* lse = problem.args().lse;
  for (int h = 0; h < 4; ++h) EXPECT_NE(lse[h], lse[h]) << "the NaN put there before the call is gone";
}

TEST_P(Decode, of_a_cache_without_blocks_serves_empty_rows) {
  AttentionSpec spec = problem_.spec();
  spec.num_blocks = 0;
  const int32_t lens[] = {0, 0, 0};
  AttentionArgs args = problem_.args();
  args.k_cache = args.v_cache = nullptr;
  args.context_lens = lens;
  GuardedBuffer workspace(*workspace_bytes(implementation(), spec), kWorkspaceAlignment);
  EXPECT_TRUE(
      run_implementation(implementation(), spec, args, {.workspace = {workspace.data(), workspace.bytes()}}).ok());
  EXPECT_EQ(args.lse[0], -kInfinity);
}

TEST_P(Decode, leaves_the_callers_floating_point_environment_alone) {
  std::fenv_t before;
  std::fenv_t after;
  ASSERT_EQ(std::fegetenv(&before), 0);
  problem_.run(implementation());
  ASSERT_EQ(std::fegetenv(&after), 0);
#if defined(__x86_64__)
  constexpr unsigned int kExceptionFlags = 0x3F;  // sticky, and nobody's promise
  EXPECT_EQ(before.__mxcsr & ~kExceptionFlags, after.__mxcsr & ~kExceptionFlags);
#endif
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(DecodeWithoutAName, runs_the_selected_implementation) {
  Problem problem({.dtype = DType::kBF16, .context_lens = {40, 3, 0, 100}});
  const Result<const Implementation*> chosen = select_implementation(problem.spec());
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  const Answer expected = problem.run(**chosen);
  const Result<size_t> bytes = workspace_bytes(problem.spec());
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  GuardedBuffer workspace(*bytes, kWorkspaceAlignment);
  const Workspace memory = {workspace.data(), workspace.bytes()};
  ASSERT_TRUE(initialize_workspace(problem.spec(), memory).ok());
  ASSERT_TRUE(decode(problem.spec(), problem.args(), {.workspace = memory}).ok());
  EXPECT_EQ(std::memcmp(problem.args().output, expected.output_bits.data(), expected.output_bits.size()), 0);
}

TEST(DecodeWithoutAName, fails_as_a_named_one_does) {
  Problem problem({.context_lens = {40}});
  AttentionSpec spec = problem.spec();
  spec.kv_dtype = DType::kI8;
  EXPECT_EQ(decode(spec, problem.args()).code(), StatusCode::kUnsupported);
  EXPECT_EQ(workspace_bytes(spec).status().code(), StatusCode::kUnsupported);
  spec.head_dim = 0;
  EXPECT_EQ(decode(spec, problem.args()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(initialize_workspace(spec, {}).code(), StatusCode::kInvalidArgument);
  problem.context_len(0) = -5;
  const Result<size_t> bytes = workspace_bytes(problem.spec());
  GuardedBuffer workspace(*bytes, kWorkspaceAlignment);
  EXPECT_EQ(decode(problem.spec(), problem.args(), {.workspace = {workspace.data(), workspace.bytes()}}).code(),
            StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace quire::test
