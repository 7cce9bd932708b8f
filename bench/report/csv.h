// Rows as CSV (RFC 4180): a header line, then one line a row.
#pragma once

#include <string>
#include <vector>

#include "bench/columns.h"

namespace quire::bench {

std::string csv_report(const std::vector<Row>& rows, const ReportInfo& info);

}  // namespace quire::bench
