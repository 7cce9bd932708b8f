// `quire check` and `quire self-test`: right or wrong, nothing timed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "bench/check_matrix.h"
#include "bench/cli.h"
#include "bench/options.h"
#include "bench/progress.h"

namespace quire::bench {
namespace {

constexpr size_t kCaseWidth = 44;

std::vector<NamedWorkload> chosen_cases(const CheckOptions& options) {
  std::vector<NamedWorkload> chosen;
  for (NamedWorkload& named : check_matrix(0)) {
    const bool has_dtype =
        std::find(options.dtypes.begin(), options.dtypes.end(), named.workload.dtype) != options.dtypes.end();
    if (has_dtype && named.name.find(options.case_name) != std::string::npos) chosen.push_back(std::move(named));
  }
  return chosen;
}

size_t width_of(const std::string& implementation) { return std::max<size_t>(implementation.size(), 7); }

std::string header_line(const std::vector<std::string>& names) {
  std::string line = fmt::format("{:<{}}", "case", kCaseWidth);
  for (const std::string& name : names) line += fmt::format(" {:>{}}", name, width_of(name));
  return line + '\n' + std::string(line.size(), '-') + '\n';
}

std::string case_lines(const std::string& name, const std::vector<Row>& rows) {
  std::string line = fmt::format("{:<{}}", name, kCaseWidth);
  std::string reasons;
  for (const Row& row : rows) {
    line += fmt::format(" {:>{}}", row.verdict, width_of(row.implementation));
    if (row.verdict != "yes") reasons += fmt::format("  {}: {}: {}\n", row.implementation, row.verdict, row.reason);
  }
  return line + '\n' + reasons;
}

std::string count_line(const std::vector<Row>& rows) {
  const auto right = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.verdict == "yes"; });
  return fmt::format("\n{} of {} results are right.\n", right, rows.size());
}

}  // namespace

int run_check(const std::vector<std::string>& args) {
  const Result<Parsed<CheckOptions>> parsed = parse_check_options(args);
  if (!parsed.ok()) return fail("quire check", parsed.status());
  if (!parsed->help.empty()) return print_out(parsed->help) ? kExitOk : kExitUsage;
  const CheckOptions& options = parsed->options;
  const std::vector<NamedWorkload> cases = chosen_cases(options);
  if (cases.empty()) {
    return fail("quire check",
                {StatusCode::kInvalidArgument, "--case: '" + options.case_name + "' has no case in this --dtype"});
  }
  catch_interrupts();
  ProgressLine progress(!options.quiet, std::vector<double>(cases.size(), 1.0));
  std::vector<Row> all;
  bool read = print_out(header_line(options.implementations));
  for (size_t i = 0; i < cases.size() && read && !interrupted(); ++i) {
    progress.begin(i, cases[i].name);
    const Job job = {.workload = cases[i].workload,
                     .implementations = options.implementations,
                     .baseline = "",
                     .depth = CheckDepth::kFull,
                     .measure = std::nullopt,
                     .threads = options.threads,
                     .with_faults = false};
    const std::vector<Row> rows = run_job(job, options.timeout_s, progress.events());
    progress.clear();
    read = print_out(case_lines(cases[i].name, rows));
    all.insert(all.end(), rows.begin(), rows.end());
  }
  print_out(count_line(all));
  return interrupted() ? kExitInterrupted : exit_code_of(all);
}

int run_self_test_command(const std::vector<std::string>& args) {
  const Result<Parsed<SelfTestCommand>> parsed = parse_self_test_options(args);
  if (!parsed.ok()) return fail("quire self-test", parsed.status());
  if (!parsed->help.empty()) return print_out(parsed->help) ? kExitOk : kExitUsage;
  catch_interrupts();
  ProgressLine progress(!parsed->options.quiet, {1.0});
  progress.begin(0, "self-test");
  const auto print = [&](const std::string& text) {
    progress.clear();
    print_out(text);
  };
  return run_self_test(parsed->options.test, print, progress.events());
}

}  // namespace quire::bench
