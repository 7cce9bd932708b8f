// `quire bench`: grid -> jobs -> tables as they finish, a journal on the way, reports at the end.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>

#include "bench/cli.h"
#include "bench/fields.h"
#include "bench/file.h"
#include "bench/journal.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/report/csv.h"
#include "bench/report/json.h"
#include "bench/report/table.h"
#include "bench/sweep.h"

namespace quire::bench {
namespace {

constexpr const char* kCommand = "quire bench";
constexpr int kExitBrokenPipe = 141;  // as if SIGPIPE had ended us

Status invalid(const std::string& message) { return {StatusCode::kInvalidArgument, message}; }

// What a journal's run and this one must agree in.
JournalKey journal_key(const BenchOptions& options, const Environment& environment) {
  JournalKey key;
  for (const Field& field : workload_fields()) {
    std::vector<std::string> values;
    for (const Workload& point : options.points) {
      std::string text = text_of(field, point);
      if (std::find(values.begin(), values.end(), text) == values.end()) values.push_back(std::move(text));
    }
    key.emplace_back(field.flag, fmt::format("{}", fmt::join(values, " ")));
  }
  key.emplace_back("--impl", fmt::format("{}", fmt::join(options.implementations, ",")));
  for (const Setting& setting : run_settings(options)) key.emplace_back(setting.flag, setting.value);
  key.emplace_back("quire", environment.quire_version + ' ' + environment.git_revision);
  key.emplace_back("processor", environment.cpu_model);
  return key;
}

ReportInfo report_info(const BenchOptions& options, const std::vector<std::string>& args) {
  ReportInfo info;
  info.environment = read_environment();
  info.argv = {"quire", "bench"};
  info.argv.insert(info.argv.end(), args.begin(), args.end());
  info.implementations = options.implementations;
  info.baseline = options.baseline;
  info.run_flags = flags_of(run_settings(options));
  info.threads = options.threads;
  info.cold = options.measure.cold;
  info.hot = options.measure.hot;
  return info;
}

// Where results go besides stdout, and those that an earlier run left.
struct Outputs {
  std::optional<OutputFile> json, csv;
  std::optional<Journal> journal;
  std::vector<Row> earlier_rows;
};

Status open_reports(const BenchOptions& options, Outputs& outputs) {
  const auto prepare = [](const char* flag, const std::string& path, std::optional<OutputFile>& output) -> Status {
    if (path.empty()) return {};
    Result<OutputFile> prepared = OutputFile::prepare(flag, path);
    if (!prepared.ok()) return prepared.status();
    output = std::move(*prepared);
    return {};
  };
  if (Status s = prepare("--json", options.json_path, outputs.json); !s.ok()) return s;
  if (Status s = prepare("--csv", options.csv_path, outputs.csv); !s.ok()) return s;
  if (outputs.json && outputs.csv && outputs.json->target() == outputs.csv->target()) {
    return invalid("--csv: '" + options.csv_path + "' is the --json file");
  }
  if (options.journal_path.empty()) return {};
  for (const std::optional<OutputFile>& report : {outputs.json, outputs.csv}) {
    if (report && report->target() == resolved_path(options.journal_path)) {
      return invalid("--journal: '" + options.journal_path + "' is the file of a report");
    }
  }
  return {};
}

Status open_journal(const BenchOptions& options, const Environment& environment, Outputs& outputs) {
  const std::string path =
      options.journal_path.empty() ? default_journal_path(options.json_path) : options.journal_path;
  const JournalKey key = journal_key(options, environment);
  if (path.empty()) return options.resume ? invalid("--resume: there is no journal; name it with --journal") : Status();
  Result<Journal> journal = options.resume
                                ? Journal::resume(path, key, options.implementations.size(), outputs.earlier_rows)
                                : Journal::begin(path, key);
  if (journal.ok()) {
    outputs.journal = std::move(*journal);
  } else if (options.resume || !options.journal_path.empty()) {
    return journal.status();
  } else {
    // Nobody asked for this journal: a home that cannot be written is no reason not to measure.
    fmt::print(stderr, "{}: no journal: {}\n", kCommand, journal.status().message());
  }
  return {};
}

std::string shell_quoted(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_./,:=+%@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + '\'';
}

// A run of the grid, from its first line on stdout to its exit code.
class BenchRun {
 public:
  BenchRun(const BenchOptions& options, const ReportInfo& info, Outputs outputs)
      : options_(options), info_(info), outputs_(std::move(outputs)), style_{may_color(STDOUT_FILENO)} {}

