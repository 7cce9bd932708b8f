// Checks that only the library itself needs; the public ones are in quire/attention.h.
#pragma once

#include "quire/attention.h"

namespace quire {

/// The part of validate_args() that concerns what a call reads: query, caches, tables and lengths.
Status validate_input_memory(const AttentionSpec& spec, const AttentionArgs& args);

}  // namespace quire
