// Executor::parallel_for for lambdas.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>

#include "bench/clock.h"
#include "quire/executor.h"

namespace quire::bench {

/// Calls task(i) once for each i in [0, count) on the executor's threads; returns when all have returned.
template <typename Task>
void parallel_for(Executor& executor, int64_t count, Task&& task) {
  executor.parallel_for(
      count, [](void* context, int64_t i) { (*static_cast<std::remove_reference_t<Task>*>(context))(i); },
      std::addressof(task));
}

/// Calls task(i) once for each i in [0, executor.num_threads()), each on a thread of its own: none begins before all
/// have one. So every thread is awake afterwards.
template <typename Task>
void on_every_thread(Executor& executor, Task&& task) {
  // For an executor that has fewer threads than it says, or cannot run them all at once.
  constexpr double kPatienceUs = 1000;
  const int threads = executor.num_threads();
  const double start = now_us();
  std::atomic<int> arrived{0};
  parallel_for(executor, threads, [&](int64_t i) {
    arrived.fetch_add(1, std::memory_order_relaxed);
    while (arrived.load(std::memory_order_relaxed) < threads && now_us() - start < kPatienceUs) {
    }
    task(i);
  });
}

}  // namespace quire::bench
