// Every instruction set this build has code for and this processor runs is right, not only the best one.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <string>
#include <vector>

#include "tests/accuracy.h"
#include "tests/cases.h"
#include "tests/every_implementation.h"
#include "tests/problem.h"

namespace quire::test {
namespace {

// While it lives, Highway dispatches to this target alone.
class OnlyTarget {
 public:
  explicit OnlyTarget(int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~OnlyTarget() { hwy::SetSupportedTargetsForTest(0); }
};

class SimdTargets : public EveryImplementation {};

QUIRE_FOR_EVERY_IMPLEMENTATION(SimdTargets);

TEST_P(SimdTargets, all_agree_with_the_reference) {
  std::vector<Problem> problems;
  std::vector<ReferenceResult> expected;
  const std::vector<Case> cases = core_cases();
  for (const Case& c : cases) {
    problems.emplace_back(c.shape);
    expected.push_back(problems.back().reference());
  }
  const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  ASSERT_FALSE(targets.empty());
  for (const int64_t target : targets) {
    const OnlyTarget only(target);
    for (size_t i = 0; i < problems.size(); ++i) {
      EXPECT_TRUE(agrees(problems[i].run(implementation()), expected[i], problems[i].spec()))
          << hwy::TargetName(target) << ", " << cases[i].name;
    }
  }
}

TEST(Convert, gives_the_same_bits_on_every_simd_target) {
  std::vector<float> values;
  for (int i = 0; i < 200003; ++i) values.push_back(random_normal(1, 0, i, 0, 0, 0) * (i % 2 == 0 ? 1.0f : 1e-5f));
  values.insert(values.end(), {0.0f, -0.0f, kInfinity, -kInfinity, 65519.996f, 65520.0f, 1e-40f, 3e38f});
  const auto count = static_cast<int64_t>(values.size());
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    std::vector<uint16_t> first_bits;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      const OnlyTarget only(target);
      std::vector<uint16_t> bits(values.size());
      std::vector<float> widened(values.size());
      from_f32(dtype, values.data(), bits.data(), count);
      if (first_bits.empty()) first_bits = bits;
      ASSERT_EQ(bits, first_bits) << name_of(dtype) << " on " << hwy::TargetName(target);
      to_f32(dtype, bits.data(), widened.data(), count);
      std::vector<uint16_t> back(values.size());
      from_f32(dtype, widened.data(), back.data(), count);
      ASSERT_EQ(back, bits) << name_of(dtype) << " on " << hwy::TargetName(target);
    }
  }
}

}  // namespace
}  // namespace quire::test
