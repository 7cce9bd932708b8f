// The flags of `quire bench`.
#include <fmt/format.h>

#include <algorithm>

#include "bench/environment.h"
#include "bench/fields.h"
#include "bench/option_readers.h"
#include "bench/suggest.h"
#include "bench/sweep.h"

namespace quire::bench {
namespace {

constexpr const char* kShape = "Shape: lists, by spaces or commas, and ranges on every axis (128:32k:x2, 1:16:+1)";
constexpr const char* kHow = "How it is measured";
constexpr const char* kOutput = "Output";

// One axis flag a field, with the seed's defaults.
struct ShapeFlags {
  struct Flag {
    const Field* field;
    std::vector<std::string> items;
  };
  std::vector<Flag> flags;
  std::optional<std::string> seed;

  void add_to(FlagParser& parser) {
    // Outermost first: within a kind of problem, batch sizes and lengths vary fastest, as in a table of a paper.
    flags = {{find_field("dtype"), {"fp16"}},
             {find_field("kv_dtype"), {}},
             {find_field("layout"), {"nhd"}},
             {find_field("num_heads"), {"16"}},
             {find_field("num_kv_heads"), {"8"}},
             {find_field("head_dim"), {"128"}},
             {find_field("block_size"), {"256"}},
             {find_field("batch_size"), {"1", "8", "32"}},
             {find_field("seq_len"), {"128", "512", "2048"}}};
    for (const Field& field : workload_fields()) {
      const auto flag = std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return f.field == &field; });
      if (flag == flags.end()) continue;
      const std::string shown = flag->items.empty() ? "" : fmt::format(" [{}]", fmt::join(flag->items, " "));
      parser.add_list(field.flag, {kShape, field.is_number() ? "N..." : "NAME...", field.help + shown}, flag->items);
    }
  }

  void add_seed_to(FlagParser& parser) {
    const Field& field = *find_field("seed");
    parser.add_value(field.flag, {kWhatRuns, "N", field.help + std::string(" [0]")}, seed);
  }

  Status read_into(std::vector<Workload>& points) const {
    const Field& seed_field = *find_field("seed");
    Workload base;
    if (seed) {
      if (Status s = set_field(seed_field, base, *seed); !s.ok()) return with_flag(seed_field.flag, s);
    }
    std::vector<Axis> axes;
    for (const Flag& flag : flags) {
      if (flag.items.empty()) continue;
      axes.push_back({flag.field, {}});
      if (Status s = read_values(flag, axes.back().values); !s.ok()) return s;
    }
    Result<std::vector<Workload>> grid = sweep(base, axes);
    if (!grid.ok()) return grid.status();
    points = std::move(*grid);
    return {};
  }

 private:
  // Each value once, in the order given.
  static Status read_values(const Flag& flag, std::vector<std::string>& values) {
    for (const std::string& item : flag.items) {
      const Result<std::vector<std::string>> expanded = expand_values(*flag.field, item);
      if (!expanded.ok()) return with_flag(flag.field->flag, expanded.status());
      for (const std::string& value : *expanded) {
        if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
      }
    }
    return {};
  }
};

// Of several switches at most one may be on.
Status at_most_one(std::initializer_list<std::pair<const char*, bool>> switches) {
  const char* first = nullptr;
  for (const auto& [flag, on] : switches) {
    if (!on) continue;
    if (first != nullptr) return usage_error(std::string(flag) + ": cannot be combined with " + first);
    first = flag;
  }
  return {};
}

struct MeasureFlags {
  std::optional<std::string> iters, warmup, ci, budget;
  bool cold = false, hot = false, both = false;

  void add_to(FlagParser& parser) {
    parser.add_switch("--both", {kHow, "", "cold and hot times (default); speedup and share of floor are cold"}, both);
    parser.add_switch("--cold", {kHow, "", "only cold: no input is in a cache"}, cold);
    parser.add_switch("--hot", {kHow, "", "only hot: the inputs were just read"}, hot);
    const MeasureOptions standard;
    parser.add_value("--iters", {kHow, "N", "take exactly N samples; default: at most 100, until --ci holds"}, iters);
    parser.add_value("--warmup",
                     {kHow, "N", fmt::format("calls before the first sample, at most [{}]", standard.warmup)}, warmup);
    parser.add_value(
        "--ci",
        {kHow, "P%",
         fmt::format("stop when each median is known to +-P% (95 % confidence) [{:g}%]", standard.ci * 100)},
        ci);
    parser.add_value(
        "--time-budget",
        {kHow, "SECONDS",
         fmt::format("stop measuring a point, all its implementations, after that long [{:g}]", standard.budget_s)},
        budget);
  }

  Status read_into(MeasureOptions& measure) const {
    int64_t given = 0;
    measure.cold = !hot;
    measure.hot = !cold;
    const Status status = first_error({
        [&] { return at_most_one({{"--both", both}, {"--cold", cold}, {"--hot", hot}}); },
        [&] { return read_flag("--iters", iters, whole_from(1), given); },
        [&] { return read_flag("--warmup", warmup, whole_from(0), measure.warmup); },
        [&] { return read_flag("--ci", ci, parse_percent, measure.ci); },
        [&] { return read_flag("--time-budget", budget, parse_seconds, measure.budget_s); },
    });
    if (given > 0) measure.iters = given;
    return status;
  }
};

