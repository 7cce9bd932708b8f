// Jobs in real worker processes: this test's binary, run again with the argument `worker`. Whatever an implementation
// does to its process, only its own row may suffer.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>

#include "bench/job.h"
#include "bench/job_json.h"
#include "bench/worker_process.h"

namespace quire::bench {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kPlentyS = 60;  // for a call that returns, however slow the machine

Job small_job(std::vector<std::string> implementations) {
  Job job;
  job.workload.context_lens = {300, 0, 33};
  job.workload.batch_size = 3;
  job.workload.seq_len = 300;
  job.workload.num_heads = 4;
  job.workload.num_kv_heads = 2;
  job.workload.head_dim = 64;
  job.workload.block_size = 16;
  job.implementations = std::move(implementations);
  job.threads = 2;
  job.with_faults = true;
  return job;
}

Job measured(Job job) {
  MeasureOptions& measure = job.measure.emplace();
  measure.iters = 6;
  measure.warmup = 1;
  return job;
}

std::vector<std::string> verdicts(const std::vector<Row>& rows) {
  std::vector<std::string> all;
  for (const Row& row : rows) all.push_back(row.implementation + " " + row.verdict);
  return all;
}

// Processes whose parent this process is.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (!std::getline(file, text)) continue;
    // "PID (name) state parent ...", where the name may hold anything.
    const size_t behind_name = text.rfind(") ");
    if (behind_name == std::string::npos) continue;
    if (std::stoi(text.substr(behind_name + 4)) == getpid()) found.push_back(std::stoi(text));
  }
  return found;
}

