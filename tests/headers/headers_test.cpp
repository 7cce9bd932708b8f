// The program that the headers' own sources are linked into. That it links is most of the test; the rest is that
// version.h states the project's version.
#include <cstdio>
#include <string>

#include "quire/version.h"

int main() {
  const std::string numbers = std::to_string(QUIRE_VERSION_MAJOR) + "." + std::to_string(QUIRE_VERSION_MINOR) + "." +
                              std::to_string(QUIRE_VERSION_PATCH);
  if (numbers == PROJECT_VERSION && numbers == quire::kVersion) return 0;
  std::printf("CMakeLists.txt says %s, version.h %s and %s\n", PROJECT_VERSION, numbers.c_str(), quire::kVersion);
  return 1;
}
