#include "bench/report/json.h"

#include <nlohmann/json.hpp>
#include <type_traits>

namespace quire::bench {
namespace {

using nlohmann::ordered_json;

// One line. A name that is no UTF-8 is no reason to lose a report.
template <typename Json>
std::string line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ordered_json to_json(const Cell& value) {
  return std::visit(
      [](const auto& v) -> ordered_json {
        if constexpr (std::is_same_v<decltype(v), const std::monostate&>)
          return nullptr;
        else
          return v;
      },
      value);
}

ordered_json to_json(const Interval& interval) {
  return {{"low", interval.low}, {"median", interval.median}, {"high", interval.high}};
}

ordered_json to_json(const std::map<std::string, Series>& kernels) {
  ordered_json all = ordered_json::object();
  for (const auto& [name, series] : kernels)
    all[name] = {{"us", to_json(series.us)}, {"samples_us", series.samples_us}};
  return all;
}

ordered_json to_json(const Floors& floors) {
  return {{"floor_us", to_json(floors.floor_us)}, {"paged_floor_us", to_json(floors.paged_floor_us)},
          {"fma_per_us", floors.fma_per_us},      {"best_stream", floors.best_stream},
          {"best_paged", floors.best_paged},      {"stream", to_json(floors.stream)},
          {"paged", to_json(floors.paged)}};
}

ordered_json samples_of(const Row& row) {
  ordered_json samples = ordered_json::object();
  if (row.timing && row.timing->cold) samples["cold_us"] = row.timing->cold->samples_us;
  if (row.timing && row.timing->hot) samples["hot_us"] = row.timing->hot->samples_us;
  return samples;
}

std::string row_line(const Row& row, const ReportInfo& info) {
  ordered_json json = ordered_json::object();
  for (const Column& column : columns()) json[column.key] = to_json(column.value(row, info));
  if (!row.workload.context_lens.empty()) json["context_lens"] = row.workload.context_lens;
  json["samples"] = samples_of(row);
  json["floors"] = row.floors ? to_json(*row.floors) : ordered_json(nullptr);
  return line(json);
}

}  // namespace

std::string json_report(const std::vector<Row>& rows, const ReportInfo& info) {
  std::string text = "{\"schema\": 1,\n\"environment\": " + line(to_json(info.environment)) +
                     ",\n\"argv\": " + line(ordered_json(info.argv)) + ",\n\"rows\": [";
  const char* separator = "\n";
  for (const Row& row : rows) {
    text += separator + row_line(row, info);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace quire::bench
