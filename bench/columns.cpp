#include "bench/columns.h"

#include "bench/fields.h"
#include "bench/stats.h"

namespace quire::bench {
namespace {

template <typename T>
Cell optional_cell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}

const Series* cold(const Row& row) { return row.timing && row.timing->cold ? &*row.timing->cold : nullptr; }
const Series* hot(const Row& row) { return row.timing && row.timing->hot ? &*row.timing->hot : nullptr; }
// The times that speedups and shares are made of.
const Series* leading(const Row& row, const ReportInfo& info) { return info.cold ? cold(row) : hot(row); }

const Interval* cold_speedup(const Row& row) {
  return row.timing && row.timing->cold_speedup ? &*row.timing->cold_speedup : nullptr;
}
const Interval* hot_speedup(const Row& row) {
  return row.timing && row.timing->hot_speedup ? &*row.timing->hot_speedup : nullptr;
}
// An impossible time makes no speedup.
const Interval* leading_speedup(const Row& row, const ReportInfo& info) {
  if (!row.timing || row.timing->impossible) return nullptr;
  return info.cold ? cold_speedup(row) : hot_speedup(row);
}

Cell low(const Interval* interval) { return interval == nullptr ? Cell() : Cell(interval->low); }
Cell median(const Interval* interval) { return interval == nullptr ? Cell() : Cell(interval->median); }
Cell high(const Interval* interval) { return interval == nullptr ? Cell() : Cell(interval->high); }
const Interval* us(const Series* series) { return series == nullptr ? nullptr : &series->us; }

Cell ci(const Row& row, const ReportInfo& info) {
  const Series* series = leading(row, info);
  return series == nullptr ? Cell() : Cell(relative_half_width(series->us));
}

// Bytes over microseconds are megabytes a second.
Cell rate(const Row& row, const ReportInfo& info) {
  const Series* series = leading(row, info);
  if (series == nullptr) return {};
  return static_cast<double>(row.kv_bytes) / series->us.median * 1e-3;
}

// The floors of a point; none where memory was short for what is read.
const Interval* floor(const Row& row) {
  return row.floors && !row.floors->best_stream.empty() ? &row.floors->floor_us : nullptr;
}
const Interval* paged_floor(const Row& row) {
  return row.floors && !row.floors->best_paged.empty() ? &row.floors->paged_floor_us : nullptr;
}

Cell share(const Interval* floor_us, const Row& row, const ReportInfo& info) {
  const Series* series = leading(row, info);
  if (series == nullptr || floor_us == nullptr) return {};
  return floor_us->median / series->us.median;
}

template <typename Member>
Cell of_timing(const Row& row, Member Timing::* member) {
  return row.timing ? Cell(row.timing.value().*member) : Cell();
}

std::vector<Column> make_columns() {
  using R = const Row&;
  using I = const ReportInfo&;
  std::vector<Column> all = {
      {"implementation", [](R r, I) -> Cell { return r.implementation; }},
      {"device", [](R r, I) -> Cell { return r.device; }},
  };
  for (const Field& field : workload_fields()) {
    all.push_back({field.name, [&field](R r, I) -> Cell {
                     std::string text = text_of(field, r.workload);
                     if (field.is_number()) return static_cast<int64_t>(std::stoll(text));
                     return text;
                   }});
  }
  const std::vector<Column> measured = {
      {"verdict", [](R r, I) -> Cell { return r.verdict; }},
      {"reason", [](R r, I) -> Cell { return r.reason; }},
      {"max_err", [](R r, I) { return optional_cell(r.max_err); }},
      {"rel_l2", [](R r, I) { return optional_cell(r.rel_l2); }},
      {"lse_err", [](R r, I) { return optional_cell(r.lse_err); }},
      {"kv_bytes", [](R r, I) -> Cell { return r.kv_bytes; }},
      {"cold_us", [](R r, I) { return median(us(cold(r))); }},
      {"cold_low_us", [](R r, I) { return low(us(cold(r))); }},
      {"cold_high_us", [](R r, I) { return high(us(cold(r))); }},
      {"hot_us", [](R r, I) { return median(us(hot(r))); }},
      {"hot_low_us", [](R r, I) { return low(us(hot(r))); }},
      {"hot_high_us", [](R r, I) { return high(us(hot(r))); }},
      {"ci", ci},
      {"speedup", [](R r, I i) { return median(leading_speedup(r, i)); }},
      {"cold_speedup", [](R r, I) { return median(cold_speedup(r)); }},
      {"cold_speedup_low", [](R r, I) { return low(cold_speedup(r)); }},
      {"cold_speedup_high", [](R r, I) { return high(cold_speedup(r)); }},
      {"hot_speedup", [](R r, I) { return median(hot_speedup(r)); }},
      {"hot_speedup_low", [](R r, I) { return low(hot_speedup(r)); }},
      {"hot_speedup_high", [](R r, I) { return high(hot_speedup(r)); }},
      {"gb_per_s", rate},
      {"floor_us", [](R r, I) { return median(floor(r)); }},
      {"floor_share", [](R r, I i) { return share(floor(r), r, i); }},
      {"paged_floor_us", [](R r, I) { return median(paged_floor(r)); }},
      {"paged_floor_share", [](R r, I i) { return share(paged_floor(r), r, i); }},
      {"fma_floor_us", [](R r, I) { return r.floors ? Cell(r.floors->fma_floor_us) : Cell(); }},
      {"first_call_us", [](R r, I) { return of_timing(r, &Timing::first_call_us); }},
      {"workspace_bytes", [](R r, I) { return of_timing(r, &Timing::workspace_bytes); }},
      {"stopped_by", [](R r, I) { return of_timing(r, &Timing::stopped_by); }},
      {"impossible", [](R r, I) { return of_timing(r, &Timing::impossible); }},
      {"from_cache", [](R r, I) { return of_timing(r, &Timing::from_cache); }},
      {"involuntary_switches", [](R r, I) { return of_timing(r, &Timing::involuntary_switches); }},
      {"steal_share", [](R r, I) { return r.floors ? Cell(r.floors->steal_share) : Cell(); }},
      {"repro", [](R r, I i) -> Cell { return repro_command(r, i); }},
  };
  all.insert(all.end(), measured.begin(), measured.end());
  return all;
}

}  // namespace

const std::vector<Column>& columns() {
  static const std::vector<Column> all = make_columns();
  return all;
}

Cell cell(std::string_view key, const Row& row, const ReportInfo& info) {
  for (const Column& column : columns()) {
    if (column.key == key) return column.value(row, info);
  }
  return {};
}

std::string repro_command(const Row& row, const ReportInfo& info) {
  const std::string& baseline = info.baseline.empty() ? info.implementations.front() : info.baseline;
  std::string command = "quire bench " + flags_of(row.workload) + " --impl ";
  if (baseline != row.implementation) command += baseline + ',';
  command += row.implementation;
  if (!info.run_flags.empty()) command += ' ' + info.run_flags;
  return command;
}

}  // namespace quire::bench