  int run() {
    print(table_head(info_));
    run_points();
    if (stdout_error_ != 0 && !wants_reports()) return stdout_lost();
    print(table_foot(rows_, info_));
    if (interrupted()) return report_interrupt();
    if (const Status s = write_reports(); !s.ok()) return fail(kCommand, s);
    if (outputs_.journal && options_.journal_path.empty() && outputs_.json) outputs_.journal->remove();
    return stdout_error_ != 0 && stdout_error_ != EPIPE ? stdout_lost() : exit_code_of(rows_);
  }

 private:
  bool wants_reports() const { return outputs_.json || outputs_.csv; }
  bool goes_on() const { return !interrupted() && (stdout_error_ == 0 || wants_reports()); }

  void print(const std::string& text) {
    errno = 0;
    if (stdout_error_ == 0 && !print_out(text)) stdout_error_ = errno != 0 ? errno : EIO;
  }

  void run_points() {
    std::vector<double> weights;
    // A point's time has a part that grows with its data and one that does not.
    for (const Workload& point : options_.points) weights.push_back(data_bytes(point) + 64e6);
    ProgressLine progress(!options_.quiet, weights);
    const size_t rows_per_point = options_.implementations.size();
    for (size_t i = 0; i < options_.points.size() && goes_on(); ++i) {
      const auto first = static_cast<ptrdiff_t>(i * rows_per_point);
      if ((i + 1) * rows_per_point <= outputs_.earlier_rows.size()) {
        const auto begin = outputs_.earlier_rows.begin() + first;
        finish_point({begin, begin + static_cast<ptrdiff_t>(rows_per_point)}, false);
        continue;
      }
      progress.begin(i, point_name(options_.points[i]));
      std::vector<Row> rows = run_job(job_of(options_.points[i]), options_.timeout_s, progress.events());
      progress.clear();
      if (!rows.empty()) finish_point(std::move(rows), true);
    }
  }

  Job job_of(const Workload& point) const {
    return {.workload = point,
            .implementations = options_.implementations,
            .baseline = options_.baseline,
            .depth = CheckDepth::kPoint,
            .measure = options_.measure,
            .threads = options_.threads,
            .with_faults = false};
  }

  void finish_point(std::vector<Row> rows, bool is_new) {
    // Rows of a point that was cut short stand in the table, but the point is to be run again.
    const bool whole = rows.size() == options_.implementations.size();
    if (is_new && whole) append_to_journal(rows);
    print(table_of_point(rows, info_, style_));
    std::move(rows.begin(), rows.end(), std::back_inserter(rows_));
  }

  void append_to_journal(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      if (!outputs_.journal) return;
      if (const Status s = outputs_.journal->append(row); !s.ok()) {
        fmt::print(stderr, "{}: the journal ends here: {}\n", kCommand, s.message());
        outputs_.journal.reset();
      }
    }
  }

  Status write_reports() const {
    if (outputs_.json) {
      if (Status s = outputs_.json->write(json_report(rows_, info_)); !s.ok()) return s;
    }
    return outputs_.csv ? outputs_.csv->write(csv_report(rows_, info_)) : Status();
  }

  int report_interrupt() const {
    std::string message = fmt::format("{}: interrupted after {} rows", kCommand, rows_.size());
    if (outputs_.journal) {
      message += fmt::format("; they are in {}; go on with:\n ", outputs_.journal->path());
      for (const std::string& word : info_.argv) message += ' ' + shell_quoted(word);
      if (!options_.resume) message += " --resume";
    }
    fmt::print(stderr, "{}\n", message);
    return kExitInterrupted;
  }

  int stdout_lost() const {
    if (stdout_error_ == EPIPE) return kExitBrokenPipe;
    return fail(kCommand,
                invalid("cannot write to standard output: " + std::generic_category().message(stdout_error_)));
  }

  const BenchOptions& options_;
  const ReportInfo& info_;
  Outputs outputs_;
  TableStyle style_;
  std::vector<Row> rows_;
  int stdout_error_ = 0;
};

}  // namespace

int run_bench(const std::vector<std::string>& args) {
  const Result<Parsed<BenchOptions>> parsed = parse_bench_options(args);
  if (!parsed.ok()) return fail(kCommand, parsed.status());
  if (!parsed->help.empty()) return print_out(parsed->help) ? kExitOk : kExitUsage;
  const BenchOptions& options = parsed->options;
  const ReportInfo info = report_info(options, args);
  Outputs outputs;
  if (Status s = open_reports(options, outputs); !s.ok()) return fail(kCommand, s);
  if (Status s = open_journal(options, info.environment, outputs); !s.ok()) return fail(kCommand, s);
  catch_interrupts();
  return BenchRun(options, info, std::move(outputs)).run();
}

}  // namespace quire::bench
