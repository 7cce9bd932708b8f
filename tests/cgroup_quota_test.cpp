// Quotas of cgroups that exist only as files in a directory of the test's own.
#include "src/cpu/cgroup_quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace quire {
namespace {

class CgroupQuota : public testing::Test {
 protected:
  CgroupQuota() { std::filesystem::remove_all(mount_); }
  ~CgroupQuota() override { std::filesystem::remove_all(mount_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = mount_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  double quota(const std::string& membership, double limit) {
    write("membership", membership);
    return cgroup_quota((mount_ / "membership").string(), mount_.string(), limit);
  }

 private:
  const std::filesystem::path mount_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("quire_cgroup_quota_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CgroupQuota, is_the_limit_where_nothing_is_set) {
  EXPECT_EQ(quota("0::/\n", 8), 8);
  EXPECT_EQ(quota("", 8), 8);
  EXPECT_EQ(cgroup_quota("/nonexistent", "/nonexistent", 8), 8);
  write("group/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/group\n", 8), 8);
}

TEST_F(CgroupQuota, is_time_over_period) {
  write("group/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota("0::/group\n", 8), 1.5);
  EXPECT_EQ(quota("0::/group\n", 1), 1) << "a quota above the limit does not raise it";
}

TEST_F(CgroupQuota, is_the_tightest_on_the_way_to_the_root) {
  write("cpu.max", "700000 100000\n");
  write("a/cpu.max", "200000 100000\n");
  write("a/b/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota("0::/a/b\n", 8), 2);
  EXPECT_EQ(quota("0::/\n", 8), 7);
  EXPECT_EQ(quota("0::/not/mounted/here\n", 8), 7) << "a container sees its own group as the root";
}

TEST_F(CgroupQuota, knows_the_first_version) {
  write("cpu/a/cpu.cfs_quota_us", "250000\n");
  write("cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("4:memory:/a\n3:cpu,cpuacct:/a\n", 8), 2.5);
  EXPECT_EQ(quota("4:cpuset:/a\n", 8), 8) << "a controller whose name only begins like it";
  write("cpu/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota("3:cpuacct,cpu:/a\n", 8), 8);
}

TEST_F(CgroupQuota, passes_over_lines_it_does_not_understand) {
  write("group/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("nonsense\n\n::\n0::/group", 8), 0.5);
}

}  // namespace
}  // namespace quire
