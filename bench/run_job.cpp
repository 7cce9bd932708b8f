// run_job: starts workers, listens, and decides whose fault it was when one dies or hangs.
#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "bench/job_json.h"
#include "bench/worker_process.h"

namespace quire::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 100;
// A worker that is busy with data of its own, not with an implementation, may be silent for so long.
constexpr double kSilenceS = 600;

// How one worker ended.
struct Ending {
  bool complete = false;  // it delivered all rows
  int64_t culprit = -1;   // index of the implementation that was running, or none
  std::string verdict = {};  // of the culprit; of all rows where there is none
  std::string reason = {};
};

class JobRun {
 public:
  JobRun(const Job& job, double timeout_s, const JobEvents& events)
      : job_(job), timeout_s_(timeout_s), events_(events) {}

  std::vector<Row> run() {
    while (remaining().size() > 0 && !interrupted()) {
      const Ending ending = run_worker();
      if (ending.complete) break;
      if (interrupted()) return {};
      if (ending.culprit < 0) {
        for (const std::string& name : remaining()) rows_[name] = failed_row(name, ending);
      } else {
        const std::string& culprit = remaining()[static_cast<size_t>(ending.culprit)];
        rows_[culprit] = failed_row(culprit, ending);
      }
    }
    std::vector<Row> rows;
    for (const std::string& name : job_.implementations) {
      if (const auto found = rows_.find(name); found != rows_.end()) rows.push_back(found->second);
    }
    return rows;
  }

 private:
  // Names that have no row yet, in order: the next worker's.
  std::vector<std::string> remaining() const {
    std::vector<std::string> names;
    std::copy_if(job_.implementations.begin(), job_.implementations.end(), std::back_inserter(names),
                 [&](const std::string& name) { return !rows_.contains(name); });
    return names;
  }

  Row failed_row(const std::string& name, const Ending& ending) const {
    Row row;
    row.implementation = name;
    row.workload = job_.workload;
    row.verdict = ending.verdict;
    row.reason = ending.reason;
    return row;
  }

  Ending run_worker() {
    Job job = job_;
    job.implementations = remaining();
    Result<WorkerProcess> started = WorkerProcess::start(to_json(job).dump());
    if (!started.ok()) return {.verdict = "SKIP", .reason = "no worker: " + started.status().message()};
    WorkerProcess& worker = *started;
    std::vector<Row> rows;
    Clock::time_point last_sign_of_life = Clock::now();
    uint64_t calls = 0;
    while (!worker.ended()) {
      const std::optional<std::string> line = worker.read_line(kPollMilliseconds);
      if (events_.tick) events_.tick();
      if (interrupted()) return {};
      const uint64_t calls_now = worker.monitor().calls.load(std::memory_order_relaxed);
      if (line.has_value() || calls_now != calls) last_sign_of_life = Clock::now();
      calls = calls_now;
      if (line.has_value()) take(*line, rows);
      if (std::optional<Ending> hang = find_hang(worker, last_sign_of_life); hang.has_value()) return *hang;
    }
    const int64_t culprit = worker.monitor().running.load(std::memory_order_relaxed);
    const std::string cause = worker.cause_of_death();
    if (cause.empty() && rows.size() == job.implementations.size()) {
      for (Row& row : rows) rows_[row.implementation] = std::move(row);
      return {.complete = true};
    }
    const std::string where = culprit < 0 ? "the worker died while preparing data: " : "";
    return {.culprit = culprit, .verdict = "CRASH", .reason = where + (cause.empty() ? "ended early" : cause)};
  }

  // A call that has been going on for longer than allowed.
  std::optional<Ending> find_hang(WorkerProcess& worker, Clock::time_point last_sign_of_life) const {
    const int64_t running = worker.monitor().running.load(std::memory_order_relaxed);
    const double silent_s = std::chrono::duration<double>(Clock::now() - last_sign_of_life).count();
    if (silent_s < (running < 0 ? std::max(kSilenceS, timeout_s_) : timeout_s_)) return std::nullopt;
    worker.kill();
    if (running < 0) return Ending{.verdict = "TIMEOUT", .reason = "the worker stopped while preparing data"};
    return Ending{.culprit = running, .verdict = "TIMEOUT", .reason = fmt::format("no return within {:g} s", timeout_s_)};
  }

  // One line of a worker: {"progress": text} or {"row": row}.
  void take(const std::string& line, std::vector<Row>& rows) const {
    const nlohmann::json message = nlohmann::json::parse(line, nullptr, false);
    if (const auto text = message.find("progress"); text != message.end() && text->is_string()) {
      if (events_.progress) events_.progress(text->get<std::string>());
    } else if (const auto row = message.find("row"); row != message.end()) {
      if (Result<Row> read = row_from_json(*row); read.ok()) rows.push_back(std::move(*read));
    }
  }

  const Job& job_;
  double timeout_s_;
  const JobEvents& events_;
  std::map<std::string, Row> rows_;  // by implementation
};

}  // namespace

std::vector<Row> run_job(const Job& job, double timeout_s, const JobEvents& events) {
  return JobRun(job, timeout_s, events).run();
}

}  // namespace quire::bench
