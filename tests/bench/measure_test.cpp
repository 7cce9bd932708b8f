// The logic of measuring: what is called when, counted and compared. No test says how long anything takes.
#include "bench/measure.h"

#include <gmock/gmock.h>

#include <mutex>
#include <set>
#include <thread>

#include "bench/disturbance.h"
#include "bench/faults.h"
#include "bench/parallel.h"
#include "bench/pinned_pool.h"

namespace quire::bench {
namespace {

using testing::HasSubstr;

Workload small_workload() {
  Workload w;
  w.context_lens = {70, 0, 33};
  w.batch_size = 3;
  w.seq_len = 70;
  w.num_heads = 4;
  w.num_kv_heads = 2;
  w.head_dim = 32;
  w.block_size = 16;
  return w;
}

struct CallLog : CallObserver {
  void prepare(size_t subject, const std::string& purpose) override { prepared.emplace_back(subject, purpose); }
  void begin(size_t subject) override { begun.push_back(subject); }

  std::vector<std::pair<size_t, std::string>> prepared;
  std::vector<size_t> begun;
};

class MeasureTest : public testing::Test {
 protected:
  void add(const Implementation* implementation) {
    const size_t bytes = implementation->workspace_bytes(checker_->sets()[0].spec, pool_.num_threads());
    workspaces_.push_back(HostBuffer::allocate(bytes));
    MeasuredSubject& added = subjects_.emplace_back();
    added.subject = {implementation, {{workspaces_.back().data(), bytes}, &pool_, nullptr}};
  }

  Floors run(const std::string& baseline = "") {
    return measure(*checker_, subjects_, options_, baseline, pool_, log_);
  }

