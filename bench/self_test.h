// `quire self-test`: does the checker find what it must? Every planted fault runs through the same workers and the same
// checks as an implementation does.
#pragma once

#include <functional>
#include <string>

#include "bench/job.h"

namespace quire::bench {

struct SelfTestOptions {
  int threads = 0;       // as in Job
  bool reduced = false;  // two contexts and one block size, for builds that a sanitizer slows down
};

/// Prints a line a problem as it goes, then the table of faults, and last whether all were caught. Returns the exit
/// code: 0 where every fault was caught and every honest implementation right, 2 where not, 130 when interrupted.
int run_self_test(const SelfTestOptions& options, const std::function<void(const std::string& text)>& print,
                  const JobEvents& events);

}  // namespace quire::bench
