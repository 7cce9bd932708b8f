#include "bench/environment.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace quire::bench {
namespace {

TEST(Environment, knows_this_machine_and_build) {
  const Environment e = read_environment();
  EXPECT_EQ(e.time.size(), 20u);
  EXPECT_FALSE(e.cpu_model.empty());
  EXPECT_GE(e.processors, 1);
  EXPECT_GE(e.threads_available, 1);
  EXPECT_LE(e.threads_available, e.processors);
  EXPECT_FALSE(e.affinity.empty());
  EXPECT_GT(e.memory_bytes, 0);
  EXPECT_EQ(e.quire_version, "0.1.0");
  EXPECT_FALSE(e.git_revision.empty());
  EXPECT_FALSE(e.compiler.empty());
  EXPECT_FALSE(e.build_type.empty());
  EXPECT_FALSE(e.simd_target.empty());
}

TEST(Environment, has_no_more_memory_to_give_than_there_is) {
  const int64_t available = available_memory_bytes();
  EXPECT_GT(available, 0);
  EXPECT_LE(available, read_environment().memory_bytes);
}

TEST(Environment, calls_the_largest_cache_the_last) {
  Environment e;
  EXPECT_FALSE(last_level_cache_bytes(e).has_value());
  e.caches = {{1, "Data", 100}, {3, "Unified", 5000}, {2, "Unified", 700}};
  EXPECT_EQ(last_level_cache_bytes(e), 5000);
}

TEST(Environment, names_every_part_in_json) {
  const nlohmann::ordered_json json = to_json(read_environment());
  for (const char* key : {"time", "cpu_model", "cpu_flags", "processors", "threads_available", "affinity", "cpu_quota",
                          "governor", "caches", "memory_bytes", "kernel", "quire_version", "git_revision", "compiler",
                          "compiler_flags", "build_type", "simd_target", "blas"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}

}  // namespace
}  // namespace quire::bench
