// A page of memory that worker and parent share: which implementation is being called right now. Storing to it costs the
// timed path nothing, and it outlives a crash.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace quire::bench {

struct CallMonitor {
  static constexpr int64_t kNone = -1;

  std::atomic<int64_t> running{kNone};  // index into job.implementations while one is called
  std::atomic<uint64_t> calls{0};       // begun so far: while it stands still, that call goes on

  void begin(int64_t implementation) {
    running.store(implementation, std::memory_order_relaxed);
    calls.fetch_add(1, std::memory_order_relaxed);
  }
  void end() { running.store(kNone, std::memory_order_relaxed); }

  /// The monitor in the memory that `descriptor` (of a memfd) stands for; null where it cannot be mapped.
  static CallMonitor* map(int descriptor) {
    void* memory = mmap(nullptr, sizeof(CallMonitor), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<CallMonitor*>(memory);
  }
};
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

}  // namespace quire::bench
