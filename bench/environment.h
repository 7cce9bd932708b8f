// Where a measurement was taken: machine, limits, build. Read from /proc and /sys; what cannot be read is left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace quire::bench {

struct CacheLevel {
  int level = 0;
  std::string type;  // "Data", "Instruction" or "Unified"
  int64_t bytes = 0;
};

struct Environment {
  std::string time;  // UTC, ISO 8601, when the run began
  std::string cpu_model;
  std::vector<std::string> cpu_flags;  // those that choose a kernel
  int processors = 0;                  // online in the machine
  int threads_available = 0;           // affinity mask, cut to the CPU quota
  std::string affinity;                // such as "0-3,8"
  std::string cpu_quota;               // cpu.max of the cgroup; empty: no limit found
  std::string governor;                // of processor 0's clock
  std::vector<CacheLevel> caches;      // of processor 0
  int64_t memory_bytes = 0;
  std::string kernel;
  std::string quire_version, git_revision, compiler, compiler_flags, build_type, simd_target, blas;
};

Environment read_environment();

nlohmann::ordered_json to_json(const Environment& environment);

/// One line: processor, threads, instruction set, last-level cache.
std::string machine_line(const Environment& environment, int threads);

/// Bytes of the largest cache; nothing where the system does not say.
std::optional<int64_t> last_level_cache_bytes(const Environment& environment);

/// Bytes that may still be allocated: the machine's available memory, less where a cgroup sets a lower limit.
int64_t available_memory_bytes();

}  // namespace quire::bench
