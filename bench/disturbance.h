// What the system did to a measurement: processor time that went elsewhere.
#pragma once

#include <cstdint>

namespace quire::bench {

/// How often a thread of this process lost its processor though it wanted to run.
int64_t involuntary_switches();

/// Processor time of the machine since it started, in ticks; zeros where the system does not say.
struct ProcessorTime {
  int64_t total = 0;
  int64_t stolen = 0;  // by the hypervisor, for other machines

  static ProcessorTime now();
};

/// The share of the time between two readings that was stolen; 0 where there was none.
double stolen_share(const ProcessorTime& begin, const ProcessorTime& end);

}  // namespace quire::bench
