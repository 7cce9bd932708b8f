// The limits of this machine, as a table: what reads and multiply-adds cost, before any implementation is asked.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/job.h"

namespace quire::bench {

/// Every read kernel at one size, contiguous memory.
struct ReadCalibration {
  int64_t bytes = 0;
  bool cold = false;                    // evicted before each read; else read once before, untimed
  std::map<std::string, Series> reads;  // by kernel
  std::string best;
};

struct Calibration {
  int threads = 0;
  std::vector<ReadCalibration> reads;
  double multiply_adds_per_us = 0;  // single precision, all threads
  Interval handover_us;             // until every thread has taken up a task and all are done, when all are awake
  Interval wake_us;                 // the same when all but the caller are asleep
  double clock_us = 0;              // reading the clock twice
  std::string eviction_method;
};

/// Measures on `threads` pinned threads (0: available_threads()). Takes some 20 s; stops early once interrupted().
Calibration calibrate(int threads, const std::function<void(const std::string& text)>& progress);

}  // namespace quire::bench
