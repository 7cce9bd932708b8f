// The clock that all times are read from.
#pragma once

#include <chrono>

namespace quire::bench {

/// Steady clock, in microseconds. Reading it twice takes some 50 ns (`quire calibrate` says how much here): nothing
/// beside the microseconds that the shortest call takes, so that every sample is one call.
inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace quire::bench
