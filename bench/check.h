// Correct before timed: is an implementation's result right, and how do we know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/generate.h"

namespace quire::bench {

/// What a check found. `reason` says, where not right, which probe or gate failed and at which coordinate.
struct Verdict {
  bool right = true;
  std::string reason;
  double max_err = 0;  // largest |output - reference| over the random sets
  double rel_l2 = 0;   // the contract's error, the worst over sequences and heads of the random sets
  double lse_err = 0;  // largest |lse - reference|
};

/// Compares the output and lse a call left in `c` with its reference: NaN in kind, then the accuracy gates.
Verdict compare(const Case& c, const ReferenceResult& expected);

/// An implementation under check, with what it runs on.
struct Subject {
  const Implementation* implementation = nullptr;
  Execution execution;
};

enum class CheckDepth : uint8_t {
  kPoint,  // at a bench point and in long self-tests: each probe once
  kFull,   // `check` and short self-tests: as often as it takes to ask for every token and needle position
};

/// Told of every call of a subject: for progress, and to know whom to blame for a call that does not come back.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  /// The call is next, once its inputs are ready. `purpose` says what for: a probe's name, or "cold round 7".
  virtual void prepare(size_t /*subject*/, const std::string& /*purpose*/) {}
  virtual void begin(size_t /*subject*/) {}
  virtual void end(size_t /*subject*/) {}
};

class ProbeCase;
struct Probe;

/// The random sets of a workload with their references, and the probes of docs/contract.md at its shape.
class Checker {
 public:
  /// Generates `num_sets` cases with their references, and memory for the probes' case. Fails where memory is short.
  static Result<Checker> create(const Workload& workload, int num_sets, Executor& executor);

  /// Runs every probe and every random set on each subject; one verdict each. A subject found wrong is not run again.
  /// The first random set comes first, so that every verdict has its errors; one that wrote an input has it repaired.
  std::vector<Verdict> check(const std::vector<Subject>& subjects, CheckDepth depth, CallObserver& observer);

  std::vector<Case>& sets() { return sets_; }
  const std::vector<Case>& sets() const { return sets_; }
  const ReferenceResult& expected(size_t set) const { return expected_[set]; }
  /// True while the inputs of a set hash as they did when it was made.
  bool inputs_intact(size_t set) const;

  Checker(Checker&&) noexcept;
  Checker& operator=(Checker&&) noexcept;
  ~Checker();

 private:
  Checker();
  void check_set(size_t set, const std::vector<Subject>& subjects, CallObserver& observer,
                 std::vector<Verdict>& verdicts);
  void run_probe(const Probe& probe, int round, const std::vector<Subject>& subjects, CallObserver& observer,
                 std::vector<Verdict>& verdicts);

  Workload workload_;
  Executor* executor_ = nullptr;
  std::vector<Case> sets_;
  std::vector<ReferenceResult> expected_;
  std::vector<uint64_t> hashes_;  // of each set's inputs
  std::unique_ptr<ProbeCase> probe_case_;
};

}  // namespace quire::bench
