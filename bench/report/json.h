// Rows as JSON, the canonical form of a report: every other writer says less, and a journal is lines of the same rows.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/columns.h"

namespace quire::bench {

/// {"schema": 1, "environment": {...}, "argv": [...], "rows": [...]}, one row a line. NaN and infinities become null.
std::string json_report(const std::vector<Row>& rows, const ReportInfo& info);

/// Every column by its key, then the raw samples and the floors. One line, without its end.
std::string json_row(const Row& row, const ReportInfo& info);

/// The row that json_row() wrote. Fails on what json_row() cannot have written.
Result<Row> parse_json_row(const nlohmann::json& json);

}  // namespace quire::bench
