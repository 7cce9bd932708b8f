#include "bench/environment.h"

#include <fmt/format.h>
#include <hwy/detect_targets.h>
#include <hwy/targets.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/build_info.h"
#include "bench/git_revision.h"
#include "quire/quire.h"

namespace quire::bench {
namespace {

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of "key : value" in a file of such lines, such as /proc/cpuinfo; "" where there is none.
std::string value_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.find_first_not_of(" \t", key.size()) != colon) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// "32K" or "16384 kB" -> bytes; 0 where it is neither.
int64_t parse_size(const std::string& text) {
  std::istringstream stream(text);
  int64_t count = 0;
  std::string unit;
  if (!(stream >> count)) return 0;
  stream >> unit;
  if (unit == "K" || unit == "kB") return count * 1024;
  if (unit == "M") return count * 1024 * 1024;
  return count;
}

std::vector<std::string> kernel_choosing_flags(const std::string& all) {
  const char* const prefixes[] = {"avx", "fma", "f16c", "amx", "asimd", "sve", "bf16"};
  std::vector<std::string> chosen;
  std::istringstream stream(all);
  for (std::string flag; stream >> flag;) {
    if (std::any_of(std::begin(prefixes), std::end(prefixes), [&](const char* p) { return flag.rfind(p, 0) == 0; })) {
      chosen.push_back(flag);
    }
  }
  return chosen;
}

std::vector<CacheLevel> read_caches() {
  std::vector<CacheLevel> caches;
  for (int i = 0;; ++i) {
    const std::string directory = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + '/';
    const std::string level = read_line(directory + "level");
    if (level.empty()) return caches;
    caches.push_back({std::stoi(level), read_line(directory + "type"), parse_size(read_line(directory + "size"))});
  }
}

// The directories of this process's cgroup (version 2) and of all above it.
std::vector<std::string> cgroup_directories() {
  std::vector<std::string> directories;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) != 0) continue;
    for (std::string path = line.substr(3); !path.empty(); path.resize(path.rfind('/'))) {
      directories.push_back("/sys/fs/cgroup" + path);
      if (path.rfind('/') == std::string::npos) break;
    }
  }
  directories.emplace_back("/sys/fs/cgroup");
  return directories;
}

std::string read_quota() {
  for (const std::string& directory : cgroup_directories()) {
    const std::string quota = read_line(directory + "/cpu.max");
    if (!quota.empty() && quota.rfind("max", 0) != 0) return quota;
  }
  return "";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text, length);
}

// The instruction set that run-time dispatch picks: targets that this build has and this processor runs, the best of
// which has the lowest bit.
std::string simd_target() {
  const int64_t usable = hwy::SupportedTargets() & static_cast<int64_t>(HWY_TARGETS);
  return hwy::TargetName(usable & -usable);
}

std::string first_of(std::initializer_list<std::string> candidates) {
  for (const std::string& candidate : candidates) {
    if (!candidate.empty()) return candidate;
  }
  return "";
}

}  // namespace

Environment read_environment() {
  Environment e;
  e.time = utc_now();
  e.cpu_model =
      first_of({value_of("/proc/cpuinfo", "model name"), value_of("/proc/cpuinfo", "CPU part"), "unknown CPU"});
  e.cpu_flags =
      kernel_choosing_flags(first_of({value_of("/proc/cpuinfo", "flags"), value_of("/proc/cpuinfo", "Features")}));
  e.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  e.threads_available = available_threads();
  e.affinity = value_of("/proc/self/status", "Cpus_allowed_list");
  e.cpu_quota = read_quota();
  e.governor = read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  e.caches = read_caches();
  e.memory_bytes = parse_size(value_of("/proc/meminfo", "MemTotal"));
  if (utsname name{}; uname(&name) == 0) e.kernel = std::string(name.sysname) + ' ' + name.release + ' ' + name.machine;
  e.quire_version = kVersion;
  e.git_revision = kGitRevision;
  e.compiler = kCompiler;
  e.compiler_flags = kCompilerFlags;
  e.build_type = kBuildType;
  e.simd_target = simd_target();
  e.blas = kBlas;
  return e;
}

nlohmann::ordered_json to_json(const Environment& e) {
  nlohmann::ordered_json caches = nlohmann::ordered_json::array();
  for (const CacheLevel& cache : e.caches) {
    caches.push_back({{"level", cache.level}, {"type", cache.type}, {"bytes", cache.bytes}});
  }
  return {{"time", e.time},
          {"cpu_model", e.cpu_model},
          {"cpu_flags", e.cpu_flags},
          {"processors", e.processors},
          {"threads_available", e.threads_available},
          {"affinity", e.affinity},
          {"cpu_quota", e.cpu_quota},
          {"governor", e.governor},
          {"caches", caches},
          {"memory_bytes", e.memory_bytes},
          {"kernel", e.kernel},
          {"quire_version", e.quire_version},
          {"git_revision", e.git_revision},
          {"compiler", e.compiler},
          {"compiler_flags", e.compiler_flags},
          {"build_type", e.build_type},
          {"simd_target", e.simd_target},
          {"blas", e.blas}};
}

std::string machine_line(const Environment& e, int threads) {
  std::string line = fmt::format("{}, {} thread{}, {}", e.cpu_model, threads, threads == 1 ? "" : "s", e.simd_target);
  if (const std::optional<int64_t> cache = last_level_cache_bytes(e)) {
    line += fmt::format(", last-level cache {:.4g} MiB", static_cast<double>(*cache) / (1024 * 1024));
  }
  return line;
}

std::optional<int64_t> last_level_cache_bytes(const Environment& e) {
  int64_t largest = 0;
  for (const CacheLevel& cache : e.caches) largest = std::max(largest, cache.bytes);
  return largest > 0 ? std::optional(largest) : std::nullopt;
}

int64_t available_memory_bytes() {
  int64_t bytes = parse_size(value_of("/proc/meminfo", "MemAvailable"));
  if (bytes == 0) bytes = std::numeric_limits<int64_t>::max();
  std::vector<std::string> limits = {read_line("/sys/fs/cgroup/memory/memory.limit_in_bytes")};
  for (const std::string& directory : cgroup_directories()) limits.push_back(read_line(directory + "/memory.max"));
  for (const std::string& limit : limits) {
    if (const int64_t value = parse_size(limit); value > 0) bytes = std::min(bytes, value);
  }
  return bytes;
}

}  // namespace quire::bench
