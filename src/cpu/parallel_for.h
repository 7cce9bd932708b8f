// Loops over an Executor: plain, and with a scratch slot that no other running item holds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "quire/executor.h"

namespace quire {

/// Calls body(i) once for each i in [0, count).
template <typename Body>
void parallel_for(Executor& executor, int64_t count, Body&& body) {
  executor.parallel_for(
      count, [](void* context, int64_t i) { (*static_cast<std::remove_reference_t<Body>*>(context))(i); }, &body);
}

/// Calls body(i, slot) once for each i in [0, count). Calls that run at the same time have different slots, all below
/// executor.num_threads(): what indexes per-thread scratch. Which slot serves which item changes from run to run.
template <typename Body>
void parallel_for_with_slot(Executor& executor, int64_t count, Body&& body) {
  std::atomic<int64_t> next{0};
  const int64_t slots = std::min<int64_t>(count, executor.num_threads());
  parallel_for(executor, slots, [&](int64_t slot) {
    for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      body(i, slot);
    }
  });
}

}  // namespace quire
