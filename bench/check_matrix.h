// The problems of `quire check`: small, and between them every way a problem may differ from the bench's.
#pragma once

#include <string>
#include <vector>

#include "bench/workload.h"

namespace quire::bench {

struct NamedWorkload {
  std::string name;
  Workload workload;
};

/// All of them, in fp32, fp16 and bf16, drawn from `seed`.
std::vector<NamedWorkload> check_matrix(uint64_t seed);

}  // namespace quire::bench
