// Who runs the CPU's work: an Executor the caller brings, a ThreadPool the caller owns, or the process's own pool.
#pragma once

#include <cstdint>
#include <memory>

namespace quire {

/// Runs the slices of a CPU call. Derive from it to run Quire on threads that exist already.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Threads that parallel_for may use at once, at least 1. Results are bit-equal for equal num_threads().
  virtual int num_threads() const noexcept = 0;

  /// Calls task(context, i) once for each i in [0, count), in any order and on any threads, and returns when all have
  /// returned. Must be callable from several threads at once.
  virtual void parallel_for(int64_t count, void (*task)(void* context, int64_t i), void* context) noexcept = 0;
};

/// Threads this process may use: its affinity mask, cut to its cgroup's CPU quota (rounded up); at least 1.
int available_threads() noexcept;

/// A fixed set of threads that spin briefly, then sleep. Several threads may call one pool; they take turns.
/// A call from inside a task runs on the calling thread.
class ThreadPool final : public Executor {
 public:
  /// Starts num_threads - 1 threads (the caller is the last one); 0 means available_threads(). Starts fewer, and says
  /// so in num_threads(), where the system has no more. With pin_threads each started thread keeps to one processor of
  /// the affinity mask; the caller's thread is never pinned.
  explicit ThreadPool(int num_threads = 0, bool pin_threads = false) noexcept;
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const noexcept override;
  void parallel_for(int64_t count, void (*task)(void* context, int64_t i), void* context) noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The pool used where the caller names none: made on first use, available_threads() wide, never destroyed.
Executor& default_executor() noexcept;

}  // namespace quire
