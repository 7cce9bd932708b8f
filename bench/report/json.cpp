#include "bench/report/json.h"

#include "bench/fields.h"

namespace quire::bench {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// One line. A name that is no UTF-8 is no reason to lose a report.
template <typename Json>
std::string line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ordered_json to_json(const Cell& value) {
  return std::visit(
      [](const auto& v) -> ordered_json {
        if constexpr (std::is_same_v<decltype(v), const std::monostate&>) return nullptr;
        else return v;
      },
      value);
}

ordered_json to_json(const Interval& interval) {
  return {{"low", interval.low}, {"median", interval.median}, {"high", interval.high}};
}

ordered_json to_json(const std::map<std::string, Series>& kernels) {
  ordered_json all = ordered_json::object();
  for (const auto& [name, series] : kernels) all[name] = {{"us", to_json(series.us)}, {"samples_us", series.samples_us}};
  return all;
}

ordered_json to_json(const Floors& floors) {
  return {{"floor_us", to_json(floors.floor_us)},
          {"paged_floor_us", to_json(floors.paged_floor_us)},
          {"fma_per_us", floors.fma_per_us},
          {"best_stream", floors.best_stream},
          {"best_paged", floors.best_paged},
          {"stream", to_json(floors.stream)},
          {"paged", to_json(floors.paged)}};
}

ordered_json samples_of(const Row& row) {
  ordered_json samples = ordered_json::object();
  if (row.timing && row.timing->cold) samples["cold_us"] = row.timing->cold->samples_us;
  if (row.timing && row.timing->hot) samples["hot_us"] = row.timing->hot->samples_us;
  return samples;
}

std::optional<double> real(const json& row, const std::string& key) {
  return row.at(key).is_null() ? std::nullopt : std::optional(row.at(key).get<double>());
}

Interval parse_interval(const json& value) {
  return {value.at("low").get<double>(), value.at("median").get<double>(), value.at("high").get<double>()};
}

// The interval in a row's columns `key`, with `low` and `high` naming its ends.
std::optional<Interval> parse_interval(const json& row, const char* low, const char* key, const char* high) {
  if (row.at(key).is_null()) return std::nullopt;
  return Interval{row.at(low).get<double>(), row.at(key).get<double>(), row.at(high).get<double>()};
}

std::optional<Series> parse_series(const json& row, const char* low, const char* key, const char* high) {
  const std::optional<Interval> us = parse_interval(row, low, key, high);
  if (!us) return std::nullopt;
  return Series{row.at("samples").at(key).get<std::vector<double>>(), *us};
}

std::map<std::string, Series> parse_kernels(const json& kernels) {
  std::map<std::string, Series> all;
  for (const auto& [name, series] : kernels.items()) {
    all[name] = {series.at("samples_us").get<std::vector<double>>(), parse_interval(series.at("us"))};
  }
  return all;
}

Floors parse_floors(const json& row) {
  const json& value = row.at("floors");
  Floors floors;
  floors.stream = parse_kernels(value.at("stream"));
  floors.paged = parse_kernels(value.at("paged"));
  floors.best_stream = value.at("best_stream").get<std::string>();
  floors.best_paged = value.at("best_paged").get<std::string>();
  floors.floor_us = parse_interval(value.at("floor_us"));
  floors.paged_floor_us = parse_interval(value.at("paged_floor_us"));
  floors.fma_floor_us = row.at("fma_floor_us").get<double>();
  floors.fma_per_us = value.at("fma_per_us").get<double>();
  floors.steal_share = row.at("steal_share").get<double>();
  return floors;
}

Timing parse_timing(const json& row) {
  Timing timing;
  timing.cold = parse_series(row, "cold_low_us", "cold_us", "cold_high_us");
  timing.hot = parse_series(row, "hot_low_us", "hot_us", "hot_high_us");
  timing.cold_speedup = parse_interval(row, "cold_speedup_low", "cold_speedup", "cold_speedup_high");
  timing.hot_speedup = parse_interval(row, "hot_speedup_low", "hot_speedup", "hot_speedup_high");
  timing.first_call_us = row.at("first_call_us").get<double>();
  timing.workspace_bytes = row.at("workspace_bytes").get<int64_t>();
  timing.stopped_by = row.at("stopped_by").get<std::string>();
  timing.impossible = row.at("impossible").get<bool>();
  timing.from_cache = row.at("from_cache").get<bool>();
  timing.involuntary_switches = row.at("involuntary_switches").get<int64_t>();
  return timing;
}

Result<Workload> parse_workload(const json& row) {
  Workload workload;
  for (const Field& field : workload_fields()) {
    const json& value = row.at(field.name);
    const std::string text = field.is_number() ? std::to_string(value.get<int64_t>()) : value.get<std::string>();
    if (Status s = set_field(field, workload, text); !s.ok()) return s;
  }
  if (row.contains("context_lens")) workload.context_lens = row.at("context_lens").get<std::vector<int64_t>>();
  return workload;
}

}  // namespace

std::string json_row(const Row& row, const ReportInfo& info) {
  ordered_json json = ordered_json::object();
  for (const Column& column : columns()) json[column.key] = to_json(column.value(row, info));
  if (!row.workload.context_lens.empty()) json["context_lens"] = row.workload.context_lens;
  json["samples"] = samples_of(row);
  json["floors"] = row.floors ? to_json(*row.floors) : ordered_json(nullptr);
  return line(json);
}

std::string json_report(const std::vector<Row>& rows, const ReportInfo& info) {
  std::string text = "{\"schema\": 1,\n\"environment\": " + line(to_json(info.environment)) +
                     ",\n\"argv\": " + line(json(info.argv)) + ",\n\"rows\": [";
  const char* separator = "\n";
  for (const Row& row : rows) {
    text += separator + json_row(row, info);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

Result<Row> parse_json_row(const json& value) {
  try {
    Row row;
    row.implementation = value.at("implementation").get<std::string>();
    row.device = value.at("device").get<std::string>();
    const Result<Workload> workload = parse_workload(value);
    if (!workload.ok()) return workload.status();
    row.workload = *workload;
    row.verdict = value.at("verdict").get<std::string>();
    row.reason = value.at("reason").get<std::string>();
    row.max_err = real(value, "max_err");
    row.rel_l2 = real(value, "rel_l2");
    row.lse_err = real(value, "lse_err");
    row.kv_bytes = value.at("kv_bytes").get<int64_t>();
    if (!value.at("stopped_by").is_null()) row.timing = parse_timing(value);
    if (!value.at("floors").is_null()) row.floors = parse_floors(value);
    return row;
  } catch (const json::exception& error) {
    return Status(StatusCode::kInvalidArgument, error.what());
  }
}

}  // namespace quire::bench
