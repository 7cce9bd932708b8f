// The named shapes on which every implementation must agree with the reference.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/problem.h"

namespace quire::test {

struct Case {
  std::string name;
  Shape shape;

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

std::vector<Case> conformance_cases();

/// Those few of them that together reach every loop of a kernel: for runs on each SIMD target.
std::vector<Case> core_cases();

}  // namespace quire::test
