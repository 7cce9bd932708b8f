// The definition of correct: decode in fp64, in plain loops.
#pragma once

#include <vector>

#include "quire/attention.h"

namespace quire {

/// Exact results for one decode step, up to fp64 rounding.
struct ReferenceResult {
  std::vector<double> output;  // [batch_size, num_heads, head_dim], dense
  std::vector<double> lse;     // [batch_size, num_heads]; -inf for an empty row
  /// [batch_size, num_heads]: N = sqrt(sum_t p_t^2 ||V[t]||^2), the size an output of random V would have. Errors are
  /// measured against max(||output||, N), since outputs may cancel to zero.
  std::vector<double> norm;
};

/// Computes the step in fp64 from the stored values; args.output and args.lse may be null and are not written.
/// Host memory only. Errors as for decode() on the CPU.
Result<ReferenceResult> reference(const AttentionSpec& spec, const AttentionArgs& args, Executor* executor = nullptr);

}  // namespace quire
