// Command line -> options: every flag of every command, what it may hold and what is refused.
#pragma once

#include <string>
#include <vector>

#include "bench/job.h"
#include "bench/self_test.h"

namespace quire::bench {

/// What the commands that run implementations share.
struct RunOptions {
  std::vector<std::string> implementations;  // in row order
  int threads = 1;
  double timeout_s = 60;  // of one call of an implementation
  bool quiet = false;     // no progress, not even on a terminal
};

struct BenchOptions : RunOptions {
  std::vector<Workload> points;
  std::string baseline;  // empty: the first row that ran
  MeasureOptions measure;
  std::string json_path, csv_path;  // empty: not wanted
  std::string journal_path;         // empty: the default
  bool resume = false;
};

struct CheckOptions : RunOptions {
  std::vector<DType> dtypes;
  std::string case_name;  // part of the names of the cases to run
};

struct SelfTestCommand {
  SelfTestOptions test;
  bool quiet = false;
};

struct CalibrateOptions {
  int threads = 1;
  bool quiet = false;
};

struct ListOptions {};

/// A command's options, or the help text that was asked for instead.
template <typename Options>
struct Parsed {
  Options options;
  std::string help;  // not empty: print it and run nothing
};

/// Each reads the arguments after the command's name. Errors are one line that names flag and value.
Result<Parsed<BenchOptions>> parse_bench_options(const std::vector<std::string>& args);
Result<Parsed<ListOptions>> parse_list_options(const std::vector<std::string>& args);
Result<Parsed<CheckOptions>> parse_check_options(const std::vector<std::string>& args);
Result<Parsed<SelfTestCommand>> parse_self_test_options(const std::vector<std::string>& args);
Result<Parsed<CalibrateOptions>> parse_calibrate_options(const std::vector<std::string>& args);

/// A flag and its value as text; no value for a switch.
struct Setting {
  std::string flag, value;
};

/// The flags of a run that are not its points', but for those that stand at their default.
std::vector<Setting> run_settings(const BenchOptions& options);

/// "--iters 20 --threads 2 ...".
std::string flags_of(const std::vector<Setting>& settings);

}  // namespace quire::bench
