#include "bench/disturbance.h"

#include <sys/resource.h>

#include <fstream>
#include <string>

namespace quire::bench {

int64_t involuntary_switches() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// The first line of /proc/stat: "cpu" and the ticks spent in user, nice, system, idle, iowait, irq, softirq, steal.
ProcessorTime ProcessorTime::now() {
  constexpr int kColumns = 8;
  ProcessorTime time;
  std::ifstream file("/proc/stat");
  std::string label;
  file >> label;
  int64_t ticks = 0;
  for (int column = 0; column < kColumns && file >> ticks; ++column) {
    time.total += ticks;
    if (column == kColumns - 1) time.stolen = ticks;
  }
  return time;
}

double stolen_share(const ProcessorTime& begin, const ProcessorTime& end) {
  if (end.total <= begin.total) return 0;
  return static_cast<double>(end.stolen - begin.stolen) / static_cast<double>(end.total - begin.total);
}

}  // namespace quire::bench
