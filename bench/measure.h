// The times of all implementations at one point, and of what the point costs at least, taken in turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/check.h"
#include "bench/job.h"

namespace quire::bench {

/// An implementation under measurement, and what became of it.
struct MeasuredSubject {
  Subject subject;
  Timing timing;
  std::string wrong;  // not empty: a timed call's output was wrong, and why; it was not timed further
};

/// Called around each call of subject `index`.
struct CallHooks {
  std::function<void(size_t index)> begin;
  std::function<void()> end;
  std::function<void(const std::string& text)> progress;
};

/// Measures in rounds. In each, every subject is called once, in an order that rotates, on the inputs of one set, which
/// rotate too; cold rounds also time every read kernel, contiguous and through the table. Every timed output is compared
/// with its set's reference. Fills timings and returns the floors.
Floors measure(Checker& checker, std::vector<MeasuredSubject>& subjects, const MeasureOptions& options,
               const std::string& baseline, Executor& executor, const CallHooks& hooks);

}  // namespace quire::bench
