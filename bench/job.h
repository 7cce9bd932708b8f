// What a worker process is asked to do for one point, and the rows it gives back. Both travel as JSON.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/check.h"
#include "bench/workload.h"

namespace quire::bench {

/// How long and what to measure at each point.
struct MeasureOptions {
  bool cold = true;
  bool hot = true;
  std::optional<int64_t> iters;  // exactly so many samples; unset: until the interval is narrow or the budget ends
  int64_t warmup = 10;           // at most; fewer where one call is long
  double ci = 0.01;              // half-width of the median's 95 % confidence interval, relative
  double budget_s = 20;          // for one point
};

struct Job {
  Workload workload;
  std::vector<std::string> implementations;  // names, in row order
  std::string baseline;                      // name; empty: the first row that ran
  CheckDepth depth = CheckDepth::kPoint;
  std::optional<MeasureOptions> measure;  // unset: check only
  int threads = 0;                        // 0: available_threads()
  bool with_faults = false;               // names of planted faults are known too (self-test)
};

/// One row of a report. JSON keys are the field names; a time that was not taken is null there.
struct Row {
  std::string implementation;
  std::string device;  // "cpu"
  Workload workload;
  std::string verdict;  // "yes", "NO", "CRASH", "TIMEOUT", "SKIP"
  std::string reason;
  std::optional<double> max_err, rel_l2, lse_err;
  nlohmann::json timing;  // filled by the measurement: bench/measure.h
};

/// Told of progress while jobs run; any may be empty.
struct JobEvents {
  std::function<void(const Row&)> row;
  std::function<void(const std::string& text)> progress;  // what is being done now
};

/// Runs one job in worker processes (exec of this tool): a crash or a hang costs the row of the implementation that was
/// running, and a new worker goes on without it. `timeout_s` bounds one call of an implementation.
std::vector<Row> run_job(const Job& job, double timeout_s, const JobEvents& events);

}  // namespace quire::bench
