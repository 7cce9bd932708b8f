// A fixed set of threads. A call publishes a job under a new generation number; threads wait for the number to change by
// spinning for a moment (calls of a serving loop follow each other closely), then yielding, then sleeping, so that an
// idle pool costs nothing and a busy machine's cores are not held.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "quire/executor.h"

namespace quire {
namespace {

constexpr int kSpins = 2000;  // about 20-80 us of pause instructions
constexpr int kYields = 50;

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` differs from `old`.
template <typename T>
T wait_for_change(const std::atomic<T>& value, T old) noexcept {
  for (int i = 0; i < kSpins + kYields; ++i) {
    const T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    if (i < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

// The pool whose task the current thread is running: a call from inside a task must not wait for itself.
thread_local const void* running_pool = nullptr;

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
  std::mutex turn;  // held by the caller whose job runs
  std::vector<std::thread> threads;

  // The job, written by the caller before it changes `generation`.
  void (*task)(void* context, int64_t i) = nullptr;
  void* context = nullptr;
  int64_t count = 0;
  bool stop = false;

  alignas(64) std::atomic<uint32_t> generation{0};
  alignas(64) std::atomic<int64_t> next{0};      // first index not yet claimed
  alignas(64) std::atomic<uint32_t> working{0};  // started threads that have not finished the job

  void claim_until_done() noexcept {
    const void* outer = running_pool;
    running_pool = this;
    for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      task(context, i);
    }
    running_pool = outer;
  }

  void work() noexcept {
    for (uint32_t seen = 0;;) {
      seen = wait_for_change(generation, seen);
      if (stop) return;
      claim_until_done();
      if (working.fetch_sub(1, std::memory_order_acq_rel) == 1) working.notify_one();
    }
  }

  void publish() noexcept {
    working.store(static_cast<uint32_t>(threads.size()), std::memory_order_relaxed);
    next.store(0, std::memory_order_relaxed);
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
  }
};

ThreadPool::ThreadPool(int num_threads, bool pin_threads) noexcept : state_(std::make_unique<State>()) {
  if (num_threads <= 0) num_threads = available_threads();
  try {
    state_->threads.reserve(static_cast<size_t>(num_threads - 1));
    for (int i = 1; i < num_threads; ++i) {
      state_->threads.emplace_back([state = state_.get()] { state->work(); });
      if (pin_threads) keep_to_processor(state_->threads.back(), i);
    }
  } catch (const std::system_error&) {
    // The system has no more threads: those that started will do.
  }
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->publish();
  for (std::thread& thread : state_->threads) thread.join();
}

int ThreadPool::num_threads() const noexcept { return static_cast<int>(state_->threads.size()) + 1; }

void ThreadPool::parallel_for(int64_t count, void (*task)(void* context, int64_t i), void* context) noexcept {
  State& state = *state_;
  if (count <= 1 || state.threads.empty() || running_pool == &state) {
    for (int64_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  const std::lock_guard lock(state.turn);
  state.task = task;
  state.context = context;
  state.count = count;
  state.publish();
  state.claim_until_done();
  for (uint32_t left = state.working.load(std::memory_order_acquire); left != 0;) {
    left = wait_for_change(state.working, left);
  }
}

Executor& default_executor() noexcept {
  // Never destroyed: other threads may still use it while the process exits.
  static ThreadPool* const pool = new ThreadPool();
  return *pool;
}

}  // namespace quire
