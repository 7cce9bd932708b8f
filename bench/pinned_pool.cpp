#include "bench/pinned_pool.h"

namespace quire::bench {
namespace {

cpu_set_t affinity_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // Where it cannot be read the mask stays empty, and setting an empty one fails: nothing is pinned.
  (void)sched_getaffinity(0, sizeof mask, &mask);
  return mask;
}

cpu_set_t first_of(const cpu_set_t& mask) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) CPU_SET(cpu, &one);
  }
  return one;
}

}  // namespace

// The pool pins its threads to the processors behind the first, which is the caller's. It must start them before the
// caller is pinned: they inherit the caller's mask.
PinnedPool::PinnedPool(int threads) : callers_mask_(affinity_mask()), pool_(threads, true) {
  const cpu_set_t first = first_of(callers_mask_);
  (void)sched_setaffinity(0, sizeof first, &first);
}

PinnedPool::~PinnedPool() { (void)sched_setaffinity(0, sizeof callers_mask_, &callers_mask_); }

}  // namespace quire::bench
