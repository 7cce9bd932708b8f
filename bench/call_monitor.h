// A page of memory that worker and parent share: what the worker is doing, and which implementation is being called
// right now. Writing to it needs no system call, so that it disturbs no measurement, and it outlives a crash.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace quire::bench {

class CallMonitor {
 public:
  static constexpr int64_t kNone = -1;

  /// In a parent's memory; the worker maps it.
  explicit CallMonitor(pid_t parent) : parent_(parent) {}

  /// The process that started the worker.
  pid_t parent() const { return parent_; }

  /// A call of the implementation at this index of job.implementations begins, and ends.
  void begin(int64_t implementation) {
    running_.store(implementation, std::memory_order_relaxed);
    calls_.fetch_add(1, std::memory_order_relaxed);
  }
  void end() { running_.store(kNone, std::memory_order_relaxed); }

  /// The implementation that is being called, or kNone.
  int64_t running() const { return running_.load(std::memory_order_relaxed); }
  /// Calls begun so far: while this stands still, that call goes on.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

  /// What is being done, for people to read. Who reads while it is written may see parts of two texts.
  void set_activity(std::string_view text) {
    for (size_t i = 0; i < activity_.size(); ++i) {
      activity_[i].store(i < text.size() ? text[i] : '\0', std::memory_order_relaxed);
    }
  }
  std::string activity() const {
    std::string text;
    for (const std::atomic<char>& c : activity_) {
      if (c.load(std::memory_order_relaxed) == '\0') break;
      text += c.load(std::memory_order_relaxed);
    }
    return text;
  }

  /// The monitor in the memory that `descriptor` (of a memfd) stands for; null where it cannot be mapped.
  static CallMonitor* map(int descriptor) {
    void* memory = mmap(nullptr, sizeof(CallMonitor), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<CallMonitor*>(memory);
  }

 private:
  pid_t parent_;
  std::atomic<int64_t> running_{kNone};
  std::atomic<uint64_t> calls_{0};
  std::array<std::atomic<char>, 100> activity_{};
};
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<char>::is_always_lock_free);

}  // namespace quire::bench
