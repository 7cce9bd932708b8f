#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "quire/executor.h"
#include "tests/problem.h"

namespace quire {
namespace {

// parallel_for with a callable.
template <typename Body>
void for_each(Executor& executor, int64_t count, Body body) {
  executor.parallel_for(count, [](void* context, int64_t i) { (*static_cast<Body*>(context))(i); }, &body);
}

void expect_each_index_once(Executor& executor, int64_t count) {
  const auto calls = std::make_unique<std::atomic<int>[]>(static_cast<size_t>(count));
  for_each(executor, count, [&](int64_t i) { calls[static_cast<size_t>(i)].fetch_add(1); });
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(calls[static_cast<size_t>(i)].load(), 1) << i << " of " << count;
}

TEST(ThreadPool, has_the_threads_asked_for) {
  for (const int threads : {1, 2, 3, 17}) EXPECT_EQ(ThreadPool(threads).num_threads(), threads);
  EXPECT_EQ(ThreadPool().num_threads(), available_threads());
  EXPECT_EQ(ThreadPool(-4).num_threads(), available_threads());
}

TEST(ThreadPool, calls_each_index_once) {
  for (const int threads : {1, 2, 5, 17}) {
    for (const bool pin_threads : {false, true}) {
      ThreadPool pool(threads, pin_threads);
      for (const int64_t count : {1, 2, 3, 16, 17, 18, 1000}) expect_each_index_once(pool, count);
    }
  }
}

TEST(ThreadPool, calls_nothing_for_a_count_of_zero_or_less) {
  ThreadPool pool(3);
  for (const int64_t count : {0, -1}) {
    for_each(pool, count, [](int64_t) { FAIL() << "called"; });
  }
}

TEST(ThreadPool, returns_only_when_all_calls_have_returned) {
  ThreadPool pool(4);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> done{0};
    for_each(pool, 8, [&](int64_t i) {
      if (i == 7) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      done.fetch_add(1);
    });
    ASSERT_EQ(done.load(), 8);
  }
}

TEST(ThreadPool, makes_what_tasks_wrote_visible_to_the_caller_and_to_later_tasks) {
  ThreadPool pool(5);
  std::vector<int64_t> values(1000, 0);  // plain memory: a data race would show under a race checker
  for (int64_t round = 1; round <= 50; ++round) {
    for_each(pool, 1000, [&](int64_t i) { values[static_cast<size_t>(999 - i)] += i; });
    ASSERT_EQ(values[0], 999 * round);
  }
}

TEST(ThreadPool, uses_its_threads_at_the_same_time) {
  ThreadPool pool(4);
  std::atomic<int> arrived{0};
  // Each task waits for all others, which only four threads can do.
  for_each(pool, 4, [&](int64_t) {
    arrived.fetch_add(1);
    while (arrived.load() < 4) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 4);
}

TEST(ThreadPool, runs_a_call_from_inside_a_task_on_the_calling_thread) {
  ThreadPool pool(3);
  std::atomic<int> inner{0};
  for_each(pool, 10, [&](int64_t) {
    const std::thread::id outer_thread = std::this_thread::get_id();
    for_each(pool, 10, [&](int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), outer_thread);
      inner.fetch_add(1);
    });
  });
  EXPECT_EQ(inner.load(), 100);
}

TEST(ThreadPool, runs_calls_nested_over_two_pools) {
  ThreadPool first(3);
  ThreadPool second(2);
  std::atomic<int> calls{0};
  for_each(first, 6, [&](int64_t) {
    for_each(second, 6, [&](int64_t) { for_each(first, 2, [&](int64_t) { calls.fetch_add(1); }); });
  });
  EXPECT_EQ(calls.load(), 72);
}

// A child has no threads but the one that forked.
TEST(ThreadPool, works_in_a_forked_child) {
  ThreadPool pool(3);
  expect_each_index_once(pool, 100);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> calls{0};
    for_each(pool, 100, [&](int64_t) { calls.fetch_add(1); });
    _exit(calls.load() == 100 ? 0 : 1);
  }
  int exit_status = 0;
  ASSERT_EQ(waitpid(child, &exit_status, 0), child);
  EXPECT_EQ(exit_status, 0);
}

TEST(ThreadPool, serves_several_callers_in_turn) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) for_each(pool, 20, [&](int64_t i) { sum.fetch_add(i); });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 4 * 50 * 190);
}

TEST(ThreadPool, keeps_pinned_threads_to_one_processor_and_leaves_the_caller_alone) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  ThreadPool pool(3, true);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> arrived{0};
  for_each(pool, 3, [&](int64_t) {
    arrived.fetch_add(1);
    while (arrived.load() < 3) std::this_thread::yield();  // so that each thread takes one
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    if (std::this_thread::get_id() == caller) {
      EXPECT_TRUE(CPU_EQUAL(&mask, &before));
    } else {
      EXPECT_EQ(CPU_COUNT(&mask), 1);
      cpu_set_t both;
      CPU_AND(&both, &mask, &before);
      EXPECT_EQ(CPU_COUNT(&both), 1) << "pinned outside the affinity mask";
    }
  });
}

TEST(ThreadPool, can_be_made_and_unmade_at_any_moment) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(1 + i % 5);
    if (i % 3 == 0) expect_each_index_once(pool, 3);
    if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ThreadPool, wakes_after_a_long_sleep) {
  ThreadPool pool(3);
  expect_each_index_once(pool, 100);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  expect_each_index_once(pool, 100);
}

TEST(DefaultExecutor, is_one_pool_as_wide_as_the_process_may_be) {
  EXPECT_EQ(&default_executor(), &default_executor());
  EXPECT_EQ(default_executor().num_threads(), available_threads());
  expect_each_index_once(default_executor(), 100);
}

TEST(AvailableThreads, is_at_least_one_and_no_more_than_the_affinity_mask_holds) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_GE(available_threads(), 1);
  EXPECT_LE(available_threads(), CPU_COUNT(&mask));
}

TEST(AvailableThreads, follows_the_affinity_mask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_threads(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

// An executor of the caller's own, on a thread of its own, must do as well as Quire's.
class OneThreadExecutor final : public Executor {
 public:
  int num_threads() const noexcept override { return 1; }
  void parallel_for(int64_t count, void (*task)(void*, int64_t), void* context) noexcept override {
    std::thread([&] {
      for (int64_t i = count - 1; i >= 0; --i) task(context, i);
    }).join();
  }
};

TEST(Executor, may_be_the_callers_own) {
  test::Problem problem({.context_lens = {40, 0, 7}});
  OneThreadExecutor mine;
  ThreadPool pool(1);
  for (const Implementation* implementation : implementations()) {
    if (implementation->backend != DeviceKind::kCpu || implementation->unavailable != nullptr) continue;
    EXPECT_TRUE(same_bits(problem.run(*implementation, &mine), problem.run(*implementation, &pool)))
        << implementation->name;
  }
}

}  // namespace
}  // namespace quire
