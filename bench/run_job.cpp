// run_job: starts workers, listens, and decides whose fault it was when one dies or hangs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/job_json.h"
#include "bench/traffic.h"
#include "bench/worker_process.h"

namespace quire::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 100;

// Why a worker ended before it had delivered all rows.
struct Failure {
  int64_t culprit = CallMonitor::kNone;  // index of the implementation that was being called
  std::string verdict;                   // of the culprit; of every row still due where there is none
  std::string reason;
  bool from_outside = false;  // killed by somebody else
};

class JobRun {
 public:
  JobRun(const Job& job, double timeout_s, const JobEvents& events)
      : job_(job), timeout_s_(timeout_s), events_(events), kv_bytes_(traffic_of(job.workload).kv_bytes) {}

  std::vector<Row> run() {
    bool killed_before = false;
    for (std::vector<std::string> names = names_due(); !names.empty(); names = names_due()) {
      const std::optional<Failure> failure = run_worker(names);
      if (interrupted()) break;
      if (!failure.has_value()) continue;
      // Killed from outside, as by the system when memory ran out: nobody's fault until it happens again.
      if (failure->from_outside && !std::exchange(killed_before, true)) continue;
      if (failure->culprit != CallMonitor::kNone) {
        add_failed_row(names[static_cast<size_t>(failure->culprit)], *failure);
      } else {
        for (const std::string& name : names_due()) add_failed_row(name, *failure);
      }
    }
    std::vector<Row> rows;
    for (const std::string& name : job_.implementations) {
      if (const auto found = rows_.find(name); found != rows_.end()) rows.push_back(found->second);
    }
    return rows;
  }

 private:
  // The implementations that have no row yet, in order: the next worker's.
  std::vector<std::string> names_due() const {
    std::vector<std::string> names;
    std::copy_if(job_.implementations.begin(), job_.implementations.end(), std::back_inserter(names),
                 [&](const std::string& name) { return !rows_.contains(name); });
    return names;
  }

  void add_failed_row(const std::string& name, const Failure& failure) {
    Row row;
    row.implementation = name;
    row.workload = job_.workload;
    row.verdict = failure.verdict;
    row.reason = failure.reason;
    row.kv_bytes = kv_bytes_;
    rows_[name] = std::move(row);
  }

  // One worker, from start to end; or until it has delivered these rows, hangs, or is not wanted any more.
  std::optional<Failure> run_worker(const std::vector<std::string>& names) {
    Job job = job_;
    job.implementations = names;
    Result<WorkerProcess> started = WorkerProcess::start(to_json(job).dump());
    if (!started.ok()) return Failure{.verdict = "SKIP", .reason = "no worker: " + started.status().message()};
    WorkerProcess& worker = *started;
    const CallMonitor& monitor = worker.monitor();
    uint64_t calls = 0;
    Clock::time_point call_seen = Clock::now();  // when the call that is running was first seen
    while (!worker.ended()) {
      report(monitor.activity());
      const std::optional<std::string> line = worker.read_line(kPollMilliseconds);
      if (line.has_value()) take_row(*line);
      if (interrupted() || names_due().empty()) return std::nullopt;
      const int64_t running = monitor.running();
      if (running == CallMonitor::kNone || monitor.calls() != calls) call_seen = Clock::now();
      calls = monitor.calls();
      if (Clock::now() - call_seen > std::chrono::duration<double>(timeout_s_)) {
        return Failure{
            .culprit = running, .verdict = "TIMEOUT", .reason = fmt::format("no return within {:g} s", timeout_s_)};
      }
    }
    const WorkerProcess::Death death = worker.wait_for_death();
    const int64_t running = monitor.running();
    const std::string where = running == CallMonitor::kNone ? "the worker died between calls: " : "";
    return Failure{
        .culprit = running, .verdict = "CRASH", .reason = where + death.cause, .from_outside = death.from_outside};
  }

  void take_row(const std::string& line) {
    Result<Row> row = row_from_json(nlohmann::json::parse(line, nullptr, false));
    if (row.ok()) rows_[row->implementation] = std::move(*row);
  }

  void report(std::string activity) {
    if (events_.progress && activity != activity_) events_.progress(activity);
    activity_ = std::move(activity);
    if (events_.tick) events_.tick();
  }

  const Job& job_;
  double timeout_s_;
  const JobEvents& events_;
  int64_t kv_bytes_;
  std::string activity_;             // as last reported
  std::map<std::string, Row> rows_;  // by implementation
};

}  // namespace

std::vector<Row> run_job(const Job& job, double timeout_s, const JobEvents& events) {
  return JobRun(job, timeout_s, events).run();
}

}  // namespace quire::bench
