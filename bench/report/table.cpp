#include "bench/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/fields.h"
#include "bench/numbers.h"

namespace quire::bench {
namespace {

// Microseconds as milliseconds; nine characters up to weeks.
std::string milliseconds(double us) {
  const double ms = us * 1e-3;
  return fmt::format("{:.{}f}", ms, ms < 999 ? 4 : ms < 999'999 ? 1 : 0);
}

std::string scientific(double value) { return fmt::format("{:.2e}", value); }

std::string decimal(double value) { return fmt::format("{:.{}f}", value, value < 999 ? 1 : 0); }

std::string ratio(double value) { return fmt::format("{:.{}f}x", value, value < 999 ? 2 : 0); }

std::string percent(double share) { return fmt::format("{:.{}f}%", share * 100, share < 0.0995 ? 1 : 0); }

// A column of the table: which one of columns.h, and how it shows numbers.
struct TableColumn {
  const char* heading;
  size_t width;
  const char* key;
  std::string (*number_text)(double) = nullptr;
};

std::vector<TableColumn> table_columns(const ReportInfo& info) {
  std::vector<TableColumn> all = {
      {"max_err", 10, "max_err", scientific},
      {"correct", 8, "verdict"},
      {"ms", 9, info.cold ? "cold_us" : "hot_us", milliseconds},
      {"speedup", 8, "speedup", ratio},
  };
  if (info.cold && info.hot) all.push_back({"hot_ms", 9, "hot_us", milliseconds});
  all.push_back({"GB/s", 6, "gb_per_s", decimal});
  all.push_back({"%floor", 6, "floor_share", percent});
  all.push_back({"%paged", 6, "paged_floor_share", percent});
  all.push_back({"+-ci", 6, "ci", percent});
  all.push_back({"", 5, "from_cache"});
  return all;
}

std::string text_of(const TableColumn& column, const Row& row, const ReportInfo& info) {
  const Cell value = cell(column.key, row, info);
  if (const auto* real = std::get_if<double>(&value)) return column.number_text(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* from_cache = std::get_if<bool>(&value)) return *from_cache ? "cache" : "";
  return *column.heading == '\0' ? "" : "-";
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
  if (const std::optional<Floors>& floors = measured->floors; floors && !floors->best_stream.empty()) {
    text += wrapped(fmt::format("Floors: read {} ms, {:.1f} GB/s ({}); paged {} ms ({}); FMA {} ms.",
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
      const std::string value = fmt::format("{:>{}}", text_of(column, row, info), column.width);
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
