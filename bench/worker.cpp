// The worker process: does one job, reports its rows, and is expendable.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/clock.h"
#include "bench/environment.h"
#include "bench/faults.h"
#include "bench/job_json.h"
#include "bench/measure.h"
#include "bench/numbers.h"
#include "bench/parallel.h"
#include "bench/pinned_pool.h"
#include "bench/traffic.h"
#include "bench/worker_process.h"

namespace quire::bench {
namespace {

// Sets of inputs, between which a result that is kept from one is not right for the next.
constexpr int kCheckedSets = 2;
constexpr int kMeasuredSets = 3;

class Worker : private CallObserver {
 public:
  Worker(const Job& job, CallMonitor& monitor) : job_(job), monitor_(monitor), pool_(job.threads) {
    const int64_t kv_bytes = traffic_of(job.workload).kv_bytes;
    for (const std::string& name : job.implementations) {
      Row row;
      row.implementation = name;
      row.workload = job.workload;
      row.kv_bytes = kv_bytes;
      rows_.push_back(std::move(row));
    }
    first_call_us_.resize(rows_.size());
  }

  void run() {
    monitor_.set_activity("generating inputs and their references");
    Result<Checker> checker = create_checker();
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (checker.ok())
        prepare_subject(i, checker->sets().front().spec);
      else
        skip(rows_[i], checker.status().message());
    }
    if (!subjects_.empty()) check(*checker);
    if (!subjects_.empty() && job_.measure.has_value()) measure_right_ones(*checker);
  }

 private:
  // Rows are sent as soon as they are final: should the worker die, they need not be made again.
  void finish(Row& row, const char* verdict, const std::string& reason) {
    row.verdict = verdict;
    row.reason = reason;
    // Failure means that the parent is gone, and with it the reason to go on.
    if (!write_all(results_, to_json(row).dump() + '\n').ok()) _exit(1);
  }

  void skip(Row& row, const std::string& reason) { finish(row, "SKIP", reason); }

  // Why so many bytes are too many; empty where they are not. Asked before memory is allocated: the system promises
  // more than it has, and ends the process that comes to use it.
  static std::string shortage(const char* what, int64_t bytes) {
    const int64_t available = available_memory_bytes();
    if (bytes <= available) return "";
    return fmt::format("{} needs {}, {} of memory are available", what, byte_text(static_cast<double>(bytes)),
                       byte_text(static_cast<double>(available)));
  }

  Result<Checker> create_checker() {
    const int sets = job_.measure.has_value() ? kMeasuredSets : kCheckedSets;
    const int64_t bytes = (sets + 1) * case_bytes(job_.workload);  // the checker has one more case, the probes'
    if (const std::string reason = shortage("this problem", bytes); !reason.empty()) {
      return Status(StatusCode::kInternal, reason);
    }
    return Checker::create(job_.workload, sets, pool_.executor());
  }

  const Implementation* find(const std::string& name) const {
    const Implementation* implementation = find_implementation(name);
    return implementation == nullptr && job_.with_faults ? find_fault(name) : implementation;
  }

  // Makes the row's implementation a subject with a workspace of its own, or the row a SKIP.
  void prepare_subject(size_t row, const AttentionSpec& spec) {
    const Implementation* implementation = find(rows_[row].implementation);
    if (implementation == nullptr) return skip(rows_[row], "unknown implementation");
    monitor_.begin(static_cast<int64_t>(row));
    const Result<size_t> bytes = workspace_bytes(*implementation, spec, &pool_.executor());
    monitor_.end();
    if (!bytes.ok()) return skip(rows_[row], bytes.status().message());
    std::string reason = shortage("its workspace", static_cast<int64_t>(*bytes));
    HostBuffer workspace;
    if (reason.empty()) {
      workspace = HostBuffer::allocate(*bytes);
      if (workspace.data() == nullptr) reason = fmt::format("no memory for {} bytes of workspace", *bytes);
    }
    if (!reason.empty()) return skip(rows_[row], reason);
    poison(workspace);
    MeasuredSubject& added = subjects_.emplace_back();
    added.subject = {implementation, {{workspace.data(), *bytes}, &pool_.executor(), nullptr}};
    added.timing.workspace_bytes = static_cast<int64_t>(*bytes);
    row_of_subject_.push_back(row);
    workspaces_.push_back(std::move(workspace));
  }

