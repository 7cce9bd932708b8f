// What is asked for one point, and what comes back: the words that the command line, the worker processes and the
// reports share. All of it travels as JSON (job_json.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/check.h"
#include "bench/workload.h"

namespace quire::bench {

/// What to measure at a point, and for how long.
struct MeasureOptions {
  bool cold = true;
  bool hot = true;
  std::optional<int64_t> iters;  // exactly so many samples; unset: until the interval is narrow or the budget ends
  int64_t warmup = 10;           // calls before the first sample, at most; fewer where a call is long
  double ci = 0.01;              // stop at this relative half-width of the median's 95 % confidence interval
  double budget_s = 15;          // for one point, all implementations together
};

/// The order to a worker: one point, its implementations, how deep to check and whether to measure.
struct Job {
  Workload workload;
  std::vector<std::string> implementations;  // names, in row order
  std::string baseline;                      // what speedups are against; empty: the first row that ran
  CheckDepth depth = CheckDepth::kPoint;
  std::optional<MeasureOptions> measure;  // unset: check only
  int threads = 0;                        // 0: available_threads()
  bool with_faults = false;               // the planted faults of self-test are known by name too
};

/// A median with its 95 % confidence interval, from order statistics.
struct Interval {
  double low = 0, median = 0, high = 0;
};

/// Raw samples of one thing at one point, in the order taken, and their median.
struct Series {
  std::vector<double> samples_us;
  Interval us;
};

/// The times of one implementation at one point. Speedups are medians of per-round ratios against the baseline.
struct Timing {
  std::optional<Series> cold, hot;
  std::optional<Interval> cold_speedup, hot_speedup;
  double first_call_us = 0;  // outside all statistics
  int64_t workspace_bytes = 0;
  std::string stopped_by;            // "ci", "budget", "iters" or "rounds" (the most there are)
  bool impossible = false;           // faster than reading its bytes can be: the measurement is not to be trusted
  bool from_cache = false;           // its rate is above the measured memory rate: the cache was read
  int64_t involuntary_switches = 0;  // while its samples were taken
};

/// What a point costs at least, measured in the same rounds as the rows.
struct Floors {
  std::map<std::string, Series> stream;  // each contiguous read kernel over as many bytes
  std::map<std::string, Series> paged;   // each paged read kernel through the same table
  std::string best_stream, best_paged;   // keys of the fastest
  Interval floor_us, paged_floor_us;     // their medians
  double fma_floor_us = 0;               // the point's multiply-adds at the measured peak rate
  double fma_per_us = 0;                 // that rate, all threads
  double steal_share = 0;                // of processor time while measuring, taken by the hypervisor
};

/// One row of a report.
struct Row {
  std::string implementation;
  std::string device = "cpu";
  Workload workload;
  std::string verdict;  // "yes", "NO", "CRASH", "TIMEOUT" or "SKIP"
  std::string reason;   // why, where the verdict is not "yes"
  std::optional<double> max_err, rel_l2, lse_err;
  int64_t kv_bytes = 0;          // that decode must read: live tokens' keys and values
  std::optional<Timing> timing;  // only where the verdict is "yes"
  std::optional<Floors> floors;  // the point's; the same in each of its rows
};

/// Told of progress while a job runs; either may be empty.
struct JobEvents {
  std::function<void(const std::string& text)> progress;  // what is being done now, such as "cold round 7: cpu-naive"
  std::function<void()> tick;                             // several times a second, for interrupts and ETA
};

/// Runs one job in worker processes (exec of this tool) and returns its rows in the order of job.implementations. A
/// crash or a hang costs the row of the implementation that was running; a new worker goes on without it. `timeout_s`
/// bounds one call of an implementation. Stops early, with the rows that are complete, once interrupted() is true.
std::vector<Row> run_job(const Job& job, double timeout_s, const JobEvents& events);

/// The worker process: reads a job from standard input and does it (see worker_process.h for how it answers). The
/// hidden `worker` subcommand calls it.
int worker_main();

/// True after SIGINT or SIGTERM, once catch_interrupts() was called.
bool interrupted();
void catch_interrupts();

}  // namespace quire::bench
