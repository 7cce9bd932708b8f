// Where blocks lie, what dead memory holds, who else is in the batch and where a context is cut change nothing: laws
// that hold for every problem, tried on random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/accuracy.h"
#include "tests/invariants.h"
#include "tests/problem.h"
#include "tests/random.h"

namespace quire::test {
namespace {

class MemoryInvariants : public Invariants {};

QUIRE_FOR_EVERY_IMPLEMENTATION(MemoryInvariants);

TEST_P(MemoryInvariants, placement_of_blocks_changes_no_bit) {
  for_random_shapes([this](Shape shape) {
    shape.placement = Placement::kIdentity;
    const Answer identity = run(shape);
    for (const Placement placement : {Placement::kReversed, Placement::kStrided, Placement::kShuffled}) {
      shape.placement = placement;
      EXPECT_TRUE(same_bits(identity, run(shape))) << "placement " << static_cast<int>(placement);
    }
  });
}

TEST_P(MemoryInvariants, dead_cache_memory_changes_no_bit) {
  for_random_shapes([this](Shape shape) {
    shape.dead = 0.0f;
    const Answer zeros = run(shape);
    for (const float dead : {kNaN, kInfinity, -kInfinity, 65504.0f, -65504.0f}) {
      shape.dead = dead;
      EXPECT_TRUE(same_bits(zeros, run(shape))) << "dead memory holds " << dead;
    }
  });
}

TEST_P(MemoryInvariants, dead_table_entries_change_no_bit) {
  for_random_shapes([this](Shape shape) {
    Problem problem(std::move(shape));
    const Answer bad_ids = problem.run(implementation());
    const AttentionSpec& spec = problem.spec();
    for (int64_t b = 0; b < spec.batch_size; ++b) {
      const int64_t live = (problem.context_len(b) + spec.block_size - 1) / spec.block_size;
      for (int64_t i = live; i < spec.max_blocks_per_seq; ++i) problem.table(b, i) = static_cast<int32_t>(i % 2);
    }
    EXPECT_TRUE(same_bits(bad_ids, problem.run(implementation())));
  });
}

TEST_P(MemoryInvariants, old_workspace_contents_change_no_bit) {
  for_random_shapes([this](Shape shape) {
    Problem problem(std::move(shape));
    const Result<size_t> bytes = workspace_bytes(implementation(), problem.spec());
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    GuardedBuffer workspace(*bytes, kWorkspaceAlignment);
    const Answer fresh = problem.run(implementation());
    for (const auto byte : std::initializer_list<uint8_t>{0x00, 0x7B, 0x80, 0xFF}) {
      workspace.fill(byte);
      EXPECT_TRUE(same_bits(fresh, problem.run(implementation(), nullptr, &workspace))) << int{byte};
      EXPECT_TRUE(same_bits(fresh, problem.run(implementation(), nullptr, &workspace))) << "second run";
    }
  });
}

TEST_P(MemoryInvariants, batch_mates_change_no_bit_where_batch_invariant_else_little) {
  for_random_shapes([this](Shape shape) {
    shape.shared_prefix = false;  // whose data would depend on who comes first
    shape.batch_invariant = implementation().flags.batch_invariant;
    shape.row_keys.resize(shape.context_lens.size());
    std::iota(shape.row_keys.begin(), shape.row_keys.end(), int64_t{0});
    Problem together(shape);
    const Answer whole = together.run(implementation());
    const auto check_rows = [&](const std::vector<int64_t>& rows) {
      Shape part = shape;
      part.row_keys = rows;
      part.context_lens.clear();
      for (const int64_t row : rows) part.context_lens.push_back(shape.context_lens[static_cast<size_t>(row)]);
      Problem problem(part);
      const Answer answer = problem.run(implementation());
      EXPECT_TRUE(agrees(answer, problem.reference(), problem.spec()));
      if (!shape.batch_invariant) return;
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(answer.row_bits(problem.spec(), static_cast<int64_t>(i)), whole.row_bits(together.spec(), rows[i]))
            << "row " << rows[i] << " in a batch of " << rows.size();
      }
    };
    std::vector<int64_t> rows = shape.row_keys;
    for (const int64_t row : rows) check_rows({row});
    std::reverse(rows.begin(), rows.end());
    check_rows(rows);
    std::vector<int64_t> crowd;
    for (int i = 0; i < 33; ++i) crowd.push_back(rows[static_cast<size_t>(i) % rows.size()]);
    check_rows(crowd);
  });
}

// The answer for tokens [first, last) of a problem whose data are those of the whole.
Shape token_range(const Shape& whole, int64_t first, int64_t last) {
  Shape part = whole;
  part.key = [seed = whole.seed, first](int64_t b, int64_t t, int64_t h, int64_t d) {
    return random_normal(seed, kKeyStream, b, t + first, h, d);
  };
  part.value = [seed = whole.seed, first](int64_t b, int64_t t, int64_t h, int64_t d) {
    return random_normal(seed, kValueStream, b, t + first, h, d);
  };
  for (int64_t& length : part.context_lens) length = std::clamp<int64_t>(length - first, 0, last - first);
  return part;
}

// Merges what two disjoint sets of tokens gave: weights exp(lse), in natural logarithms.
Answer merge(const Answer& a, const Answer& b, int64_t head_dim) {
  Answer merged;
  for (size_t i = 0; i < a.lse.size(); ++i) {
    const double lse_a = static_cast<double>(a.lse[i]);
    const double lse_b = static_cast<double>(b.lse[i]);
    const double top = std::max(lse_a, lse_b);
    const double weight_a = std::isinf(top) ? 0 : std::exp(lse_a - top);
    const double weight_b = std::isinf(top) ? 0 : std::exp(lse_b - top);
    const double sum = weight_a + weight_b;
    for (size_t d = 0; d < static_cast<size_t>(head_dim); ++d) {
      const size_t at = i * static_cast<size_t>(head_dim) + d;
      const double value = weight_a * static_cast<double>(a.output[at]) + weight_b * static_cast<double>(b.output[at]);
      merged.output.push_back(static_cast<float>(sum > 0 ? value / sum : 0));
    }
    merged.lse.push_back(static_cast<float>(top + (sum > 0 ? std::log(sum) : 0)));
  }
  return merged;
}

TEST_P(MemoryInvariants, parts_of_a_context_merge_by_lse_into_the_whole) {
  for_random_shapes([this](Shape shape) {
    shape.unmapped = nullptr;
    shape.shared_prefix = false;
    const int64_t longest = *std::max_element(shape.context_lens.begin(), shape.context_lens.end());
    Problem whole(shape);
    const ReferenceResult expected = whole.reference();
    for (const int64_t cut : {int64_t{0}, int64_t{1}, longest / 3, longest / 2, longest - 1, longest}) {
      if (cut < 0) continue;
      const Answer front = run(token_range(shape, 0, cut));
      const Answer back = run(token_range(shape, cut, longest));
      EXPECT_TRUE(agrees(merge(front, back, shape.head_dim), expected, whole.spec())) << "cut at " << cut;
    }
  });
}

}  // namespace
}  // namespace quire::test
