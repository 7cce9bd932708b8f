// What the tests of laws share: a fixture that tries a law on random problems.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "tests/every_implementation.h"
#include "tests/problem.h"
#include "tests/random.h"

namespace quire::test {

class Invariants : public EveryImplementation {
 protected:
  static constexpr uint64_t kSeeds = kReducedTests ? 3 : 16;
  static constexpr uint64_t kFirstSeed = 1000;

  // Calls body(shape) for random shapes.
  template <typename Body>
  static void for_random_shapes(Body body) {
    for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed) {
      SCOPED_TRACE("random_shape(" + std::to_string(seed) + ")");
      body(random_shape(seed));
    }
  }

  Answer run(Shape shape) const { return Problem(std::move(shape)).run(implementation()); }
};

}  // namespace quire::test
