// The Checker: random sets against fp64, probes against their exact answers.
#include "bench/check.h"

#include <algorithm>
#include <utility>

#include "bench/probes.h"

namespace quire::bench {
namespace {

// One call on poisoned outputs. Empty where it succeeded and wrote nothing it must not; else why.
struct CallOutcome {
  std::string error;
  bool inputs_written = false;
};

CallOutcome call(const std::vector<Subject>& subjects, size_t i, Case& c, uint64_t inputs_hash, CallObserver& observer,
                 Executor& executor) {
  poison_output(c);
  CallOutcome outcome;
  observer.begin(i);
  const Status status = run_implementation(*subjects[i].implementation, c.spec, c.args, subjects[i].execution);
  observer.end(i);
  if (!status.ok()) outcome.error = std::string(name_of(status.code())) + ": " + status.message();
  if (hash_inputs(c, executor) != inputs_hash) {
    outcome.error = "an input was written";
    outcome.inputs_written = true;
  } else if (outcome.error.empty() && !output_gaps_intact(c)) {
    outcome.error = "memory between or behind the rows of the output was written";
  }
  return outcome;
}

void fail(Verdict& verdict, const std::string& where, const std::string& reason) {
  verdict.right = false;
  verdict.reason = where + ": " + reason;
}

}  // namespace

Checker::Checker() = default;
Checker::Checker(Checker&&) noexcept = default;
Checker& Checker::operator=(Checker&&) noexcept = default;
Checker::~Checker() = default;

Result<Checker> Checker::create(const Workload& workload, int num_sets, Executor& executor) {
  Checker checker;
  checker.workload_ = workload;
  checker.executor_ = &executor;
  for (int set = 0; set < num_sets; ++set) {
    Result<Case> c = generate(workload, set, executor);
    if (!c.ok()) return c.status();
    Result<ReferenceResult> expected = reference(c->spec, c->args, &executor);
    if (!expected.ok()) return expected.status();
    checker.hashes_.push_back(hash_inputs(*c, executor));
    checker.sets_.push_back(std::move(*c));
    checker.expected_.push_back(std::move(*expected));
  }
  Result<ProbeCase> probe_case = ProbeCase::create(workload, executor);
  if (!probe_case.ok()) return probe_case.status();
  checker.probe_case_ = std::make_unique<ProbeCase>(std::move(*probe_case));
  return checker;
}

bool Checker::inputs_intact(size_t set) const { return hash_inputs(sets_[set], *executor_) == hashes_[set]; }

void Checker::check_set(size_t set, const std::vector<Subject>& subjects, CallObserver& observer,
                        std::vector<Verdict>& verdicts) {
  const std::string where = "random set " + std::to_string(set);
  for (size_t i = 0; i < subjects.size(); ++i) {
    if (!verdicts[i].right) continue;
    observer.prepare(i, where);
    const CallOutcome outcome = call(subjects, i, sets_[set], hashes_[set], observer, *executor_);
    if (outcome.inputs_written) {
      if (Result<Case> repaired = generate(workload_, static_cast<int>(set), *executor_); repaired.ok()) {
        sets_[set] = std::move(*repaired);
      }
    }
    if (!outcome.error.empty()) {
      fail(verdicts[i], where, outcome.error);
      continue;
    }
    const Verdict found = compare(sets_[set], expected_[set]);
    verdicts[i].max_err = std::max(verdicts[i].max_err, found.max_err);
    verdicts[i].rel_l2 = std::max(verdicts[i].rel_l2, found.rel_l2);
    verdicts[i].lse_err = std::max(verdicts[i].lse_err, found.lse_err);
    if (!found.right) fail(verdicts[i], where, found.reason);
  }
}

void Checker::run_probe(const Probe& probe, int round, const std::vector<Subject>& subjects, CallObserver& observer,
                        std::vector<Verdict>& verdicts) {
  if (std::none_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.right; })) return;
  Case& c = probe_case_->problem();
  probe.write(*probe_case_, round);
  const ExactAnswer answer = answer_exactly(c, *executor_);
  const uint64_t hash = hash_inputs(c, *executor_);
  for (size_t i = 0; i < subjects.size(); ++i) {
    if (!verdicts[i].right) continue;
    observer.prepare(i, probe.name);
    CallOutcome outcome = call(subjects, i, c, hash, observer, *executor_);
    if (outcome.inputs_written) probe.write(*probe_case_, round);
    if (outcome.error.empty()) outcome.error = find_error(c, answer, probe.largest_value);
    if (!outcome.error.empty()) fail(verdicts[i], probe.name, outcome.error);
  }
}

std::vector<Verdict> Checker::check(const std::vector<Subject>& subjects, CheckDepth depth, CallObserver& observer) {
  std::vector<Verdict> verdicts(subjects.size());
  if (!sets_.empty()) check_set(0, subjects, observer, verdicts);
  for (const Probe& probe : probes_for(workload_, depth)) {
    for (int round = 0; round < probe.rounds; ++round) run_probe(probe, round, subjects, observer, verdicts);
  }
  for (size_t set = 1; set < sets_.size(); ++set) check_set(set, subjects, observer, verdicts);
  return verdicts;
}

}  // namespace quire::bench
