// Version of this copy of Quire.
#pragma once

#define QUIRE_VERSION_MAJOR 0
#define QUIRE_VERSION_MINOR 1
#define QUIRE_VERSION_PATCH 0

namespace quire {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace quire
