// A fixture that runs a test once for each CPU implementation this version knows; a new one needs no line here.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "quire/quire.h"

namespace quire::test {

inline std::vector<const Implementation*> cpu_implementations() {
  std::vector<const Implementation*> found;
  for (const Implementation* candidate : implementations()) {
    if (candidate->backend == DeviceKind::kCpu) found.push_back(candidate);
  }
  return found;
}

/// The implementation's name in the letters that GoogleTest allows.
inline std::string test_name(const Implementation& implementation) {
  std::string name = implementation.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class EveryImplementation : public testing::TestWithParam<const Implementation*> {
 protected:
  void SetUp() override {
    if (implementation().unavailable != nullptr) GTEST_SKIP() << implementation().unavailable;
  }
  const Implementation& implementation() const { return *GetParam(); }
};

/// Gives the test suite `suite`, derived from EveryImplementation, its implementations.
#define QUIRE_FOR_EVERY_IMPLEMENTATION(suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(Cpu, suite, testing::ValuesIn(quire::test::cpu_implementations()),       \
                           [](const testing::TestParamInfo<const quire::Implementation*>& tested) { \
                             return quire::test::test_name(*tested.param);                          \
                           })

}  // namespace quire::test
