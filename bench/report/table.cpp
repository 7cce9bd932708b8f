#include "bench/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/fields.h"
#include "bench/numbers.h"

namespace quire::bench {
namespace {

// How a column of the table shows one of the columns of columns.h.
struct TableColumn {
  const char* heading;
  size_t width;
  std::string (*text)(const Row& row, const ReportInfo& info);
};

constexpr const char* kNothing = "-";

std::string text_or_nothing(const std::optional<double>& value, const std::function<std::string(double)>& text) {
  return value ? text(*value) : kNothing;
}

// Microseconds as milliseconds; nine characters up to weeks.
std::string milliseconds(double us) {
  const double ms = us * 1e-3;
  return fmt::format("{:.{}f}", ms, ms < 999 ? 4 : ms < 999'999 ? 1 : 0);
}

std::string time_text(const char* key, const Row& row, const ReportInfo& info) {
  return text_or_nothing(number(key, row, info), milliseconds);
}

std::string percent_text(const char* key, const Row& row, const ReportInfo& info) {
  return text_or_nothing(number(key, row, info),
                         [](double share) { return fmt::format("{:.{}f}%", share * 100, share < 0.0995 ? 1 : 0); });
}

// Half the confidence interval of the leading time, as a share of its median.
std::string interval_text(const Row& row, const ReportInfo& info) {
  const std::string prefix = info.cold ? "cold" : "hot";
  const std::optional<double> median = number(prefix + "_us", row, info);
  if (!median) return kNothing;
  const double width = *number(prefix + "_high_us", row, info) - *number(prefix + "_low_us", row, info);
  const double percent = width / 2 / *median * 100;
  return fmt::format("{:.{}f}%", percent, percent < 99.5 ? 1 : 0);
}

std::string rate_text(const Row& row, const ReportInfo& info) {
  return text_or_nothing(number("gb_per_s", row, info),
                         [](double rate) { return fmt::format("{:.{}f}", rate, rate < 999 ? 1 : 0); });
}

std::vector<TableColumn> table_columns(const ReportInfo& info) {
  std::vector<TableColumn> all = {
      {"max_err", 10,
       [](const Row& r, const ReportInfo& i) {
         return text_or_nothing(number("max_err", r, i), [](double e) { return fmt::format("{:.2e}", e); });
       }},
      {"correct", 8, [](const Row& r, const ReportInfo&) { return r.verdict; }},
      {"ms", 9, [](const Row& r, const ReportInfo& i) { return time_text(i.cold ? "cold_us" : "hot_us", r, i); }},
      {"speedup", 8,
       [](const Row& r, const ReportInfo& i) {
         return text_or_nothing(number("speedup", r, i),
                                [](double s) { return fmt::format("{:.{}f}x", s, s < 999 ? 2 : 0); });
       }},
  };
  if (info.cold && info.hot) {
    all.push_back({"hot_ms", 9, [](const Row& r, const ReportInfo& i) { return time_text("hot_us", r, i); }});
  }
  all.push_back({"GB/s", 6, rate_text});
  all.push_back({"%floor", 6, [](const Row& r, const ReportInfo& i) { return percent_text("floor_share", r, i); }});
  all.push_back(
      {"%paged", 6, [](const Row& r, const ReportInfo& i) { return percent_text("paged_floor_share", r, i); }});
  all.push_back({"+-ci", 6, interval_text});
  all.push_back({"", 5, [](const Row& r, const ReportInfo&) -> std::string {
                   return r.timing && r.timing->from_cache ? "cache" : "";
                 }});
  return all;
}

constexpr size_t kNameWidth = 16;

// Refusals of the library name the implementation themselves.
std::string reason_text(const Row& row) {
  const std::string name = row.implementation + ": ";
  return row.reason.rfind(name, 0) == 0 ? row.reason.substr(name.size()) : row.reason;
}

std::string colored(const std::string& text, const std::string& verdict, TableStyle style) {
  if (!style.color || verdict == "yes") return text;
  return (verdict == "SKIP" ? "\x1b[33m" : "\x1b[1;31m") + text + "\x1b[0m";
}

void trim_right(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

// Breaks text at spaces into lines of at most kTableWidth, each indented.
std::string wrapped(const std::string& text, size_t indent) {
  std::string lines;
  std::string line(indent, ' ');
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (line.size() > indent && line.size() + 1 + word.size() > kTableWidth) {
      lines += line + '\n';
      line = std::string(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
    begin = end + 1;
  }
  return lines + line + '\n';
}

// As wide as a table with all columns.
std::string rule() { return std::string(kTableWidth - 1, '=') + '\n'; }

std::string shape_lines(const Workload& workload) {
  constexpr size_t kFirstLine = 3;  // fields, as in the seed of this bench
  std::string lines;
  size_t count = 0;
  for (const Field& field : workload_fields()) {
    if (std::string_view(field.name) == "seed") continue;
    if (std::string_view(field.name) == "kv_dtype" && workload.kv_dtype == workload.dtype) continue;
    if (count > 0) lines += count == kFirstLine ? "\n" : ", ";
    lines += fmt::format("{}={}", field.name, text_of(field, workload));
    ++count;
  }
  return lines + '\n';
}

// "37 rounds (stopped by ci)", or how the rows differ.
std::string stop_text(const std::vector<Row>& rows, const ReportInfo& info) {
  std::map<std::string, size_t> stops;  // by what -> most samples
  for (const Row& row : rows) {
    if (!row.timing) continue;
    const std::optional<Series>& series = info.cold ? row.timing->cold : row.timing->hot;
    size_t& samples = stops[row.timing->stopped_by];
    if (series) samples = std::max(samples, series->samples_us.size());
  }
  std::string text;
  for (const auto& [by, samples] : stops) {
    text += fmt::format("{}{} rounds (stopped by {})", text.empty() ? "" : ", ", samples, by);
  }
  return text;
}

std::string floor_lines(const std::vector<Row>& rows, const ReportInfo& info) {
  const auto measured = std::find_if(rows.begin(), rows.end(), [](const Row& r) { return r.timing.has_value(); });
  if (measured == rows.end()) return "";
  const auto bytes = static_cast<double>(measured->kv_bytes);
  std::string text = "K and V: " + byte_text(bytes);
  if (const auto cache = last_level_cache_bytes(info.environment)) {
    text += fmt::format(", {:.2g} x the last-level cache", bytes / static_cast<double>(*cache));
  }
  text = wrapped(text + "; " + stop_text(rows, info) + '.', 0);
  if (const std::optional<Floors>& floors = measured->floors) {
    text += wrapped(fmt::format("Floors: read {} ms, {:.1f} GB/s ({}); paged read {} ms ({}); FMA {} ms.",
                                milliseconds(floors->floor_us.median), bytes / floors->floor_us.median * 1e-3,
                                floors->best_stream, milliseconds(floors->paged_floor_us.median), floors->best_paged,
                                milliseconds(floors->fma_floor_us)),
                    0);
  }
  return text;
}

}  // namespace

std::string point_name(const Workload& workload) {
  return fmt::format("batch_size={}, seq_len={}", workload.batch_size, workload.seq_len);
}

std::string table_head(const ReportInfo& info) {
  const std::string device =
      fmt::format("quire {} on cpu: {}", info.environment.quire_version, machine_line(info.environment, info.threads));
  const char* times = info.cold && info.hot ? "ms = cold median +-ci (95 %), hot_ms = in cache"
                      : info.cold           ? "ms = cold median +-ci (95 %)"
                                            : "ms = median in cache +-ci (95 %)";
  return wrapped(device, 0) + rule() + "PAGED ATTENTION DECODE BENCHMARK\n" +
         wrapped(fmt::format("Comparing: {}", fmt::join(info.implementations, " | ")), 0) + rule() + times +
         "; %floor, %paged = share of a plain, a paged read\n";
}

std::string table_of_point(const std::vector<Row>& rows, const ReportInfo& info, TableStyle style) {
  const std::vector<TableColumn> shown = table_columns(info);
  std::string text = '\n' + rule() + shape_lines(rows.front().workload) + rule();
  std::string header = fmt::format("{:<{}}", "implementation", kNameWidth);
  for (const TableColumn& column : shown) header += fmt::format(" {:>{}}", column.heading, column.width);
  const size_t width = header.size();
  trim_right(header);
  text += header + '\n' + std::string(width, '-') + '\n';

  std::string notes;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}", row.implementation, kNameWidth);
    for (const TableColumn& column : shown) {
      const std::string value = fmt::format("{:>{}}", column.text(row, info), column.width);
      line += ' ' + (std::string_view(column.heading) == "correct" ? colored(value, row.verdict, style) : value);
    }
    trim_right(line);
    text += line + '\n';
    if (row.verdict != "yes") notes += wrapped(row.implementation + ": " + row.verdict + ": " + reason_text(row), 2);
    if (row.timing && row.timing->impossible) {
      notes += wrapped(row.implementation + ": IMPOSSIBLE: less time than reading its bytes takes; no speedup", 2);
    }
  }
  return text + notes + floor_lines(rows, info);
}

std::string table_foot(const std::vector<Row>& rows, const ReportInfo& info) {
  std::map<std::string, int> verdicts;
  for (const Row& row : rows) ++verdicts[row.verdict];
  std::string counts;
  for (const char* verdict : {"yes", "NO", "CRASH", "TIMEOUT", "SKIP"}) {
    if (verdicts[verdict] > 0) counts += fmt::format(", {} {}", verdicts[verdict], verdict);
  }
  const std::string baseline = info.baseline.empty() ? "the first row that ran" : info.baseline;
  return fmt::format(
      "\nmax_err is vs an fp64 reference; speedup is vs {}.\n"
      "A 'NO' in the correct column means that the implementation does not compute attention over the\n"
      "right tokens, or not accurately: no time is shown, for it would mean nothing.\n"
      "{} row{}{}.\n",
      baseline, rows.size(), rows.size() == 1 ? "" : "s", counts.empty() ? "" : ": " + counts.substr(2));
}

}  // namespace quire::bench
