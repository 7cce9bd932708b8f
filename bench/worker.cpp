// The worker process: does one job, reports each row, and is expendable.
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "bench/environment.h"
#include "bench/faults.h"
#include "bench/job_json.h"
#include "bench/limits.h"
#include "bench/measure.h"
#include "bench/traffic.h"
#include "bench/worker_process.h"

namespace quire::bench {
namespace {

constexpr int kMeasuredSets = 3;  // inputs rotate over so many while measuring
constexpr int kCheckedSets = 2;
constexpr double kProgressIntervalUs = 250'000;

// Lines to the parent.
class Results {
 public:
  void row(const Row& row) const { send({{"row", to_json(row)}}); }

  // At most a few a second: each wakes the parent, which takes processor time from what is measured.
  void progress(const std::string& text) {
    if (now_us() - last_progress_us_ < kProgressIntervalUs) return;
    last_progress_us_ = now_us();
    send({{"progress", text}});
  }

 private:
  void send(const nlohmann::json& message) const {
    // Failure means that the parent is gone, and with it the reason to go on.
    if (!write_all(out_, message.dump() + "\n").ok()) _exit(1);
  }

  FileDescriptor out_{kWorkerResults};
  double last_progress_us_ = 0;
};

// The calling thread becomes thread 0 of the pool: the first processor it may use.
void pin_to_first_processor() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

std::string read_standard_input() {
  std::string text;
  char buffer[65536];
  for (ssize_t got = 0; (got = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

class Worker {
 public:
  Worker(const Job& job, CallMonitor& monitor) : job_(job), monitor_(monitor), pool_(job.threads, true) {
    pin_to_first_processor();
    for (const std::string& name : job.implementations) {
      Row row;
      row.implementation = name;
      row.workload = job.workload;
      rows_.push_back(std::move(row));
    }
  }

  void run() {
    results_.progress("generating inputs and their references");
    const int sets = job_.measure.has_value() ? kMeasuredSets : kCheckedSets;
    Result<Checker> checker = Checker::create(job_.workload, sets, pool_);
    if (!checker.ok()) {
      for (Row& row : rows_) skip(row, checker.status().message());
    } else {
      const Case& first = checker->sets().front();
      const Traffic traffic = traffic_of(first.spec, first.table_row(0), first.context_lens_data());
      for (Row& row : rows_) row.kv_bytes = traffic.kv_bytes;
      prepare_subjects(*checker);
      check_and_measure(*checker);
    }
    for (const Row& row : rows_) results_.row(row);
  }

 private:
  static void skip(Row& row, const std::string& reason) {
    row.verdict = "SKIP";
    row.reason = reason;
  }

  static void fail(Row& row, const std::string& reason) {
    row.verdict = "NO";
    row.reason = reason;
    row.timing.reset();
  }

  const Implementation* find(const std::string& name) const {
    const Implementation* implementation = find_implementation(name);
    return implementation == nullptr && job_.with_faults ? find_fault(name) : implementation;
  }

  // Subjects for the rows that can run here, each with its own workspace; the others become SKIP.
  void prepare_subjects(const Checker& checker) {
    const AttentionSpec& spec = const_cast<Checker&>(checker).sets().front().spec;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Implementation* implementation = find(rows_[i].implementation);
      if (implementation == nullptr) {
        skip(rows_[i], "unknown implementation");
        continue;
      }
      if (const Status s = check_support(*implementation, spec); !s.ok()) {
        skip(rows_[i], s.message());
        continue;
      }
      const Result<size_t> bytes = workspace_bytes(*implementation, spec, &pool_);
      if (!bytes.ok()) {
        skip(rows_[i], bytes.status().message());
        continue;
      }
      HostBuffer workspace;
      if (*bytes > 0) {
        if (*bytes < static_cast<size_t>(std::max<int64_t>(0, available_memory_bytes()))) {
          workspace = HostBuffer::allocate(*bytes);
        }
        if (workspace.data() == nullptr) {
          skip(rows_[i], fmt::format("needs {:.1f} GB of workspace, more than is free", static_cast<double>(*bytes) / 1e9));
          continue;
        }
      }
      Subject subject{implementation, {{workspace.data(), *bytes}, &pool_, nullptr}};
      subjects_.push_back({.subject = subject, .timing = {}, .wrong = {}});
      subjects_.back().timing.workspace_bytes = static_cast<int64_t>(*bytes);
      row_of_subject_.push_back(i);
      workspaces_.push_back(std::move(workspace));
    }
  }

  void begin_call(size_t subject) { monitor_.begin(static_cast<int64_t>(row_of_subject_[subject])); }

  void check_and_measure(Checker& checker) {
    if (job_.measure.has_value()) time_first_calls(checker.sets().front());
    std::vector<Subject> checked;
    for (const MeasuredSubject& s : subjects_) checked.push_back(s.subject);
    const std::vector<Verdict> verdicts =
        checker.check(checked, job_.depth, [&](size_t i, const char* probe) {
          begin_call(i);
          results_.progress(fmt::format("checking {}: {}", rows_[row_of_subject_[i]].implementation, probe));
        });
    monitor_.end();
    std::vector<MeasuredSubject> right;
    std::vector<size_t> row_of_right;
    for (size_t i = 0; i < verdicts.size(); ++i) {
      Row& row = rows_[row_of_subject_[i]];
      row.verdict = verdicts[i].right ? "yes" : "NO";
      row.reason = verdicts[i].reason;
      row.max_err = verdicts[i].max_err;
      row.rel_l2 = verdicts[i].rel_l2;
      row.lse_err = verdicts[i].lse_err;
      if (!verdicts[i].right) continue;
      right.push_back(subjects_[i]);
      row_of_right.push_back(row_of_subject_[i]);
    }
    if (!job_.measure.has_value() || right.empty()) return;
    row_of_subject_ = row_of_right;
    measure_right(checker, right);
  }

  void time_first_calls(Case& c) {
    for (size_t i = 0; i < subjects_.size(); ++i) {
      begin_call(i);
      const double start = now_us();
      // A failure shows again, with its message, as soon as the checker calls.
      (void)run_implementation(*subjects_[i].subject.implementation, c.spec, c.args, subjects_[i].subject.execution);
      subjects_[i].timing.first_call_us = now_us() - start;
    }
    monitor_.end();
  }

  void measure_right(Checker& checker, std::vector<MeasuredSubject>& right) {
    const CallHooks hooks = {.begin = [&](size_t i) { begin_call(i); },
                             .end = [&] { monitor_.end(); },
                             .progress = [&](const std::string& text) { results_.progress(text); }};
    const Floors floors = measure(checker, right, *job_.measure, job_.baseline, pool_, hooks);
    bool intact = true;
    for (size_t set = 0; set < checker.sets().size(); ++set) intact = intact && checker.inputs_intact(set);
    for (size_t i = 0; i < right.size(); ++i) {
      Row& row = rows_[row_of_subject_[i]];
      row.floors = floors;
      row.timing = right[i].timing;
      if (!right[i].wrong.empty()) fail(row, right[i].wrong);
      else if (!intact) fail(row, "an input was written while the implementations were timed");
    }
  }

  const Job& job_;
  CallMonitor& monitor_;
  Results results_;
  ThreadPool pool_;
  std::vector<Row> rows_;
  std::vector<MeasuredSubject> subjects_;
  std::vector<size_t> row_of_subject_;
  std::vector<HostBuffer> workspaces_;
};

}  // namespace

int worker_main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  CallMonitor* monitor = CallMonitor::map(kWorkerMonitor);
  if (monitor == nullptr) {
    std::fputs("quire worker: started by other commands, not by hand\n", stderr);
    return 1;
  }
  const Result<Job> job = job_from_json(nlohmann::json::parse(read_standard_input(), nullptr, false));
  if (!job.ok()) {
    std::fprintf(stderr, "quire worker: bad job: %s\n", job.status().message().c_str());
    return 1;
  }
  Worker(*job, *monitor).run();
  return 0;
}

}  // namespace quire::bench
