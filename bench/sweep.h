// Axes -> grid of points, and what is refused before the first of them runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/fields.h"
#include "bench/workload.h"

namespace quire::bench {

/// One axis of the grid: a field and the values it takes.
struct Axis {
  const Field* field;
  std::vector<std::string> values;  // as set_field() takes them
};

/// Every combination of the axes' values on top of `base`, the last axis varying fastest. kv_dtype follows dtype where
/// it has no axis. Refuses more than kMaxPoints.
Result<std::vector<Workload>> sweep(const Workload& base, const std::vector<Axis>& axes);
inline constexpr int64_t kMaxPoints = 10'000;

/// Bytes of the data that a worker makes for a point: kCases times query, K, V, table and output. May be infinite.
double data_bytes(const Workload& workload);
inline constexpr int kCases = 4;  // three sets of inputs, which rotate between samples, and the probes'

/// Ok where each point is a legal problem that fits into `memory_bytes`. Errors name flags and values.
Status check_points(const std::vector<Workload>& points, int64_t memory_bytes);

}  // namespace quire::bench
