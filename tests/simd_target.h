// Runs code on a chosen SIMD target instead of the best one.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

namespace quire::test {

/// Every target that this build has code for and this processor runs.
inline std::vector<int64_t> simd_targets() { return hwy::SupportedAndGeneratedTargets(); }

inline std::string simd_target_name(int64_t target) { return hwy::TargetName(target); }

/// While it lives, calls are dispatched to this target alone.
class OnlySimdTarget {
 public:
  explicit OnlySimdTarget(int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~OnlySimdTarget() { hwy::SetSupportedTargetsForTest(0); }
  OnlySimdTarget(const OnlySimdTarget&) = delete;
  OnlySimdTarget& operator=(const OnlySimdTarget&) = delete;
};

}  // namespace quire::test
