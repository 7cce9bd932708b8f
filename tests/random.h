// Random numbers and shapes that are functions of a seed and of logical coordinates alone.
#pragma once

#include <cstdint>

#include "tests/problem.h"

namespace quire::test {

inline constexpr int kKeyStream = 0;
inline constexpr int kValueStream = 1;
inline constexpr int kQueryStream = 2;

/// The N(0,1) value of a problem's key (kKeyStream), value or query element.
float random_normal(uint64_t seed, int stream, int64_t row_key, int64_t position, int64_t head, int64_t d);

/// A shape drawn at random: heads, head_dim, block size, lengths, layout, unmapped blocks, dtype, scale.
Shape random_shape(uint64_t seed);

}  // namespace quire::test
