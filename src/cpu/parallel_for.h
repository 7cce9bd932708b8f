// Executor::parallel_for with a callable.
#pragma once

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

}  // namespace quire
