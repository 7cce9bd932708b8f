// The times of all implementations at one point, and of what the point costs at least, taken in turns.
#pragma once

#include <string>
#include <vector>

#include "bench/check.h"
#include "bench/job.h"

namespace quire::bench {

/// An implementation under measurement, and what became of it.
struct MeasuredSubject {
  Subject subject;
  Timing timing;
  std::string wrong;  // not empty: a timed call failed or its output was wrong, and why; it was not called again
};

/// Measures in rounds. In each, every subject is called once, in an order that rotates, on the inputs of one set, which
/// rotate too, and every read kernel is timed likewise, contiguous and through the table. All timed outputs are
/// compared with their set's reference. Fills the timings and returns the floors.
Floors measure(Checker& checker, std::vector<MeasuredSubject>& subjects, const MeasureOptions& options,
               const std::string& baseline, Executor& executor, CallObserver& observer);

}  // namespace quire::bench
