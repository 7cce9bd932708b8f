#include "quire/status.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "quire/types.h"

namespace quire {
namespace {

TEST(Status, is_ok_and_silent_by_default) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.message(), "");
}

TEST(Status, keeps_code_and_message) {
  const Status status(StatusCode::kUnsupported, "why not");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(), "why not");
}

TEST(Status, has_a_name_of_its_own_for_every_code) {
  std::set<std::string> names;
  for (int code = 0; code <= 6; ++code) names.insert(name_of(static_cast<StatusCode>(code)));
  EXPECT_EQ(names.size(), 7u);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_STREQ(name_of(StatusCode::kWorkspaceTooSmall), "workspace_too_small");
  EXPECT_STREQ(name_of(static_cast<StatusCode>(99)), "unknown");
}

TEST(Result, holds_a_value_and_an_ok_status) {
  Result<std::string> result(std::string("value"));
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.status().ok());
  EXPECT_EQ(*result, "value");
  EXPECT_EQ(result->size(), 5u);
  result.value() += 's';
  EXPECT_EQ(result.value(), "values");
}

TEST(Result, holds_the_status_that_says_why_there_is_no_value) {
  const Result<int> result(Status(StatusCode::kInternal, "no memory"));
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(), "no memory");
}

// Saved files and other languages rely on these.
TEST(DType, has_fixed_values_sizes_and_names) {
  struct Fact {
    DType dtype;
    int value;
    int64_t bytes;
    const char* name;
  };
  const Fact facts[] = {{DType::kF32, 0, 4, "fp32"},        {DType::kF16, 1, 2, "fp16"},
                        {DType::kBF16, 2, 2, "bf16"},       {DType::kF8E4M3, 3, 1, "fp8_e4m3"},
                        {DType::kF8E5M2, 4, 1, "fp8_e5m2"}, {DType::kI8, 5, 1, "int8"}};
  for (const Fact& fact : facts) {
    EXPECT_EQ(static_cast<int>(fact.dtype), fact.value);
    EXPECT_EQ(size_of(fact.dtype), fact.bytes);
    EXPECT_STREQ(name_of(fact.dtype), fact.name);
  }
  EXPECT_EQ(size_of(static_cast<DType>(6)), 0);
}

}  // namespace
}  // namespace quire
