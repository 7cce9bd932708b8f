#include "bench/check.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <utility>

#include "tests/bench/case_memory.h"

namespace quire::bench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const Implementation& honest() { return *find_implementation("cpu-chunked"); }

// An implementation that runs the honest one and then something of its own.
Implementation altered(decltype(Implementation::run) run) {
  Implementation implementation = honest();
  implementation.name = "altered";
  implementation.run = run;
  return implementation;
}

class CheckerTest : public testing::Test {
 protected:
  struct Recorder : CallObserver {
    void prepare(size_t subject, const std::string& purpose) override {
      EXPECT_EQ(running, kNone);
      calls.push_back(std::to_string(subject) + " " + purpose);
    }
    void begin(size_t subject) override { running = subject; }
    void end(size_t subject) override { EXPECT_EQ(std::exchange(running, kNone), subject); }

    static constexpr size_t kNone = static_cast<size_t>(-1);
    size_t running = kNone;
    std::vector<std::string> calls;
  };

  std::vector<Verdict> check(const Workload& w, const std::vector<const Implementation*>& implementations,
                             int num_sets = 2) {
    Result<Checker> checker = Checker::create(w, num_sets, pool_);
    EXPECT_TRUE(checker.ok()) << checker.status().message();
    std::vector<Subject> subjects;
    std::vector<std::vector<std::byte>> workspaces;
    for (const Implementation* implementation : implementations) {
      const AttentionSpec& spec = checker->sets()[0].spec;
      workspaces.emplace_back(implementation->workspace_bytes(spec, pool_.num_threads()) + kWorkspaceAlignment);
      void* data = workspaces.back().data();
      size_t bytes = workspaces.back().size();
      std::align(kWorkspaceAlignment, 1, data, bytes);
      subjects.push_back({implementation, {.workspace = {data, bytes}, .executor = &pool_, .stream = nullptr}});
    }
    std::vector<Verdict> verdicts = checker->check(subjects, CheckDepth::kPoint, recorder_);
    for (size_t set = 0; set < checker->sets().size(); ++set) EXPECT_TRUE(checker->inputs_intact(set));
    return verdicts;
  }

  ThreadPool pool_{2};
  Recorder recorder_;
};

TEST_F(CheckerTest, finds_every_implementation_right_in_every_kind_of_memory) {
  for (const Workload& w : irregular_workloads()) {
    for (const Implementation* implementation : implementations()) {
      if (implementation->unavailable != nullptr) continue;
      const Verdict verdict = check(w, {implementation})[0];
      EXPECT_TRUE(verdict.right) << implementation->name << ": " << verdict.reason;
      EXPECT_GT(verdict.max_err, 0);
      EXPECT_GT(verdict.rel_l2, 0);
    }
  }
}

TEST_F(CheckerTest, runs_the_first_set_then_every_probe_then_the_other_sets) {
  check(ragged_workload(), {&honest()}, 3);
  EXPECT_THAT(recorder_.calls, testing::ElementsAre("0 random set 0", "0 census", "0 staircase", "0 coded census",
                                                    "0 needle", "0 empty", "0 random set 1", "0 random set 2"));
}

TEST_F(CheckerTest, runs_a_subject_no_more_once_it_is_wrong) {
  const Implementation idle =
      altered([](const AttentionSpec&, const AttentionArgs&, const Execution&) { return Status(); });
  const std::vector<Verdict> verdicts = check(ragged_workload(), {&idle, &honest()});
  EXPECT_FALSE(verdicts[0].right);
  EXPECT_TRUE(verdicts[1].right) << verdicts[1].reason;
  EXPECT_THAT(verdicts[0].reason, StartsWith("random set 0: output[0][0][0] is nan"));
  EXPECT_EQ(std::count_if(recorder_.calls.begin(), recorder_.calls.end(),
                          [](const std::string& call) { return call[0] == '0'; }),
            1);
}

TEST_F(CheckerTest, a_failing_call_is_wrong_with_its_message) {
  const Implementation failing = altered([](const AttentionSpec&, const AttentionArgs&, const Execution&) {
    return Status(StatusCode::kInternal, "out of paper");
  });
  EXPECT_EQ(check(ragged_workload(), {&failing})[0].reason, "random set 0: internal: out of paper");
}

TEST_F(CheckerTest, finds_writes_beside_the_output_rows) {
  const Implementation sloppy =
      altered([](const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
        const int64_t end = (spec.batch_size - 1) * spec.output_strides.batch +
                            (spec.num_heads - 1) * spec.output_strides.head + spec.head_dim;
        std::memset(static_cast<std::byte*>(args.output) + end * size_of(spec.dtype), 0, 2);
        return honest().run(spec, args, execution);
      });
  EXPECT_THAT(check(ragged_workload(), {&sloppy})[0].reason, HasSubstr("behind the rows of the output"));
}

TEST_F(CheckerTest, repairs_inputs_that_a_subject_wrote) {
  for (const bool only_probes : {false, true}) {
    static bool spare_normals;
    spare_normals = only_probes;
    const Implementation writer =
        altered([](const AttentionSpec& spec, const AttentionArgs& args, const Execution& execution) {
          if (Status s = honest().run(spec, args, execution); !s.ok()) return s;
          // The second probe, and no random set, has a scale of its own.
          if (spec.scale.has_value() || !spare_normals) {
            std::memset(const_cast<void*>(args.k_cache), 0, static_cast<size_t>(spec.k_strides.block));
            std::memset(const_cast<int32_t*>(args.block_tables), 0, 4);
          }
          return Status();
        });
    const std::vector<Verdict> verdicts = check(ragged_workload(), {&writer, &honest()});
    EXPECT_EQ(verdicts[0].reason,
              only_probes ? "staircase: an input was written" : "random set 0: an input was written");
    EXPECT_TRUE(verdicts[1].right) << verdicts[1].reason;
  }
}

TEST_F(CheckerTest, errors_are_the_worst_of_all_sets) {
  const Verdict one = check(ragged_workload(), {&honest()}, 1)[0];
  const Verdict eight = check(ragged_workload(), {&honest()}, 8)[0];
  EXPECT_GE(eight.lse_err, one.lse_err);
  EXPECT_GT(eight.rel_l2, one.rel_l2);
  EXPECT_GT(eight.max_err, one.max_err);
}

TEST_F(CheckerTest, fails_where_data_cannot_be_made) {
  const Result<Checker> checker = Checker::create(ragged_workload(DType::kI8), 1, pool_);
  EXPECT_FALSE(checker.ok());
}

}  // namespace
}  // namespace quire::bench
