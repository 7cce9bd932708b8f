// Rows as JSON, the canonical form of a report: every other writer says less.
#pragma once

#include <string>
#include <vector>

#include "bench/columns.h"

namespace quire::bench {

/// {"schema": 1, "environment": {...}, "argv": [...], "rows": [...]}, a line a row: every column by its key, the raw
/// samples, and the point's floors with theirs. NaN and infinities become null.
std::string json_report(const std::vector<Row>& rows, const ReportInfo& info);

}  // namespace quire::bench