struct OutputFlags {
  std::optional<std::string> json, csv, journal;
  bool resume = false;

  void add_to(FlagParser& parser) {
    parser.add_value("--json", {kOutput, "FILE", "everything: rows, samples, floors, environment"}, json);
    parser.add_value("--csv", {kOutput, "FILE", "one line a row"}, csv);
    parser.add_value("--journal",
                     {kOutput, "FILE",
                      "rows as they finish, for --resume; default: beside the --json file,\n"
                      "else ${XDG_STATE_HOME:-~/.local/state}/quire/last.journal"},
                     journal);
    parser.add_switch("--resume", {kOutput, "", "go on with the journal of an interrupted run of the same options"},
                      resume);
  }

  Status read_into(BenchOptions& options) const {
    const std::pair<const char*, const std::optional<std::string>&> paths[] = {
        {"--json", json}, {"--csv", csv}, {"--journal", journal}};
    for (const auto& [flag, path] : paths) {
      if (path && path->empty()) return usage_error(std::string(flag) + ": '' is not a file name");
    }
    options.json_path = json.value_or("");
    options.csv_path = csv.value_or("");
    options.journal_path = journal.value_or("");
    options.resume = resume;
    return {};
  }
};

Status read_baseline(const std::optional<std::string>& name, BenchOptions& options) {
  if (!name) return {};
  const std::vector<std::string>& rows = options.implementations;
  if (std::find(rows.begin(), rows.end(), *name) == rows.end()) {
    return usage_error("--baseline: '" + *name + "' is not among the implementations that run" +
                       did_you_mean(*name, rows));
  }
  options.baseline = *name;
  return {};
}

constexpr const char* kBenchExamples =
    "Examples:\n"
    "  quire bench                                     the default grid, every implementation\n"
    "  quire bench --batch-sizes 8 --seq-lens 128:32k:x2 --impl cpu-naive,cpu-chunked\n"
    "  quire bench --dtype fp16,bf16 --block-size 16 64 256 --json results.json --csv results.csv\n"
    "\n"
    "Exit codes: 0 ok, 1 wrong usage or nothing but SKIP rows, 2 a row is NO, 3 a row is CRASH or\n"
    "TIMEOUT, 130 interrupted.";

}  // namespace

Result<Parsed<BenchOptions>> parse_bench_options(const std::vector<std::string>& args) {
  FlagParser parser("quire bench",
                    "Proves each implementation right at every point of a grid, times it, and prints a table a point.",
                    kBenchExamples);
  Parsed<BenchOptions> parsed;
  BenchOptions& options = parsed.options;
  ShapeFlags shape;
  RunFlags run;
  MeasureFlags measure;
  OutputFlags output;
  std::optional<std::string> baseline;
  shape.add_to(parser);
  run.add_implementations(parser, "implementations, in row order; default: all, the simplest first");
  parser.add_value("--baseline", {kWhatRuns, "A", "what speedups are against; default: the first row that ran"},
                   baseline);
  run.add_device(parser);
  run.add_threads(parser);
  shape.add_seed_to(parser);
  run.add_timeout(parser);
  measure.add_to(parser);
  output.add_to(parser);
  run.add_quiet(parser);

  if (Status s = parser.parse(args); !s.ok()) return s;
  if (parser.help_wanted()) {
    parsed.help = parser.help();
    return parsed;
  }
  const Status status = first_error({
      [&] { return shape.read_into(options.points); },
      [&] { return run.read_into(options); },
      [&] { return read_baseline(baseline, options); },
      [&] { return measure.read_into(options.measure); },
      [&] { return output.read_into(options); },
      [&] { return check_points(options.points, available_memory_bytes()); },
  });
  if (!status.ok()) return status;
  return parsed;
}

std::vector<Setting> run_settings(const BenchOptions& options) {
  const BenchOptions standard;
  const MeasureOptions& measure = options.measure;
  std::vector<Setting> settings = {{"--threads", std::to_string(options.threads)}};
  const auto add_changed = [&](const char* flag, const auto& value, const auto& standard_value,
                               const std::string& text) {
    if (value != standard_value) settings.push_back({flag, text});
  };
  add_changed("--baseline", options.baseline, standard.baseline, options.baseline);
  add_changed("--cold", measure.hot, standard.measure.hot, "");
  add_changed("--hot", measure.cold, standard.measure.cold, "");
  if (measure.iters) settings.push_back({"--iters", std::to_string(*measure.iters)});
  add_changed("--warmup", measure.warmup, standard.measure.warmup, std::to_string(measure.warmup));
  add_changed("--ci", measure.ci, standard.measure.ci, fmt::format("{:g}%", measure.ci * 100));
  add_changed("--time-budget", measure.budget_s, standard.measure.budget_s, fmt::format("{:g}", measure.budget_s));
  add_changed("--timeout", options.timeout_s, standard.timeout_s, fmt::format("{:g}", options.timeout_s));
  return settings;
}

std::string flags_of(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    if (!text.empty()) text += ' ';
    text += setting.flag;
    if (!setting.value.empty()) text += ' ' + setting.value;
  }
  return text;
}

}  // namespace quire::bench
