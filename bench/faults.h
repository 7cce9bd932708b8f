// Decode gone wrong on purpose: implementations with one planted mistake each, known to `quire self-test` alone. A
// checker that misses one of them proves nothing.
#pragma once

#include <span>
#include <string_view>

#include "quire/implementation.h"

namespace quire::bench {

/// Faults that compute something else than decode. Each must be found wrong wherever supports() says that the shape
/// lets it show; where it does not, the status says why.
std::span<const Implementation* const> faults() noexcept;

/// The fault of that name, or null: one of faults(), or one that breaks its process (null-read, abort, endless-loop) or
/// belongs to that test (dead-slots-read).
const Implementation* find_fault(std::string_view name) noexcept;

}  // namespace quire::bench
