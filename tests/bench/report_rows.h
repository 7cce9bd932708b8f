// Rows with every kind of verdict and of time, for the tests of reports and journals.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bench/columns.h"

namespace quire::bench {

inline Series series_of(std::vector<double> samples, double low, double median, double high) {
  return {.samples_us = std::move(samples), .us = {low, median, high}};
}

inline Floors sample_floors() {
  Floors floors;
  floors.stream["four_streams"] = series_of({101, 100, 102}, 100, 101, 102);
  floors.stream["plain"] = series_of({121, 120, 122}, 120, 121, 122);
  floors.paged["four_streams"] = series_of({151, 150, 152}, 150, 151, 152);
  floors.paged["plain"] = series_of({131, 130, 132}, 130, 131, 132);
  floors.best_stream = "four_streams";
  floors.best_paged = "plain";
  floors.floor_us = {100, 101, 102};
  floors.paged_floor_us = {130, 131, 132};
  floors.fma_floor_us = 17.5;
  floors.fma_per_us = 119'837;
  floors.steal_share = 0.0125;
  return floors;
}

inline Workload sample_workload() {
  Workload w;
  w.batch_size = 8;
  w.seq_len = 512;
  return w;
}

inline Row right_row(const std::string& implementation, double cold_us, double hot_us, double speedup) {
  Row row;
  row.implementation = implementation;
  row.workload = sample_workload();
  row.verdict = "yes";
  row.max_err = 1.25e-4;
  row.rel_l2 = 2.5e-4;
  row.lse_err = 1e-7;
  row.kv_bytes = 16'777'216;
  Timing timing;
  timing.cold = series_of({cold_us, cold_us * 0.99, cold_us * 1.02}, cold_us * 0.99, cold_us, cold_us * 1.02);
  timing.hot = series_of({hot_us, hot_us * 0.99, hot_us * 1.02}, hot_us * 0.99, hot_us, hot_us * 1.02);
  timing.cold_speedup = Interval{speedup * 0.98, speedup, speedup * 1.03};
  timing.hot_speedup = Interval{speedup * 0.99, speedup, speedup * 1.01};
  timing.first_call_us = cold_us * 2;
  timing.workspace_bytes = 4096;
  timing.stopped_by = "ci";
  row.timing = timing;
  row.floors = sample_floors();
  return row;
}

inline Row failed_row(const std::string& implementation, const std::string& verdict, const std::string& reason) {
  Row row;
  row.implementation = implementation;
  row.workload = sample_workload();
  row.verdict = verdict;
  row.reason = reason;
  return row;
}

/// One point. Slow, cached, wrong, crashed, hung, skipped and impossible rows.
inline std::vector<Row> sample_rows() {
  std::vector<Row> rows = {
      right_row("cpu-naive", 31'175.4, 39'084.1, 1),
      right_row("cpu-chunked", 246.9135, 90.5, 126.25),
      failed_row(
          "cpu-wrong", "NO",
          "census: lse[0][3] is 4.852030, expected 4.844187; \"one token\" is lost or doubled among 128, which moves "
          "the result by just so much"),
      failed_row("cpu-crash", "CRASH", "SIGSEGV, reading address 0"),
      failed_row("cpu-hang", "TIMEOUT", "no return within 60 s"),
      failed_row("cpu-gather", "SKIP", "cpu-gather: built without BLAS"),
      right_row("cpu-impossible16", 1.5, 1.25, 20'783.6),
  };
  rows[1].timing->from_cache = true;
  rows[2].max_err = std::numeric_limits<double>::quiet_NaN();
  rows[2].rel_l2 = std::numeric_limits<double>::infinity();
  rows[2].kv_bytes = 16'777'216;
  rows[6].timing->impossible = true;
  return rows;
}

inline ReportInfo sample_info() {
  ReportInfo info;
  Environment& e = info.environment;
  e.time = "2026-01-02T03:04:05Z";
  e.cpu_model = "Example Processor 9000";
  e.cpu_flags = {"avx2", "fma"};
  e.processors = 4;
  e.threads_available = 2;
  e.affinity = "0-1";
  e.cpu_quota = "200000 100000";
  e.governor = "performance";
  e.caches = {{1, "Data", 32'768}, {3, "Unified", 33'554'432}};
  e.memory_bytes = 17'179'869'184;
  e.kernel = "Linux 6.1.0 x86_64";
  e.quire_version = "0.1.0";
  e.git_revision = "0123456789ab";
  e.compiler = "GNU 12.2.0";
  e.compiler_flags = "-O3";
  e.build_type = "Release";
  e.simd_target = "AVX2";
  e.blas = "libopenblas.so";
  info.argv = {"quire", "bench", "--batch-sizes", "8"};
  for (const Row& row : sample_rows()) info.implementations.push_back(row.implementation);
  info.run_flags = "--threads 2";
  info.threads = 2;
  return info;
}

}  // namespace quire::bench
