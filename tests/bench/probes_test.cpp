#include "bench/probes.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "tests/bench/case_memory.h"

namespace quire::bench {
namespace {

// Calls test(probe, target) for every round of every probe of a workload.
template <typename Test>
void for_each_probe(const Workload& w, CheckDepth depth, Test&& test) {
  ThreadPool pool(2);
  Result<ProbeCase> target = ProbeCase::create(w, pool);
  ASSERT_TRUE(target.ok()) << target.status().message();
  for (const Probe& probe : probes_for(w, depth)) {
    for (int round = 0; round < probe.rounds; ++round) {
      probe.write(*target, round);
      SCOPED_TRACE(std::string(probe.name) + ", round " + std::to_string(round));
      test(probe, *target);
    }
  }
}

// The probes' premise, checked against the definition of correct: softmax in fp64 gives the exact answer.
TEST(Probes, the_exact_answer_is_the_reference) {
  for (const Workload& w : irregular_workloads()) {
    for_each_probe(w, CheckDepth::kFull, [&](const Probe& probe, ProbeCase& target) {
      const Case& c = target.problem();
      const ExactAnswer answer = answer_exactly(c, target.executor());
      const Result<ReferenceResult> expected = reference(c.spec, c.args, &target.executor());
      ASSERT_TRUE(expected.ok());
      EXPECT_GE(answer.gap, 104) << "a smaller logit would weigh something in fp32";
      for (size_t row = 0; row < answer.count.size(); ++row) {
        const auto count = static_cast<double>(answer.count[row]);
        if (count == 0) {
          EXPECT_EQ(expected->lse[row], answer.logit[row]);
          continue;
        }
        EXPECT_NEAR(expected->lse[row], answer.logit[row] + std::log(count), 1e-5);
        for (size_t d = 0; d < static_cast<size_t>(w.head_dim); ++d) {
          const size_t i = row * static_cast<size_t>(w.head_dim) + d;
          EXPECT_NEAR(expected->output[i], answer.sum[i] / count, 1e-12 * probe.largest_value);
        }
      }
    });
  }
}

TEST(Probes, write_live_slots_and_poison_everything_else) {
  for (const Workload& w : irregular_workloads()) {
    for_each_probe(w, CheckDepth::kFull,
                   [&](const Probe&, ProbeCase& target) { EXPECT_TRUE(dead_memory_is_poisoned(target.problem())); });
  }
}

TEST(Probes, keep_tables_that_decode_accepts) {
  for (const Workload& w : irregular_workloads()) {
    for_each_probe(w, CheckDepth::kFull, [&](const Probe&, ProbeCase& target) {
      const Case& c = target.problem();
      const Status status = validate_tables(c.spec, c.args.block_tables, c.args.context_lens);
      EXPECT_TRUE(status.ok()) << status.message();
    });
  }
}

TEST(Probes, a_shared_block_stays_live_where_its_first_sequence_got_shorter) {
  Workload w = ragged_workload();
  w.context_lens = {16, 70};
  w.batch_size = 2;
  w.shared_blocks = true;
  for_each_probe(w, CheckDepth::kPoint,
                 [&](const Probe&, ProbeCase& target) { EXPECT_TRUE(dead_memory_is_poisoned(target.problem())); });
}

TEST(Probes, a_problem_does_not_depend_on_what_was_there_before) {
  const Workload w = ragged_workload();
  for_each_probe(w, CheckDepth::kPoint, [&](const Probe& probe, ProbeCase& target) {
    Result<ProbeCase> fresh = ProbeCase::create(w, target.executor());
    ASSERT_TRUE(fresh.ok());
    probe.write(*fresh, 0);
    for (const Probe& other : probes_for(w, CheckDepth::kPoint)) {
      other.write(target, 0);
      probe.write(target, 0);
      EXPECT_EQ(hash_inputs(target.problem(), target.executor()), hash_inputs(fresh->problem(), target.executor()));
      EXPECT_EQ(target.problem().spec.scale, fresh->problem().spec.scale);
    }
  });
}

TEST(Probes, the_needle_moves_every_block_and_shortens_every_sequence) {
  std::vector<int64_t> blocks;
  for_each_probe(ragged_workload(), CheckDepth::kPoint, [&](const Probe& probe, ProbeCase& target) {
    const Case& c = target.problem();
    const int64_t block = c.table_row(2)[1];
    const int64_t length = c.context_lens_data()[2];
    if (probe.name == std::string("needle")) {
      EXPECT_EQ(block, (blocks.back() + 1) % c.spec.num_blocks);
      EXPECT_EQ(length, 63);
      EXPECT_EQ(c.context_lens_data()[1], 0);
    } else if (probe.name != std::string("empty")) {
      EXPECT_EQ(length, 64);
      blocks.push_back(block);
    }
  });
}

TEST(Probes, every_probe_changes_what_an_earlier_result_would_be) {
  std::vector<std::vector<double>> sums;
  for_each_probe(ragged_workload(), CheckDepth::kPoint, [&](const Probe&, ProbeCase& target) {
    sums.push_back(answer_exactly(target.problem(), target.executor()).sum);
  });
  for (size_t i = 1; i < sums.size(); ++i) EXPECT_NE(sums[i], sums[i - 1]);
}

TEST(Probes, the_coded_census_asks_for_every_code_of_every_group) {
  Workload w = ragged_workload();
  for (const int64_t context : {17, 3'000, 200'000}) {
    w.context_lens = {context, 5};
    w.batch_size = 2;
    std::vector<std::set<int64_t>> asked(4);  // of each (sequence, KV head)
    for_each_probe(w, CheckDepth::kFull, [&](const Probe& probe, ProbeCase& target) {
      if (probe.name != std::string("coded census")) return;
      for (int64_t row = 0; row < 8; ++row) {
        const std::vector<float> query = widen(w.dtype, target.problem().query_row(row / 4, row % 4), w.head_dim);
        for (int64_t d = 0; d < w.head_dim; ++d) {
          if (query[static_cast<size_t>(d)] != 0) asked[static_cast<size_t>(row / 2)].insert(d);
        }
      }
    });
    for (const std::set<int64_t>& codes : asked) EXPECT_EQ(codes.size(), 24U) << "context " << context;
  }
}

TEST(Probes, the_coded_census_counts_at_most_128_tokens_in_a_channel) {
  Workload w = ragged_workload();
  w.head_dim = 32;
  w.context_lens = {100'000};
  w.batch_size = 1;
  for_each_probe(w, CheckDepth::kPoint, [&](const Probe& probe, ProbeCase& target) {
    if (probe.name != std::string("coded census")) return;
    for (const double count : answer_exactly(target.problem(), target.executor()).sum) EXPECT_LE(count, 128);
  });
}

TEST(Probes, needles_lie_at_the_ends_and_edges) {
  Workload w = ragged_workload();
  w.context_lens = {301};  // 300 in the moved placement
  w.batch_size = 1;
  std::set<int64_t> found;
  for_each_probe(w, CheckDepth::kFull, [&](const Probe& probe, ProbeCase& target) {
    if (probe.name != std::string("needle")) return;
    const Case& c = target.problem();
    for (int64_t t = 0; t < 300; ++t) {
      for (int64_t head = 0; head < w.num_kv_heads; ++head) {
        const std::byte* key = c.key(c.table_row(0)[t / w.block_size], t % w.block_size, head);
        for (const float k : widen(w.kv_dtype, key, w.head_dim)) {
          if (k != 0) found.insert(t);
        }
      }
    }
  });
  for (const int64_t position : {0, 15, 16, 63, 64, 127, 128, 255, 256, 287, 288, 299}) {
    EXPECT_TRUE(found.contains(position)) << position;
  }
}

TEST(Probes, a_small_point_shows_every_staircase_too) {
  Workload w = ragged_workload();
  w.context_lens = {20};
  w.batch_size = w.num_heads = w.num_kv_heads = 1;
  std::set<double> tops;
  for_each_probe(w, CheckDepth::kPoint, [&](const Probe& probe, ProbeCase& target) {
    if (probe.name != std::string("staircase")) return;
    tops.insert(answer_exactly(target.problem(), target.executor()).logit[0]);
  });
  EXPECT_THAT(tops, testing::ElementsAre(-0x1p34, -256, 65'536));
}

// A case that holds a given answer, exactly or a little off.
class FindError : public testing::TestWithParam<DType> {
 protected:
  // One sequence, one head; the probe is a census of `count` tokens.
  void answer_with(double count, double sum) {
    Workload w = ragged_workload(GetParam());
    w.context_lens = {1};
    w.batch_size = w.num_heads = w.num_kv_heads = 1;
    w.head_dim = static_cast<int64_t>(answer_.sum.size());
    case_ = std::move(*generate_unfilled(w, 0));
    std::vector<float> row(answer_.sum.size(), static_cast<float>(sum / count));
    from_f32(w.dtype, row.data(), case_.output.data(), w.head_dim);
    case_.lse_data()[0] = static_cast<float>(std::log(count));
  }

  Case case_;
  ExactAnswer answer_ = {.count = {131'072}, .logit = {0}, .sum = std::vector<double>(8, 300)};
};

TEST_P(FindError, accepts_what_an_honest_kernel_rounds_to) {
  answer_with(131'072, 300);
  EXPECT_EQ(find_error(case_, answer_, 1), "");
}

TEST_P(FindError, sees_one_token_among_131072_lost_or_doubled) {
  for (const double change : {-1, 1}) {
    answer_with(131'072 + change, 300 + change);
    EXPECT_NE(find_error(case_, answer_, 1), "");
  }
}

TEST_P(FindError, sees_the_token_in_lse_alone) {
  answer_with(131'072, 300);
  case_.lse_data()[0] = static_cast<float>(std::log(131'071.0));
  EXPECT_THAT(find_error(case_, answer_, 1), testing::HasSubstr("lse[0][0]"));
}

TEST_P(FindError, sees_nan_anywhere) {
  answer_with(131'072, 300);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  from_f32(GetParam(), &nan, case_.output.data() + 5 * size_of(GetParam()), 1);
  EXPECT_THAT(find_error(case_, answer_, 1), testing::HasSubstr("output[0][0][5] is nan"));
  answer_with(131'072, 300);
  case_.lse_data()[0] = nan;
  EXPECT_THAT(find_error(case_, answer_, 1), testing::HasSubstr("lse[0][0] is nan"));
}

TEST_P(FindError, sees_a_foreign_token) {
  // A foreign value of the other sign moves the sum by 2; fp32 and fp16 show it in every channel, bf16 in some: a sum
  // of 256 is where its steps change.
  answer_.sum.assign(8, 256);
  answer_with(131'072, 254);
  EXPECT_NE(find_error(case_, answer_, 1), "");
}

INSTANTIATE_TEST_SUITE_P(Types, FindError, testing::Values(DType::kF32, DType::kF16, DType::kBF16),
                         [](const auto& type) { return name_of(type.param); });

}  // namespace
}  // namespace quire::bench