bool is_gone(pid_t process) {
  for (int i = 0; i < 100; ++i) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    if (!std::getline(file, text) || text.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

TEST(RunJob, checks_every_implementation_in_order) {
  const Job job = small_job({"cpu-scalar", "cpu-naive", "cpu-chunked"});
  const std::vector<Row> rows = run_job(job, kPlentyS, {});
  EXPECT_THAT(verdicts(rows), ElementsAre("cpu-scalar yes", "cpu-naive yes", "cpu-chunked yes"));
  for (const Row& row : rows) {
    EXPECT_EQ(row.reason, "");
    EXPECT_GT(*row.max_err, 0);
    EXPECT_LT(*row.rel_l2, 1e-3);
    EXPECT_EQ(row.kv_bytes, 2 * 333 * 2 * 64 * 2);
    EXPECT_FALSE(row.timing.has_value());
    EXPECT_EQ(row.workload.context_lens, job.workload.context_lens);
  }
  EXPECT_THAT(children(), IsEmpty());
}

TEST(RunJob, measures_what_is_right) {
  const std::vector<Row> rows = run_job(measured(small_job({"cpu-naive", "cpu-chunked"})), kPlentyS, {});
  ASSERT_THAT(verdicts(rows), ElementsAre("cpu-naive yes", "cpu-chunked yes"));
  for (const Row& row : rows) {
    EXPECT_THAT(row.timing->cold->samples_us, SizeIs(6));
    EXPECT_THAT(row.timing->hot->samples_us, SizeIs(6));
    EXPECT_GT(row.timing->first_call_us, 0);
    EXPECT_GT(row.floors->floor_us.median, 0);
  }
  EXPECT_EQ(rows[0].timing->cold_speedup->median, 1);
  EXPECT_GT(rows[0].timing->workspace_bytes, 0);
}

// Each breaks its process, or what it shares with the others, in a way of its own.
struct Breakage {
  const char* fault;
  const char* verdict;
  const char* reason;
};

class RunJobBroken : public testing::TestWithParam<Breakage> {};

TEST_P(RunJobBroken, costs_its_own_row_alone) {
  const Breakage& breakage = GetParam();
  const Job job = measured(small_job({"cpu-naive", breakage.fault, "cpu-chunked"}));
  const double timeout_s = std::string_view(breakage.verdict) == "TIMEOUT" ? 2 : kPlentyS;
  const std::vector<Row> rows = run_job(job, timeout_s, {});
  ASSERT_THAT(verdicts(rows),
              ElementsAre("cpu-naive yes", std::string(breakage.fault) + " " + breakage.verdict, "cpu-chunked yes"));
  EXPECT_THAT(rows[1].reason, HasSubstr(breakage.reason));
  EXPECT_FALSE(rows[1].timing.has_value());
  EXPECT_EQ(rows[1].kv_bytes, rows[0].kv_bytes);
  for (const size_t honest : {0U, 2U}) EXPECT_THAT(rows[honest].timing->cold->samples_us, SizeIs(6));
  EXPECT_THAT(children(), IsEmpty());
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kNullReadReason = "exit code";  // the sanitizer catches the signal
#else
constexpr const char* kNullReadReason = "SIGSEGV (bad memory access)";
#endif

INSTANTIATE_TEST_SUITE_P(Faults, RunJobBroken,
                         testing::Values(Breakage{"null-read", "CRASH", kNullReadReason},
                                         Breakage{"abort", "CRASH", "SIGABRT (abort)"},
                                         Breakage{"endless-loop", "TIMEOUT", "no return within 2 s"},
                                         Breakage{"input-written", "NO", "input was written"},
                                         Breakage{"first-result-replayed", "NO", ""},
                                         Breakage{"dead-slots-read", "NO", "random set"}),
                         [](const auto& test) {
                           std::string name = test.param.fault;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(RunJob, survives_several_that_break) {
  const Job job = small_job({"abort", "null-read", "cpu-chunked", "zero-output", "abort"});
  EXPECT_THAT(verdicts(run_job(job, kPlentyS, {})),
              ElementsAre("abort CRASH", "null-read CRASH", "cpu-chunked yes", "zero-output NO", "abort CRASH"));
}

TEST(RunJob, skips_what_it_does_not_know) {
  Job job = small_job({"cpu-nothing", "cpu-chunked"});
  EXPECT_THAT(verdicts(run_job(job, kPlentyS, {})), ElementsAre("cpu-nothing SKIP", "cpu-chunked yes"));
  job = small_job({"abort"});
  job.with_faults = false;
  EXPECT_THAT(verdicts(run_job(job, kPlentyS, {})), ElementsAre("abort SKIP"));
}

TEST(RunJob, skips_what_memory_does_not_hold_and_names_the_size) {
  Job job = small_job({"cpu-naive", "cpu-chunked"});
  job.workload.context_lens = {};
  job.workload.batch_size = 1;
  job.workload.seq_len = int64_t{1} << 30;
  job.workload.num_kv_heads = 128;
  job.workload.num_heads = 128;
  job.workload.block_size = 1 << 16;
  for (const Row& row : run_job(job, kPlentyS, {})) {
    EXPECT_EQ(row.verdict, "SKIP");
    EXPECT_THAT(row.reason, HasSubstr("TB, "));
  }
}

TEST(RunJob, tells_of_progress_and_ticks) {
  int ticks = 0;
  std::vector<std::string> texts;
  const JobEvents events = {.progress = [&](const std::string& text) { texts.push_back(text); },
                            .tick = [&] { ++ticks; }};
  run_job(small_job({"endless-loop"}), 1, events);
  EXPECT_GE(ticks, 3);
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(texts.back(), "random set 0: endless-loop");
}

// Kills the worker the first `times` times that one is seen.
JobEvents killing(int& times) {
  return {.progress = {}, .tick = [&times] {
            const std::vector<pid_t> workers = children();
            if (times == 0 || workers.empty()) return;
            --times;
            kill(workers.front(), SIGKILL);
            // Until it is gone it must not be taken for the next one.
            is_gone(workers.front());
          }};
}

TEST(RunJob, starts_again_where_the_worker_was_killed_from_outside) {
  int times = 1;
  const JobEvents events = killing(times);
  EXPECT_THAT(verdicts(run_job(measured(small_job({"cpu-naive", "cpu-chunked"})), kPlentyS, events)),
              ElementsAre("cpu-naive yes", "cpu-chunked yes"));
  EXPECT_EQ(times, 0);
}

TEST(RunJob, does_not_try_for_ever) {
  int times = 1'000;
  const JobEvents events = killing(times);
  for (const Row& row : run_job(measured(small_job({"cpu-naive", "cpu-chunked"})), kPlentyS, events)) {
    EXPECT_EQ(row.verdict, "CRASH");
    EXPECT_THAT(row.reason, HasSubstr("SIGKILL"));
  }
  EXPECT_GE(times, 1'000 - 4);
}

// A worker that is not one, told by the environment what to be instead.
class RunJobOddWorker : public testing::Test {
 protected:
  std::vector<Row> run(const char* kind) {
    setenv("QUIRE_TEST_WORKER", kind, 1);
    std::vector<Row> rows = run_job(small_job({"cpu-naive", "cpu-chunked"}), kPlentyS, {});
    unsetenv("QUIRE_TEST_WORKER");
    return rows;
  }
};

TEST_F(RunJobOddWorker, that_dies_by_itself_is_no_implementations_fault) {
  EXPECT_THAT(
      run("last words"),
      AllOf(SizeIs(2), Each(AllOf(Field(&Row::verdict, "CRASH"),
                                  Field(&Row::reason, "the worker died between calls: exit code 3: farewell")))));
}

TEST_F(RunJobOddWorker, that_dies_half_way_leaves_what_it_delivered) {
  EXPECT_THAT(verdicts(run("half way")), ElementsAre("cpu-naive yes", "cpu-chunked CRASH"));
}

TEST_F(RunJobOddWorker, that_delivers_nothing_is_found_out) {
  EXPECT_THAT(run("silent"), AllOf(SizeIs(2), Each(Field(&Row::reason, HasSubstr("exit code 0")))));
}

TEST_F(RunJobOddWorker, that_floods_its_parent_is_listened_to_no_longer_than_needed) {
  EXPECT_THAT(run("flood"), AllOf(SizeIs(2), Each(Field(&Row::reason, HasSubstr("exit code 4: end of flood")))));
}

TEST_F(RunJobOddWorker, that_talks_nonsense_harms_nobody) {
  EXPECT_THAT(run("nonsense"), AllOf(SizeIs(2), Each(Field(&Row::verdict, "CRASH"))));
}

// Runs in a process of its own: exits with 0 where an interrupt had the effect it should have.
void interrupt_oneself_and_exit() {
  catch_interrupts();
  JobEvents events;
  events.progress = [](const std::string& text) {
    if (text.find("endless-loop") != std::string::npos) raise(SIGINT);
  };
  const std::vector<Row> rows = run_job(small_job({"cpu-nothing", "endless-loop"}), kPlentyS, events);
  const bool as_it_should_be = interrupted() && rows.size() == 1 && rows[0].verdict == "SKIP" && children().empty();
  std::_Exit(as_it_should_be ? 0 : 1);
}

TEST(RunJobDeathTest, an_interrupt_ends_the_worker_and_keeps_what_is_complete) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(interrupt_oneself_and_exit(), testing::ExitedWithCode(0), "");
}

// Writes the id of a worker that would never end to a file, then dies.
void die_while_working(const char* path) {
  JobEvents events;
  events.tick = [path] {
    const std::vector<pid_t> workers = children();
    if (workers.empty()) return;
    std::ofstream(path) << workers.front() << std::flush;
    kill(getpid(), SIGKILL);
  };
  run_job(small_job({"endless-loop"}), kPlentyS, events);
}

TEST(RunJobDeathTest, a_worker_dies_with_its_parent) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string path = testing::TempDir() + "quire_worker_" + std::to_string(getpid());
  // A threadsafe death test begins this function again in another process, which inherits the name.
  setenv("QUIRE_TEST_PID_FILE", path.c_str(), 0);
  const char* file = std::getenv("QUIRE_TEST_PID_FILE");
  EXPECT_EXIT(die_while_working(file), testing::KilledBySignal(SIGKILL), "");
  pid_t worker = 0;
  std::ifstream(file) >> worker;
  std::filesystem::remove(file);
  ASSERT_GT(worker, 0);
  EXPECT_TRUE(is_gone(worker));
}

int odd_worker(const std::string& kind) {
  if (kind == "last words") {
    std::fputs("first line\nfarewell\n", stderr);
    return 3;
  }
  if (kind == "half way") {
    Row row;
    row.implementation = "cpu-naive";
    row.verdict = "yes";
    const std::string line = to_json(row).dump() + '\n';
    return write(kWorkerResults, line.data(), line.size()) > 0 ? 5 : 6;
  }
  if (kind == "flood") {
    const std::string line(1023, '~');
    for (int i = 0; i < 64 * 1024; ++i) std::fprintf(stderr, "%s\n", line.c_str());
    std::fputs("end of flood", stderr);
    return 4;
  }
  if (kind == "nonsense") {
    const std::string_view text = "{}\n[1, 2]\nnot json\n\n{\"implementation\": 7}\n{\"implementation\"";
    return write(kWorkerResults, text.data(), text.size()) > 0 ? 5 : 6;
  }
  return 0;  // silent
}

}  // namespace
}  // namespace quire::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "worker") {
    if (const char* kind = std::getenv("QUIRE_TEST_WORKER"); kind != nullptr) return quire::bench::odd_worker(kind);
    return quire::bench::worker_main();
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
