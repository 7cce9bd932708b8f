// Executor::parallel_for for lambdas.
#pragma once

#include <memory>
#include <type_traits>

#include "quire/executor.h"

namespace quire::bench {

/// Calls task(i) once for each i in [0, count) on the executor's threads; returns when all have returned.
template <typename Task>
void parallel_for(Executor& executor, int64_t count, Task&& task) {
  executor.parallel_for(
      count, [](void* context, int64_t i) { (*static_cast<std::remove_reference_t<Task>*>(context))(i); },
      std::addressof(task));
}

}  // namespace quire::bench
