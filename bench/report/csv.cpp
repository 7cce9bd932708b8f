#include "bench/report/csv.h"

#include <fmt/format.h>

#include <cmath>

namespace quire::bench {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted_text = "\"";
  for (const char c : text) {
    if (c == '"') quoted_text += '"';
    quoted_text += c;
  }
  return quoted_text + '"';
}

struct CellText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
  std::string operator()(const std::string& value) const { return quoted(value); }
};

}  // namespace

std::string csv_report(const std::vector<Row>& rows, const ReportInfo& info) {
  std::string text;
  const char* separator = "";
  for (const Column& column : columns()) {
    text += separator + column.key;
    separator = ",";
  }
  for (const Row& row : rows) {
    separator = "\r\n";
    for (const Column& column : columns()) {
      text += separator + std::visit(CellText{}, column.value(row, info));
      separator = ",";
    }
  }
  return text + "\r\n";
}

}  // namespace quire::bench
