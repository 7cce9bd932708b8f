// The right answer to a probe, known exactly, and whether a call gave it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/generate.h"

namespace quire::bench {

/// The result of a step in which each token's logit is either its row's largest or so far below it that its weight is 0
/// in fp32, and in which values are small integers: softmax becomes a plain mean over the tokens at the maximum, and
/// every sum on the way is exact in fp32, in whatever order a kernel adds and however it splits.
struct ExactAnswer {
  std::vector<int64_t> count;  // [batch_size, num_heads]; tokens at the maximum, 0 for an empty row
  std::vector<double> logit;   // [batch_size, num_heads]; the maximum
  std::vector<double> sum;     // [batch_size, num_heads, head_dim]; of their values: an integer
  double gap = 0;              // from a maximum to the next lower logit, the smallest of all rows
};

/// Reads the answer off the stored tensors of `c`.
ExactAnswer answer_exactly(const Case& c, Executor& executor);

/// Empty where the output and lse in `c` are the answer's up to honest rounding; else names the first coordinate that
/// is not. `largest_value` is the largest |V| of a token that counts. docs/numerics.md derives the margins.
std::string find_error(const Case& c, const ExactAnswer& answer, double largest_value);

}  // namespace quire::bench
