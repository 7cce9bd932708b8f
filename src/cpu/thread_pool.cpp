// A fixed set of threads. A caller opens a gate, threads that come while it is open help with the job, and when every
// index is claimed the caller closes it and waits for those inside. A thread that comes too late, since its processor
// was busy, is not waited for; in a forked child, which has no threads but the caller's, none ever comes.
//
// Waiting is spinning for a moment (the calls of a serving loop follow each other closely), then yielding, then
// sleeping: an idle pool costs nothing, and a shared processor is not held.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "quire/executor.h"

namespace quire {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpinTime = std::chrono::microseconds(40);   // about what waking a sleeping thread takes
constexpr auto kYieldTime = std::chrono::microseconds(40);  // after that

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` differs from `old`; returns it.
uint32_t wait_for_change(const std::atomic<uint32_t>& value, uint32_t old) noexcept {
  const Clock::time_point start = Clock::now();
  for (Clock::duration waited{}; waited < kSpinTime + kYieldTime; waited = Clock::now() - start) {
    if (waited >= kSpinTime) std::this_thread::yield();
    for (int i = 0; i < 16; ++i) {
      const uint32_t now = value.load(std::memory_order_acquire);
      if (now != old) return now;
      pause();
    }
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

// Whether this thread is running a task of some pool: a call from inside a task waits for no pool, since that pool may
// be waiting for the task.
thread_local bool inside_task = false;

void keep_to_processor(std::thread& thread, int which) noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  which %= CPU_COUNT(&allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || which-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    // A refusal leaves the thread unpinned, which is slower to measure but not wrong.
    (void)pthread_setaffinity_np(thread.native_handle(), sizeof one, &one);
    return;
  }
}

}  // namespace

struct ThreadPool::State {
  static constexpr uint32_t kOpen = uint32_t{1} << 31;

  std::mutex turn;  // held by the caller whose job runs
  std::vector<std::thread> threads;

  // The job. Written while the gate is closed and nobody is inside.
  void (*task)(void* context, int64_t i) = nullptr;
  void* context = nullptr;
  int64_t count = 0;

  std::atomic<bool> stop{false};
  alignas(64) std::atomic<uint32_t> generation{0};  // changes with each job: what idle threads wait for
  alignas(64) std::atomic<uint32_t> gate{0};        // kOpen, and the number of threads inside
  alignas(64) std::atomic<int64_t> next{0};         // first index not yet claimed

  bool enter() noexcept {
    uint32_t seen = gate.load(std::memory_order_relaxed);
    while ((seen & kOpen) != 0) {
      if (gate.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  void leave() noexcept {
    if (gate.fetch_sub(1, std::memory_order_release) == 1) gate.notify_one();  // closed, and this was the last
  }

  void claim_until_done() noexcept {
    inside_task = true;
    for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      task(context, i);
    }
    inside_task = false;
  }

  void work() noexcept {
    for (uint32_t seen = 0;;) {
      seen = wait_for_change(generation, seen);
      if (stop.load(std::memory_order_relaxed)) return;
      if (!enter()) continue;
      claim_until_done();
      leave();
    }
  }

  void wake_all() noexcept {
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
  }

  void run_job() noexcept {
    next.store(0, std::memory_order_relaxed);
    gate.store(kOpen, std::memory_order_release);
    wake_all();
    claim_until_done();
    uint32_t inside = gate.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    while (inside != 0) inside = wait_for_change(gate, inside);
  }
};

ThreadPool::ThreadPool(int num_threads, bool pin_threads) noexcept : state_(new (std::nothrow) State) {
  if (state_ == nullptr) return;
  if (num_threads <= 0) num_threads = available_threads();
  try {
    state_->threads.reserve(static_cast<size_t>(num_threads - 1));
    for (int i = 1; i < num_threads; ++i) {
      state_->threads.emplace_back([state = state_.get()] { state->work(); });
      if (pin_threads) keep_to_processor(state_->threads.back(), i);
    }
  } catch (const std::exception&) {
    // The system has no more threads or memory: those that started will do.
  }
}

ThreadPool::~ThreadPool() {
  if (state_ == nullptr) return;
  state_->stop.store(true, std::memory_order_relaxed);
  state_->wake_all();
  for (std::thread& thread : state_->threads) thread.join();
}

int ThreadPool::num_threads() const noexcept {
  return state_ == nullptr ? 1 : static_cast<int>(state_->threads.size()) + 1;
}

void ThreadPool::parallel_for(int64_t count, void (*task)(void* context, int64_t i), void* context) noexcept {
  if (count <= 1 || inside_task || num_threads() == 1) {
    for (int64_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  const std::lock_guard lock(state_->turn);
  state_->task = task;
  state_->context = context;
  state_->count = count;
  state_->run_job();
}

Executor& default_executor() noexcept {
  // Never destroyed: other threads may still use it while the process exits.
  static ThreadPool* const pool = new ThreadPool();
  return *pool;
}

}  // namespace quire
