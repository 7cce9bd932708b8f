#include "bench/call_monitor.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

namespace quire::bench {
namespace {

TEST(CallMonitor, says_who_is_running_and_how_often_someone_was) {
  CallMonitor monitor(getpid());
  EXPECT_EQ(monitor.running(), CallMonitor::kNone);
  monitor.begin(3);
  EXPECT_EQ(monitor.running(), 3);
  monitor.end();
  monitor.begin(0);
  EXPECT_EQ(monitor.running(), 0);
  EXPECT_EQ(monitor.calls(), 2U);
}

TEST(CallMonitor, keeps_the_last_activity_and_cuts_a_long_one) {
  CallMonitor monitor(getpid());
  EXPECT_EQ(monitor.activity(), "");
  monitor.set_activity("a longer text than the next");
  monitor.set_activity("short");
  EXPECT_EQ(monitor.activity(), "short");
  monitor.set_activity(std::string(10'000, 'x'));
  EXPECT_GE(monitor.activity().size(), 80U);
  EXPECT_LT(monitor.activity().size(), 10'000U);
}

TEST(CallMonitor, outlives_the_process_that_wrote_to_it) {
  void* memory = mmap(nullptr, sizeof(CallMonitor), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* monitor = new (memory) CallMonitor(getpid());
  const pid_t child = fork();
  if (child == 0) {
    monitor->set_activity("dying");
    monitor->begin(7);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(monitor->running(), 7);
  EXPECT_EQ(monitor->activity(), "dying");
  munmap(memory, sizeof(CallMonitor));
}

}  // namespace
}  // namespace quire::bench
