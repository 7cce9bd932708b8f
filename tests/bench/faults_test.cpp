// The checker against every planted fault. `quire self-test` does the same at long contexts and through workers.
#include "bench/faults.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "bench/check.h"

namespace quire::bench {
namespace {

using testing::HasSubstr;

Workload workload(int64_t context, int64_t block_size, DType dtype) {
  Workload w;
  w.context_lens = {context, std::min<int64_t>(context, 190), 0};
  w.batch_size = 3;
  w.seq_len = context;
  w.num_heads = 4;
  w.num_kv_heads = 2;
  w.head_dim = 64;
  w.block_size = block_size;
  w.dtype = w.kv_dtype = dtype;
  return w;
}

#ifdef QUIRE_REDUCED_TESTS
constexpr int64_t kLongContext = 2'048;
#else
constexpr int64_t kLongContext = 131'072;
#endif

class Checked {
 public:
  explicit Checked(const Workload& w, int num_sets = 1) : checker_(Checker::create(w, num_sets, pool_)) {}

  const AttentionSpec& spec() { return checker_->sets()[0].spec; }

  std::vector<Verdict> check(const std::vector<const Implementation*>& implementations) {
    std::vector<Subject> subjects;
    std::vector<HostBuffer> workspaces;
    for (const Implementation* implementation : implementations) {
      const size_t bytes = implementation->workspace_bytes(spec(), pool_.num_threads());
      workspaces.push_back(HostBuffer::allocate(bytes));
      subjects.push_back(
          {implementation, {.workspace = {workspaces.back().data(), bytes}, .executor = &pool_, .stream = nullptr}});
    }
    CallObserver nobody;
    return checker_->check(subjects, CheckDepth::kFull, nobody);
  }

 private:
  ThreadPool pool_{2};
  Result<Checker> checker_;
};

const Implementation* honest() { return find_implementation("cpu-chunked"); }

void expect_all_caught(const Workload& w) {
  Checked checked(w);
  std::vector<const Implementation*> subjects = {honest()};
  for (const Implementation* fault : faults()) {
    const Status supported = fault->supports(checked.spec());
    EXPECT_TRUE(supported.ok()) << fault->name << ": " << supported.message();
    subjects.push_back(fault);
  }
  const std::vector<Verdict> verdicts = checked.check(subjects);
  EXPECT_TRUE(verdicts[0].right) << verdicts[0].reason;
  for (size_t i = 1; i < subjects.size(); ++i) {
    EXPECT_FALSE(verdicts[i].right) << subjects[i]->name << " at context " << w.seq_len << ", block_size "
                                    << w.block_size << ", " << name_of(w.dtype);
  }
}

TEST(Faults, are_all_caught_and_the_honest_implementation_is_right) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t block_size : {1, 16}) {
      for (const int64_t context : {17, 2'048}) expect_all_caught(workload(context, block_size, dtype));
    }
  }
}

TEST(Faults, are_all_caught_at_131072_tokens_in_the_coarsest_type) {
  expect_all_caught(workload(kLongContext, 16, DType::kBF16));
}

TEST(Faults, say_where_a_shape_gives_them_nothing_to_get_wrong) {
  Workload w = workload(7, 16, DType::kF32);
  w.context_lens = {7};
  w.batch_size = 1;
  w.num_heads = w.num_kv_heads = 1;
  Checked checked(w);
  for (const auto& [name, reason] : {std::pair{"block-doubled", "no sequence has a full block"},
                                     {"block-of-another", "one sequence has no other"},
                                     {"table-rows-swapped", "one sequence has no other"},
                                     {"neighbouring-head", "one KV head has no neighbour"}}) {
    const Status status = find_fault(name)->supports(checked.spec());
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << name;
    EXPECT_THAT(status.message(), HasSubstr(reason)) << name;
  }
  w.block_size = 1;
  Checked single_slots(w);
  EXPECT_FALSE(find_fault("dead-slots-read")->supports(single_slots.spec()).ok());
}

TEST(Faults, cost_only_their_own_row) {
  Checked checked(workload(301, 16, DType::kF16), 2);
  const std::vector<Verdict> verdicts =
      checked.check({find_fault("input-written"), honest(), find_fault("first-result-replayed"),
                     find_fault("dead-slots-read"), honest()});
  EXPECT_THAT(verdicts[0].reason, HasSubstr("an input was written"));
  EXPECT_THAT(verdicts[2].reason, HasSubstr("staircase"));
  EXPECT_THAT(verdicts[3].reason, HasSubstr("is nan"));
  EXPECT_TRUE(verdicts[1].right) << verdicts[1].reason;
  EXPECT_TRUE(verdicts[4].right) << verdicts[4].reason;
}

// What passed under other benchmarks' tolerances: zeros, a constant, the mean of V, the neighbouring head's result, one
// token dropped. At 131,072 tokens an output element is about 0.004.
TEST(Faults, tolerances_wider_than_the_signal_do_not_pass_them) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t context : {int64_t{17}, kLongContext}) {
      Checked checked(workload(context, 16, dtype));
      std::vector<const Implementation*> subjects;
      for (const char* name :
           {"zero-output", "constant-output", "mean-of-v", "neighbouring-head", "last-token-dropped"}) {
        subjects.push_back(find_fault(name));
      }
      for (const Verdict& verdict : checked.check(subjects)) EXPECT_FALSE(verdict.right);
    }
  }
}

TEST(Faults, have_names_of_their_own) {
  std::set<std::string> names;
  for (const Implementation* fault : faults()) {
    EXPECT_TRUE(names.insert(fault->name).second) << fault->name;
    EXPECT_EQ(find_fault(fault->name), fault);
    EXPECT_EQ(find_implementation(fault->name), nullptr);
  }
  for (const char* name : {"null-read", "abort", "endless-loop", "dead-slots-read"}) {
    EXPECT_NE(find_fault(name), nullptr) << name;
    EXPECT_FALSE(names.contains(name)) << name;
  }
  EXPECT_EQ(find_fault("cpu-chunked"), nullptr);
}

}  // namespace
}  // namespace quire::bench