  // No result may depend on what a workspace holds. Writing it also makes its pages exist.
  void poison(const HostBuffer& workspace) {
    constexpr size_t kChunkBytes = size_t{1} << 20;
    const size_t chunks = (workspace.bytes() + kChunkBytes - 1) / kChunkBytes;
    parallel_for(pool_.executor(), static_cast<int64_t>(chunks), [&](int64_t chunk) {
      const size_t begin = static_cast<size_t>(chunk) * kChunkBytes;
      std::fill_n(workspace.data() + begin, std::min(kChunkBytes, workspace.bytes() - begin), std::byte{0xFF});
    });
  }

  // Gives each subject's row its verdict. Those that are still to be measured remain subjects.
  void check(Checker& checker) {
    std::vector<Subject> checked;
    for (const MeasuredSubject& s : subjects_) checked.push_back(s.subject);
    const std::vector<Verdict> verdicts = checker.check(checked, job_.depth, *this);
    std::vector<MeasuredSubject> right;
    std::vector<size_t> row_of_right;
    for (size_t i = 0; i < verdicts.size(); ++i) {
      Row& row = rows_[row_of_subject_[i]];
      row.max_err = verdicts[i].max_err;
      row.rel_l2 = verdicts[i].rel_l2;
      row.lse_err = verdicts[i].lse_err;
      if (!verdicts[i].right) {
        finish(row, "NO", verdicts[i].reason);
      } else if (job_.measure.has_value()) {
        right.push_back(std::move(subjects_[i]));
        row_of_right.push_back(row_of_subject_[i]);
      } else {
        finish(row, "yes", "");
      }
    }
    subjects_ = std::move(right);
    row_of_subject_ = std::move(row_of_right);
  }

  void measure_right_ones(Checker& checker) {
    const Floors floors = measure(checker, subjects_, *job_.measure, job_.baseline, pool_.executor(), *this);
    bool intact = true;
    for (size_t set = 0; set < checker.sets().size(); ++set) intact = intact && checker.inputs_intact(set);
    for (size_t i = 0; i < subjects_.size(); ++i) {
      Row& row = rows_[row_of_subject_[i]];
      row.floors = floors;
      if (!subjects_[i].wrong.empty()) {
        finish(row, "NO", subjects_[i].wrong);
      } else if (!intact) {
        // Nobody knows whose write it was, and none of the times is of the problem that was posed.
        finish(row, "NO", "an input was written while the implementations were timed");
      } else {
        row.timing = std::move(subjects_[i].timing);
        row.timing->first_call_us = *first_call_us_[row_of_subject_[i]];
        finish(row, "yes", "");
      }
    }
  }

  // CallObserver: the monitor, and the time of each first call, which is in no other statistics.
  void prepare(size_t subject, const std::string& purpose) override {
    monitor_.set_activity(purpose + ": " + rows_[row_of_subject_[subject]].implementation);
  }
  void begin(size_t subject) override {
    monitor_.begin(static_cast<int64_t>(row_of_subject_[subject]));
    call_begun_us_ = now_us();
  }
  void end(size_t subject) override {
    std::optional<double>& first_call_us = first_call_us_[row_of_subject_[subject]];
    if (!first_call_us.has_value()) first_call_us = now_us() - call_begun_us_;
    monitor_.end();
  }

  const Job& job_;
  CallMonitor& monitor_;
  FileDescriptor results_{kWorkerResults};
  PinnedPool pool_;
  std::vector<Row> rows_;
  std::vector<std::optional<double>> first_call_us_;  // of each row
  double call_begun_us_ = 0;
  std::vector<MeasuredSubject> subjects_;
  std::vector<size_t> row_of_subject_;
  std::vector<HostBuffer> workspaces_;
};

std::string read_standard_input() {
  std::string text;
  char buffer[65536];
  for (ssize_t got = 0; (got = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

int worker_main() {
  CallMonitor* monitor = CallMonitor::map(kWorkerMonitor);
  if (monitor == nullptr) {
    std::fputs("quire worker: started by other commands, not by hand\n", stderr);
    return 1;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != monitor->parent()) return 1;  // it died before it could be told to take us along
  // A core file would be as large as the caches, and nobody asked for one.
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const Result<Job> job = job_from_json(nlohmann::json::parse(read_standard_input(), nullptr, false));
  if (!job.ok()) {
    std::fprintf(stderr, "quire worker: bad job: %s\n", job.status().message().c_str());
    return 1;
  }
  Worker(*job, *monitor).run();
  return 0;
}

}  // namespace quire::bench
