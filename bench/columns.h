// The one column table: what a row says, by stable keys. JSON and CSV write all of it, the table on stdout shows some.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/environment.h"
#include "bench/job.h"

namespace quire::bench {

/// What a report says beyond its rows.
struct ReportInfo {
  Environment environment;
  std::vector<std::string> argv;
  std::vector<std::string> implementations;  // in row order
  std::string baseline;                      // as chosen; empty: the first row that ran
  std::string run_flags;                     // flags of a row's repro command that are not its point's
  int threads = 1;
  bool cold = true;  // what was measured; speedup and shares are of the cold times where there are any
  bool hot = true;
};

/// A value of a row; nothing where it was not taken.
using Cell = std::variant<std::monostate, bool, int64_t, double, std::string>;

struct Column {
  std::string key;  // of JSON and CSV
  std::function<Cell(const Row& row, const ReportInfo& info)> value;
};

/// All columns, in CSV order.
const std::vector<Column>& columns();

/// One value by its key, which must exist.
Cell cell(std::string_view key, const Row& row, const ReportInfo& info);

/// The command that measures this row, and the baseline it is compared with, once more.
std::string repro_command(const Row& row, const ReportInfo& info);

}  // namespace quire::bench
