// Laws that hold for every problem, tried on random ones: where blocks lie, what dead memory holds and who else is in
// the batch change nothing; softmax and grouped heads obey their algebra.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/accuracy.h"
#include "tests/every_implementation.h"
#include "tests/problem.h"

namespace quire::test {
namespace {

class Invariants : public EveryImplementation {
 protected:
  static constexpr uint64_t kSeeds = kReducedTests ? 3 : 16;
  static constexpr uint64_t kFirstSeed = 1000;

  // Calls body(shape) for random shapes.
  template <typename Body>
  static void for_random_shapes(Body body) {
    for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed) {
      SCOPED_TRACE("random_shape(" + std::to_string(seed) + ")");
      body(random_shape(seed));
    }
  }

  Answer run(Shape shape) const { return Problem(std::move(shape)).run(implementation()); }
};

QUIRE_FOR_EVERY_IMPLEMENTATION(Invariants);

// A multiple of 1/64 small enough for sums and small multiples to be exact in every storage type.
float coarse(uint64_t seed, int stream, int64_t row, int64_t token, int64_t head, int64_t d) {
  return std::round(random_normal(seed, stream, row, token, head, d) * 16) / 64;
}

TEST_P(Invariants, placement_of_blocks_changes_no_bit) {
  for_random_shapes([this](Shape shape) {
    shape.placement = Placement::kIdentity;
    const Answer identity = run(shape);
    for (const Placement placement : {Placement::kReversed, Placement::kStrided, Placement::kShuffled}) {
      shape.placement = placement;
      EXPECT_TRUE(same_bits(identity, run(shape))) << "placement " << static_cast<int>(placement);
    }
  });
}

TEST_P(Invariants, dead_cache_memory_changes_no_bit) {
  for_random_shapes([this](Shape shape) {
    shape.dead = 0.0f;
    const Answer zeros = run(shape);
    for (const float dead : {kNaN, kInfinity, -kInfinity, 65504.0f, -65504.0f}) {
      shape.dead = dead;
      EXPECT_TRUE(same_bits(zeros, run(shape))) << "dead memory holds " << dead;
    }
  });
}

TEST_P(Invariants, dead_table_entries_change_no_bit) {
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

TEST_P(Invariants, old_workspace_contents_change_no_bit) {
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

TEST_P(Invariants, batch_mates_change_no_bit_where_batch_invariant_else_little) {
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
    return random_normal(seed, 0, b, t + first, h, d);
  };
  part.value = [seed = whole.seed, first](int64_t b, int64_t t, int64_t h, int64_t d) {
    return random_normal(seed, 1, b, t + first, h, d);
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

TEST_P(Invariants, parts_of_a_context_merge_by_lse_into_the_whole) {
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

// One step of the output type next to `value`.
double ulp(DType dtype, double value) {
  const int mantissa_bits = dtype == DType::kF16 ? 10 : dtype == DType::kBF16 ? 7 : 23;
  const int least_exponent = dtype == DType::kF16 ? -14 : -126;
  return std::ldexp(1.0, std::max(std::ilogb(value), least_exponent) - mantissa_bits);
}

double closeness(DType dtype, double value) {
  return dtype == DType::kF32 ? gate(dtype, 64) * std::abs(value) : ulp(dtype, value);
}

TEST_P(Invariants, constant_values_return_that_constant) {
  for_random_shapes([this](Shape shape) {
    for (const float constant : {1.0f, -3.0f, 0.375f, 60000.0f}) {
      float stored = 0;
      std::byte bytes[4];
      from_f32(shape.dtype, &constant, bytes, 1);
      to_f32(shape.dtype, bytes, &stored, 1);
      shape.value = [constant](int64_t, int64_t, int64_t, int64_t) { return constant; };
      const Answer answer = run(shape);
      for (size_t i = 0; i < answer.output.size(); ++i) {
        const bool empty = std::isinf(answer.lse[i / static_cast<size_t>(shape.head_dim)]);
        const double want = empty ? 0 : static_cast<double>(stored);
        ASSERT_NEAR(static_cast<double>(answer.output[i]), want, closeness(shape.dtype, want)) << "element " << i;
      }
    }
  });
}

TEST_P(Invariants, outputs_lie_between_the_least_and_the_greatest_value) {
  for_random_shapes([this](Shape shape) {
    shape.unmapped = nullptr;
    shape.shared_prefix = false;
    const auto value = [](int64_t b, int64_t t, int64_t h, int64_t d) {
      return 5 + coarse(3, 1, b, t, h, d) * static_cast<float>(1 + d % 3);
    };
    shape.value = value;
    const Answer answer = run(shape);
    const int64_t group = shape.num_heads / shape.num_kv_heads;
    size_t i = 0;
    for (size_t b = 0; b < shape.context_lens.size(); ++b) {
      for (int64_t h = 0; h < shape.num_heads; ++h) {
        for (int64_t d = 0; d < shape.head_dim; ++d, ++i) {
          if (shape.context_lens[b] == 0) continue;
          float least = kInfinity;
          float greatest = -kInfinity;
          for (int64_t t = 0; t < shape.context_lens[b]; ++t) {
            float stored = value(static_cast<int64_t>(b), t, h / group, d);
            std::byte bytes[4];
            from_f32(shape.dtype, &stored, bytes, 1);
            to_f32(shape.dtype, bytes, &stored, 1);
            least = std::min(least, stored);
            greatest = std::max(greatest, stored);
          }
          const double slack = closeness(shape.dtype, 8);
          ASSERT_GE(static_cast<double>(answer.output[i]), static_cast<double>(least) - slack) << "element " << i;
          ASSERT_LE(static_cast<double>(answer.output[i]), static_cast<double>(greatest) + slack) << "element " << i;
        }
      }
    }
  });
}

TEST_P(Invariants, a_constant_added_to_all_logits_moves_only_lse) {
  for_random_shapes([this](Shape shape) {
    shape.scale = 0.5f;
    shape.query = [](int64_t b, int64_t h, int64_t d) { return d == 0 ? 2.0f : coarse(5, 2, b, 0, h, d); };
    const auto key_with = [](float first) {
      return [first](int64_t b, int64_t t, int64_t h, int64_t d) { return d == 0 ? first : coarse(5, 0, b, t, h, d); };
    };
    shape.key = key_with(0);
    Problem plain(shape);
    ReferenceResult expected = plain.reference();
    for (const float shift : {-40.0f, 3.0f, 200.0f}) {
      shape.key = key_with(shift);  // 0.5 * 2 * shift is added to every logit
      ReferenceResult shifted = expected;
      for (double& lse : shifted.lse) lse += static_cast<double>(shift);
      EXPECT_TRUE(agrees(run(shape), shifted, plain.spec())) << "shift " << shift;
    }
  });
}

TEST_P(Invariants, powers_of_two_move_between_keys_and_scale_without_a_trace) {
  for_random_shapes([this](Shape shape) {
    shape.scale = 0.375f;
    shape.key = [](int64_t b, int64_t t, int64_t h, int64_t d) { return coarse(9, 0, b, t, h, d); };
    const Answer plain = run(shape);
    for (const int n : {-3, 1, 6}) {
      shape.scale = std::ldexp(0.375f, -n);
      shape.key = [n](int64_t b, int64_t t, int64_t h, int64_t d) { return std::ldexp(coarse(9, 0, b, t, h, d), n); };
      EXPECT_TRUE(same_bits(plain, run(shape))) << "keys times 2^" << n;
    }
  });
}

TEST_P(Invariants, output_is_linear_in_values) {
  for_random_shapes([this](Shape shape) {
    const auto first = [](int64_t b, int64_t t, int64_t h, int64_t d) { return coarse(1, 1, b, t, h, d); };
    const auto second = [](int64_t b, int64_t t, int64_t h, int64_t d) { return coarse(2, 1, b, t, h, d); };
    shape.value = first;
    const Answer a = run(shape);
    shape.value = second;
    const Answer b = run(shape);
    shape.value = [&](int64_t r, int64_t t, int64_t h, int64_t d) { return first(r, t, h, d) - second(r, t, h, d); };
    Problem difference(shape);
    Answer subtracted = difference.run(implementation());
    ASSERT_TRUE(agrees(subtracted, difference.reference(), difference.spec()));
    double error = 0;
    double size = 0;
    for (size_t i = 0; i < a.output.size(); ++i) {
      const double da = static_cast<double>(a.output[i]);
      const double db = static_cast<double>(b.output[i]);
      error += std::pow(da - db - static_cast<double>(subtracted.output[i]), 2);
      size += da * da + db * db;
    }
    EXPECT_LE(std::sqrt(error), 2 * gate(shape.dtype, shape.head_dim) * std::sqrt(size));
  });
}

TEST_P(Invariants, order_of_tokens_changes_little) {
  for_random_shapes([this](Shape shape) {
    shape.unmapped = nullptr;
    shape.shared_prefix = false;
    Problem in_order(shape);
    const ReferenceResult expected = in_order.reference();
    std::vector<std::vector<int64_t>> orders;
    for (const int64_t length : shape.context_lens) {
      std::vector<int64_t> order(static_cast<size_t>(length));
      std::iota(order.begin(), order.end(), int64_t{0});
      std::shuffle(order.begin(), order.end(), std::mt19937_64(shape.seed));
      orders.push_back(std::move(order));
    }
    const auto shuffled = [&](int stream) {
      return [&orders, stream, seed = shape.seed](int64_t b, int64_t t, int64_t h, int64_t d) {
        return random_normal(seed, stream, b, orders[static_cast<size_t>(b)][static_cast<size_t>(t)], h, d);
      };
    };
    shape.key = shuffled(0);
    shape.value = shuffled(1);
    EXPECT_TRUE(agrees(run(shape), expected, in_order.spec()));
  });
}

TEST_P(Invariants, grouped_heads_equal_kv_heads_repeated) {
  for_random_shapes([this](Shape shape) {
    Problem grouped(shape);
    const ReferenceResult expected = grouped.reference();
    const int64_t group = shape.num_heads / shape.num_kv_heads;
    const auto repeated = [group, seed = shape.seed](int stream) {
      return [group, seed, stream](int64_t b, int64_t t, int64_t h, int64_t d) {
        return random_normal(seed, stream, b, t, h / group, d);
      };
    };
    shape.key = repeated(0);
    shape.value = repeated(1);
    shape.num_kv_heads = shape.num_heads;
    EXPECT_TRUE(agrees(run(shape), expected, grouped.spec()));
  });
}

TEST_P(Invariants, permuting_kv_heads_with_their_groups_permutes_the_output) {
  for_random_shapes([this](Shape shape) {
    Problem in_order(shape);
    const ReferenceResult expected = in_order.reference();
    const int64_t heads = shape.num_heads;
    const int64_t kv_heads = shape.num_kv_heads;
    const int64_t group = heads / kv_heads;
    // KV head h moves to kv_heads - 1 - h, and its query heads with it, in their order.
    const auto origin = [=](int64_t head) { return (kv_heads - 1 - head / group) * group + head % group; };
    shape.query = [=, seed = shape.seed](int64_t b, int64_t h, int64_t d) {
      return random_normal(seed, 2, b, 0, origin(h), d);
    };
    const auto moved = [=, seed = shape.seed](int stream) {
      return [=](int64_t b, int64_t t, int64_t h, int64_t d) {
        return random_normal(seed, stream, b, t, kv_heads - 1 - h, d);
      };
    };
    shape.key = moved(0);
    shape.value = moved(1);
    ReferenceResult permuted = expected;
    for (int64_t i = 0; i < in_order.spec().batch_size * heads; ++i) {
      const auto to = static_cast<size_t>(i);
      const auto from = static_cast<size_t>(i / heads * heads + origin(i % heads));
      const auto d = static_cast<size_t>(shape.head_dim);
      permuted.lse[to] = expected.lse[from];
      permuted.norm[to] = expected.norm[from];
      std::copy_n(expected.output.begin() + static_cast<ptrdiff_t>(from * d), d,
                  permuted.output.begin() + static_cast<ptrdiff_t>(to * d));
    }
    EXPECT_TRUE(agrees(run(shape), permuted, in_order.spec()));
  });
}

}  // namespace
}  // namespace quire::test