  ThreadPool pool_{2};
  Result<Checker> checker_ = Checker::create(small_workload(), 3, pool_);
  std::vector<MeasuredSubject> subjects_;
  std::vector<HostBuffer> workspaces_;
  MeasureOptions options_{.cold = true, .hot = true, .iters = 7, .warmup = 2, .ci = 0.01, .budget_s = 1e6};
  CallLog log_;
};

TEST_F(MeasureTest, takes_as_many_samples_as_asked_of_everything) {
  add(find_implementation("cpu-chunked"));
  add(find_implementation("cpu-scalar"));
  const Floors floors = run();
  for (const MeasuredSubject& measured : subjects_) {
    EXPECT_EQ(measured.wrong, "");
    EXPECT_EQ(measured.timing.cold->samples_us.size(), 7U);
    EXPECT_EQ(measured.timing.hot->samples_us.size(), 7U);
    EXPECT_EQ(measured.timing.stopped_by, "iters");
    EXPECT_GT(measured.timing.cold->us.low, 0);
    EXPECT_LE(measured.timing.cold->us.low, measured.timing.cold->us.median);
    EXPECT_LE(measured.timing.cold->us.median, measured.timing.cold->us.high);
  }
  EXPECT_GE(floors.stream.size(), 4U);
  EXPECT_GE(floors.paged.size(), 3U);
  for (const auto* kernels : {&floors.stream, &floors.paged}) {
    for (const auto& [name, series] : *kernels) EXPECT_EQ(series.samples_us.size(), 7U) << name;
  }
  EXPECT_EQ(floors.floor_us.median, floors.stream.at(floors.best_stream).us.median);
  EXPECT_EQ(floors.paged_floor_us.median, floors.paged.at(floors.best_paged).us.median);
  for (const auto& [name, series] : floors.stream) EXPECT_GE(series.us.median, floors.floor_us.median) << name;
  EXPECT_GT(floors.fma_per_us, 0);
  EXPECT_NEAR(floors.fma_floor_us * floors.fma_per_us, 2 * 103 * 4 * 32, 1e-6);
}

TEST_F(MeasureTest, everyone_has_a_turn_in_every_round_and_another_one_begins) {
  add(find_implementation("cpu-chunked"));
  add(find_implementation("cpu-scalar"));
  options_.hot = false;
  run();
  std::vector<size_t> in_round;
  std::set<size_t> first_ones;
  std::string round;
  for (const auto& [subject, purpose] : log_.prepared) {
    if (purpose == "warm-up") continue;
    if (purpose != round) {
      EXPECT_THAT(in_round, testing::AnyOf(testing::IsEmpty(), testing::UnorderedElementsAre(0U, 1U)));
      in_round.clear();
      first_ones.insert(subject);
      round = purpose;
    }
    in_round.push_back(subject);
  }
  EXPECT_THAT(first_ones, testing::UnorderedElementsAre(0U, 1U));
  EXPECT_EQ(round, "cold round 7");
}

TEST_F(MeasureTest, calls_warm_up_then_once_a_cold_sample_and_twice_a_hot_one) {
  add(find_implementation("cpu-chunked"));
  run();
  EXPECT_EQ(log_.begun.size(), 2U + 7U + 2U * 7U);
}

TEST_F(MeasureTest, hot_alone_has_floors_too) {
  add(find_implementation("cpu-chunked"));
  options_.cold = false;
  const Floors floors = run();
  EXPECT_FALSE(subjects_[0].timing.cold.has_value());
  EXPECT_TRUE(subjects_[0].timing.hot.has_value());
  EXPECT_GT(floors.floor_us.median, 0);
}

TEST_F(MeasureTest, the_first_right_subject_is_the_baseline) {
  add(find_fault("zero-output"));
  add(find_implementation("cpu-chunked"));
  add(find_implementation("cpu-scalar"));
  run();
  EXPECT_EQ(subjects_[1].timing.cold_speedup->median, 1);
  EXPECT_EQ(subjects_[1].timing.hot_speedup->high, 1);
  EXPECT_TRUE(subjects_[2].timing.cold_speedup.has_value());
}

TEST_F(MeasureTest, the_baseline_may_be_named) {
  add(find_implementation("cpu-chunked"));
  add(find_implementation("cpu-scalar"));
  run("cpu-scalar");
  EXPECT_EQ(subjects_[1].timing.cold_speedup->median, 1);
  EXPECT_TRUE(subjects_[0].timing.cold_speedup.has_value());
}

TEST_F(MeasureTest, without_the_named_baseline_there_are_no_speedups) {
  add(find_implementation("cpu-chunked"));
  run("cpu-scalar");
  EXPECT_FALSE(subjects_[0].timing.cold_speedup.has_value());
}

// Who computes nothing is not fast but wrong, even where the checker_ let it pass.
TEST_F(MeasureTest, a_timed_output_that_is_wrong_ends_its_subject_alone) {
  for (const char* name : {"output-not-written", "zero-output"}) add(find_fault(name));
  add(find_implementation("cpu-chunked"));
  run();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(subjects_[i].wrong, HasSubstr("while timed")) << subjects_[i].subject.implementation->name;
    EXPECT_FALSE(subjects_[i].timing.cold.has_value());
  }
  EXPECT_EQ(subjects_[2].wrong, "");
  EXPECT_EQ(subjects_[2].timing.cold->samples_us.size(), 7U);
}

TEST_F(MeasureTest, stops_where_nobody_is_right) {
  add(find_fault("zero-output"));
  options_.iters.reset();
  run();
  EXPECT_LE(log_.begun.size(), 4U);
}

TEST_F(MeasureTest, a_call_that_fails_says_so) {
  add(find_implementation("cpu-naive"));
  subjects_[0].subject.execution.workspace.bytes -= 1;
  run();
  EXPECT_THAT(subjects_[0].wrong, HasSubstr("workspace.bytes"));
}

TEST(MeasureEmpty, a_point_without_live_tokens_is_measured) {
  ThreadPool pool(2);
  Workload w = small_workload();
  w.context_lens = {0, 0, 0};
  Result<Checker> checker = Checker::create(w, 3, pool);
  ASSERT_TRUE(checker.ok()) << checker.status().message();
  const Implementation* chunked = find_implementation("cpu-chunked");
  std::vector<MeasuredSubject> subjects(1);
  const size_t bytes = chunked->workspace_bytes(checker->sets()[0].spec, 2);
  const HostBuffer workspace = HostBuffer::allocate(bytes);
  subjects[0].subject = {chunked, {{workspace.data(), bytes}, &pool, nullptr}};
  MeasureOptions options;
  options.iters = 6;
  CallObserver nobody;
  const Floors floors = measure(*checker, subjects, options, "", pool, nobody);
  EXPECT_EQ(subjects[0].wrong, "");
  EXPECT_FALSE(subjects[0].timing.impossible);
  EXPECT_EQ(floors.fma_floor_us, 0);
}

TEST(PinnedPool, keeps_threads_apart_and_gives_the_mask_back) {
  const auto mask = [] {
    cpu_set_t now;
    CPU_ZERO(&now);
    sched_getaffinity(0, sizeof now, &now);
    return now;
  };
  const cpu_set_t before = mask();
  const int threads = available_threads();
  {
    PinnedPool pool(0);
    EXPECT_EQ(pool.executor().num_threads(), threads);
    const cpu_set_t during = mask();
    EXPECT_EQ(CPU_COUNT(&during), 1);
  }
  const cpu_set_t after = mask();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(OnEveryThread, gives_each_task_a_thread_of_its_own) {
  PinnedPool pool(0);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<int64_t> indices;
  on_every_thread(pool.executor(), [&](int64_t i) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    indices.insert(i);
  });
  // Fewer threads only where one did not get a processor in time.
  EXPECT_LE(threads.size(), static_cast<size_t>(pool.executor().num_threads()));
  EXPECT_EQ(indices.size(), static_cast<size_t>(pool.executor().num_threads()));
}

TEST(Disturbance, counts_only_forward) {
  const ProcessorTime begin{.total = 100, .stolen = 10};
  EXPECT_DOUBLE_EQ(stolen_share(begin, {.total = 300, .stolen = 30}), 0.1);
  EXPECT_EQ(stolen_share(begin, begin), 0);
  EXPECT_GT(ProcessorTime::now().total, 0);
  EXPECT_GE(involuntary_switches(), 0);
}

}  // namespace
}  // namespace quire::bench
