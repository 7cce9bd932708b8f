// The list of implementations: complete, ordered, and honest about what it cannot run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "quire/quire.h"

namespace quire {
namespace {

using testing::HasSubstr;

AttentionSpec small_spec() {
  AttentionSpec spec;
  spec.batch_size = 1;
  spec.num_heads = 2;
  spec.num_kv_heads = 1;
  spec.head_dim = 16;
  spec.block_size = 4;
  spec.num_blocks = 2;
  spec.max_blocks_per_seq = 2;
  set_dense_strides(spec);
  return spec;
}

TEST(Registry, knows_the_four_cpu_implementations_whether_or_not_this_build_has_them) {
  for (const char* name : {"cpu-naive", "cpu-gather", "cpu-scalar", "cpu-chunked"}) {
    const Implementation* found = find_implementation(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_STREQ(found->name, name);
    EXPECT_EQ(found->backend, DeviceKind::kCpu);
  }
}

TEST(Registry, finds_nothing_under_other_names) {
  for (const std::string_view name : {"", "cpu", "cpu-", "CPU-NAIVE", "cpu_naive", "cpu-naive "}) {
    EXPECT_EQ(find_implementation(name), nullptr) << name;
  }
  EXPECT_NE(find_implementation(std::string_view("cpu-naive-and-more").substr(0, 9)), nullptr);
}

TEST(Registry, gives_each_implementation_a_name_of_its_own_and_all_it_needs_to_run) {
  std::set<std::string> names;
  for (const Implementation* implementation : implementations()) {
    EXPECT_TRUE(names.insert(implementation->name).second) << implementation->name;
    if (implementation->unavailable != nullptr) {
      EXPECT_STRNE(implementation->unavailable, "") << implementation->name;
      continue;
    }
    EXPECT_STRNE(implementation->summary, "") << implementation->name;
    EXPECT_NE(implementation->supports, nullptr) << implementation->name;
    EXPECT_NE(implementation->workspace_bytes, nullptr) << implementation->name;
    EXPECT_NE(implementation->run, nullptr) << implementation->name;
  }
}

TEST(Registry, lists_better_implementations_first) {
  const auto position = [](std::string_view name) {
    const auto all = implementations();
    return std::find(all.begin(), all.end(), find_implementation(name)) - all.begin();
  };
  EXPECT_LT(position("cpu-chunked"), position("cpu-scalar"));
  EXPECT_LT(position("cpu-scalar"), position("cpu-naive"));
}

TEST(Registry, selects_the_first_that_supports_the_problem) {
  const Result<const Implementation*> chosen = select_implementation(small_spec());
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  for (const Implementation* implementation : implementations()) {
    if (implementation == *chosen) break;
    EXPECT_FALSE(check_support(*implementation, small_spec()).ok()) << implementation->name;
  }
}

TEST(Registry, says_of_every_candidate_why_none_was_selected) {
  AttentionSpec spec = small_spec();
  spec.kv_dtype = DType::kI8;
  const Result<const Implementation*> chosen = select_implementation(spec);
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.status().code(), StatusCode::kUnsupported);
  for (const Implementation* implementation : implementations()) {
    if (implementation->backend != DeviceKind::kCpu) continue;
    EXPECT_THAT(chosen.status().message(), HasSubstr(implementation->name));
  }
}

TEST(Registry, selects_nothing_for_an_invalid_problem) {
  AttentionSpec spec = small_spec();
  spec.num_heads = -3;
  EXPECT_EQ(select_implementation(spec).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(check_support(*find_implementation("cpu-naive"), spec).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(workspace_bytes(spec).status().code(), StatusCode::kInvalidArgument);
}

TEST(Registry, runs_no_cpu_implementation_on_another_device) {
  AttentionSpec spec = small_spec();
  spec.device.kind = DeviceKind::kCuda;
  for (const Implementation* implementation : implementations()) {
    if (implementation->backend == DeviceKind::kCpu) {
      EXPECT_EQ(check_support(*implementation, spec).code(), StatusCode::kUnsupported) << implementation->name;
    }
  }
}

TEST(Registry, offers_batch_invariance_only_where_it_is_flagged) {
  AttentionSpec spec = small_spec();
  spec.batch_invariant = true;
  for (const Implementation* implementation : implementations()) {
    if (implementation->backend != DeviceKind::kCpu || implementation->unavailable != nullptr) continue;
    EXPECT_EQ(check_support(*implementation, spec).ok(), implementation->flags.batch_invariant) << implementation->name;
  }
}

TEST(Registry, selects_a_batch_invariant_implementation_where_one_is_asked_for) {
  AttentionSpec spec = small_spec();
  spec.batch_invariant = true;
  const Result<const Implementation*> chosen = select_implementation(spec);
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_TRUE((*chosen)->flags.batch_invariant);
}

// An entry as the build writes it where a library is missing.
constexpr Implementation kAbsent = {
    .name = "cpu-absent", .backend = DeviceKind::kCpu, .unavailable = "built without PLUMBING"};

TEST(Registry, refuses_an_unavailable_implementation_with_its_reason) {
  for (const Status& status : {check_support(kAbsent, small_spec()), workspace_bytes(kAbsent, small_spec()).status(),
                               run_implementation(kAbsent, small_spec(), {})}) {
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_EQ(status.message(), "cpu-absent: built without PLUMBING");
  }
}

TEST(Registry, asks_for_bounded_workspace_where_flagged_whatever_batch_and_context) {
  AttentionSpec large = small_spec();
  large.batch_size = 4096;
  large.max_blocks_per_seq = 100000;
  set_dense_strides(large);
  ThreadPool pool(2);
  for (const Implementation* implementation : implementations()) {
    if (implementation->backend != DeviceKind::kCpu || implementation->unavailable != nullptr) continue;
    const Result<size_t> bytes = workspace_bytes(*implementation, large, &pool);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    if (implementation->flags.bounded_workspace) {
      EXPECT_LE(*bytes, size_t{8} << 20) << implementation->name;
    } else {
      EXPECT_GT(*bytes, size_t{8} << 20) << implementation->name << " might be flagged bounded_workspace";
    }
  }
}

TEST(Registry, asks_for_workspace_by_the_executors_threads) {
  ThreadPool one(1);
  ThreadPool nine(9);
  for (const Implementation* implementation : implementations()) {
    if (implementation->backend != DeviceKind::kCpu || implementation->unavailable != nullptr) continue;
    EXPECT_EQ(*workspace_bytes(*implementation, small_spec(), &nine), implementation->workspace_bytes(small_spec(), 9));
    EXPECT_EQ(*workspace_bytes(*implementation, small_spec()),
              implementation->workspace_bytes(small_spec(), default_executor().num_threads()));
    EXPECT_LE(*workspace_bytes(*implementation, small_spec(), &one),
              *workspace_bytes(*implementation, small_spec(), &nine));
  }
}

TEST(Registry, says_the_workspace_of_the_one_that_decode_will_run) {
  const Result<const Implementation*> chosen = select_implementation(small_spec());
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(*workspace_bytes(small_spec()), *workspace_bytes(**chosen, small_spec()));
}

}  // namespace
}  // namespace quire
