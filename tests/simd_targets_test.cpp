// Every instruction set this build has code for and this processor runs is right, not only the best one.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/accuracy.h"
#include "tests/cases.h"
#include "tests/every_implementation.h"
#include "tests/problem.h"
#include "tests/simd_target.h"

namespace quire::test {
namespace {

class SimdTargets : public testing::TestWithParam<std::tuple<const Implementation*, int64_t>> {};

TEST_P(SimdTargets, agree_with_the_reference) {
  const auto& [implementation, target] = GetParam();
  if (implementation->unavailable != nullptr) GTEST_SKIP() << implementation->unavailable;
  for (const Case& c : core_cases()) {
    Problem problem(c.shape);
    const ReferenceResult expected = problem.reference();
    const OnlySimdTarget only(target);
    EXPECT_TRUE(agrees(problem.run(*implementation), expected, problem.spec())) << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, SimdTargets,
                         testing::Combine(testing::ValuesIn(cpu_implementations()), testing::ValuesIn(simd_targets())),
                         [](const testing::TestParamInfo<SimdTargets::ParamType>& tested) {
                           return test_name(*std::get<0>(tested.param)) + "__" +
                                  simd_target_name(std::get<1>(tested.param));
                         });

}  // namespace
}  // namespace quire::test
