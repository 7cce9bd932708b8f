// The table on stdout: the seed's columns first, then what it lacked; at most kTableWidth columns wide.
#pragma once

#include <string>
#include <vector>

#include "bench/columns.h"

namespace quire::bench {

inline constexpr size_t kTableWidth = 100;

struct TableStyle {
  bool color = false;  // verdicts other than yes stand out
};

/// The run's first lines: device, what is compared, the legend.
std::string table_head(const ReportInfo& info);

/// One point: its shape, a line a row, reasons of rows that are not yes, what the floors are. `rows` is not empty.
std::string table_of_point(const std::vector<Row>& rows, const ReportInfo& info, TableStyle style);

/// The run's last lines: how to read it, and a count of verdicts.
std::string table_foot(const std::vector<Row>& rows, const ReportInfo& info);

/// "batch_size=8, seq_len=2048", for progress and messages.
std::string point_name(const Workload& workload);

}  // namespace quire::bench
