// Right tokens, each once: problems at a workload's shape whose exact answer is known, so that one token lost, doubled
// or taken from elsewhere shows in every storage type. docs/numerics.md explains each and derives its margins.
#pragma once

#include <vector>

#include "bench/check.h"
#include "bench/probes_answer.h"

namespace quire::bench {

/// One case's memory, which all probes write in turn: what a subject kept from an earlier call is wrong in the next.
class ProbeCase {
 public:
  static Result<ProbeCase> create(const Workload& workload, Executor& executor);

  /// Which tokens live where.
  enum class Placement : uint8_t {
    kOriginal,
    kMoved,  // every block one further, every sequence one token shorter
    kEmpty,  // every length 0, nothing but bad ids in the tables
  };
  /// Rewrites tables and lengths in place, poisons all of K, V and query, and resets the scale to the default.
  void place(Placement placement);

  Case& problem() { return case_; }
  const Workload& workload() const { return workload_; }
  Executor& executor() const { return *executor_; }

 private:
  ProbeCase() = default;
  Workload workload_;
  Executor* executor_ = nullptr;
  Case case_;
  std::vector<int32_t> block_tables_;  // as generated, [batch_size, block_tables_stride]
};

/// One kind of problem. A round is one problem of its kind; `rounds` of them show what one cannot.
struct Probe {
  const char* name;
  int rounds;
  double largest_value;                         // the largest |V| of a token that counts
  void (*write)(ProbeCase& target, int round);  // writes everything: placement, K, V, query, scale
};

/// The probes for this workload, those that find most first.
std::vector<Probe> probes_for(const Workload& workload, CheckDepth depth);

}  // namespace quire::bench
