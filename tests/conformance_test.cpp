// Every implementation computes what the contract says, on every shape of cases.cpp, whoever runs it and however often.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/accuracy.h"
#include "tests/cases.h"
#include "tests/every_implementation.h"
#include "tests/problem.h"

namespace quire::test {
namespace {

class Conformance : public testing::TestWithParam<std::tuple<const Implementation*, Case>> {};

TEST_P(Conformance, agrees_with_the_reference) {
  const auto& [implementation, tested] = GetParam();
  if (implementation->unavailable != nullptr) GTEST_SKIP() << implementation->unavailable;
  Problem problem(tested.shape);
  if (const std::string why = reason_to_skip(*implementation, problem); !why.empty()) GTEST_SKIP() << why;
  EXPECT_TRUE(agrees(problem.run(*implementation), problem.reference(), problem.spec()));
}

INSTANTIATE_TEST_SUITE_P(Cpu, Conformance,
                         testing::Combine(testing::ValuesIn(cpu_implementations()),
                                          testing::ValuesIn(conformance_cases())),
                         [](const testing::TestParamInfo<Conformance::ParamType>& tested) {
                           return test_name(*std::get<0>(tested.param)) + "__" + std::get<1>(tested.param).name;
                         });

// Functions of one name in two kernels would silently become one at link time, and both still be right.
TEST(Implementations, give_bits_of_their_own_so_that_none_runs_another_ones_code) {
  Problem problem({.num_heads = 2, .num_kv_heads = 1, .context_lens = {1000}});
  std::vector<std::pair<std::string, Answer>> answers;
  for (const Implementation* implementation : cpu_implementations()) {
    if (implementation->unavailable != nullptr) continue;
    Answer answer = problem.run(*implementation);
    for (const auto& [name, other] : answers) {
      EXPECT_FALSE(same_bits(answer, other)) << implementation->name << " and " << name;
    }
    answers.emplace_back(implementation->name, std::move(answer));
  }
}

class Threads : public EveryImplementation {
 protected:
  // Rows of very different lengths, one of them longer than all others together.
  Shape uneven(DType dtype) const {
    return {.dtype = dtype,
            .num_heads = 6,
            .num_kv_heads = 3,
            .context_lens = {3, kReducedTests ? 500 : 2000, 0, 64, 65, 1, 100},
            .batch_invariant = implementation().flags.batch_invariant};
  }
};

TEST_P(Threads, of_any_number_give_the_right_result) {
  for (const DType dtype : kStorageTypes) {
    Problem problem(uneven(dtype));
    const ReferenceResult expected = problem.reference();
    for (const int threads : {1, 2, 5, 17}) {
      SCOPED_TRACE(std::string(name_of(dtype)) + ", threads: " + std::to_string(threads));
      ThreadPool pool(threads);
      EXPECT_TRUE(agrees(problem.run(implementation(), &pool), expected, problem.spec()));
    }
  }
}

TEST_P(Threads, may_outnumber_the_work) {
  Problem problem({.num_heads = 1, .num_kv_heads = 1, .context_lens = {1}});
  ThreadPool pool(17);
  EXPECT_TRUE(agrees(problem.run(implementation(), &pool), problem.reference(), problem.spec()));
}

TEST_P(Threads, of_equal_number_give_equal_bits_run_after_run) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    ThreadPool other_pool(threads);
    for (const DType dtype : kStorageTypes) {
      Problem problem(uneven(dtype));
      const Answer first = problem.run(implementation(), &pool);
      for (int i = 0; i < (kReducedTests ? 2 : 5); ++i) {
        EXPECT_TRUE(same_bits(first, problem.run(implementation(), i % 2 == 0 ? &pool : &other_pool)))
            << name_of(dtype) << ", threads: " << threads << ", run: " << i;
      }
    }
  }
}

TEST_P(Threads, of_any_number_give_equal_bits_where_batch_invariant) {
  if (!implementation().flags.batch_invariant) GTEST_SKIP() << "makes no such promise";
  for (const DType dtype : kStorageTypes) {
    Problem problem(uneven(dtype));
    ThreadPool one(1);
    const Answer first = problem.run(implementation(), &one);
    for (const int threads : {2, 3, 5, 17}) {
      ThreadPool pool(threads);
      EXPECT_TRUE(same_bits(first, problem.run(implementation(), &pool))) << name_of(dtype) << ", threads: " << threads;
    }
  }
}

QUIRE_FOR_EVERY_IMPLEMENTATION(Threads);

}  // namespace
}  // namespace quire::test
