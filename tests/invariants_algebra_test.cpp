// Softmax, weighted sums and grouped heads obey their algebra: laws that hold for every problem, tried on random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "tests/accuracy.h"
#include "tests/invariants.h"
#include "tests/problem.h"
#include "tests/random.h"

namespace quire::test {
namespace {

class AlgebraInvariants : public Invariants {};

QUIRE_FOR_EVERY_IMPLEMENTATION(AlgebraInvariants);

// A multiple of 1/64 small enough for sums and small multiples to be exact in every storage type.
float coarse(uint64_t seed, int stream, int64_t row, int64_t token, int64_t head, int64_t d) {
  return std::round(random_normal(seed, stream, row, token, head, d) * 16) / 64;
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

TEST_P(AlgebraInvariants, constant_values_return_that_constant) {
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

TEST_P(AlgebraInvariants, outputs_lie_between_the_least_and_the_greatest_value) {
  for_random_shapes([this](Shape shape) {
    shape.unmapped = nullptr;
    shape.shared_prefix = false;
    const auto value = [](int64_t b, int64_t t, int64_t h, int64_t d) {
      return 5 + coarse(3, kValueStream, b, t, h, d) * static_cast<float>(1 + d % 3);
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

TEST_P(AlgebraInvariants, a_constant_added_to_all_logits_moves_only_lse) {
  for_random_shapes([this](Shape shape) {
    shape.scale = 0.5f;
    shape.query = [](int64_t b, int64_t h, int64_t d) { return d == 0 ? 2.0f : coarse(5, kQueryStream, b, 0, h, d); };
    const auto key_with = [](float first) {
      return [first](int64_t b, int64_t t, int64_t h, int64_t d) {
        return d == 0 ? first : coarse(5, kKeyStream, b, t, h, d);
      };
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

TEST_P(AlgebraInvariants, powers_of_two_move_between_keys_and_scale_without_a_trace) {
  for_random_shapes([this](Shape shape) {
    shape.scale = 0.375f;
    shape.key = [](int64_t b, int64_t t, int64_t h, int64_t d) { return coarse(9, kKeyStream, b, t, h, d); };
    const Answer plain = run(shape);
    for (const int n : {-3, 1, 6}) {
      shape.scale = std::ldexp(0.375f, -n);
      shape.key = [n](int64_t b, int64_t t, int64_t h, int64_t d) {
        return std::ldexp(coarse(9, kKeyStream, b, t, h, d), n);
      };
      EXPECT_TRUE(same_bits(plain, run(shape))) << "keys times 2^" << n;
    }
  });
}

TEST_P(AlgebraInvariants, output_is_linear_in_values) {
  for_random_shapes([this](Shape shape) {
    const auto first = [](int64_t b, int64_t t, int64_t h, int64_t d) { return coarse(1, kValueStream, b, t, h, d); };
    const auto second = [](int64_t b, int64_t t, int64_t h, int64_t d) { return coarse(2, kValueStream, b, t, h, d); };
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

TEST_P(AlgebraInvariants, order_of_tokens_changes_little) {
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
    shape.key = shuffled(kKeyStream);
    shape.value = shuffled(kValueStream);
    EXPECT_TRUE(agrees(run(shape), expected, in_order.spec()));
  });
}

TEST_P(AlgebraInvariants, grouped_heads_equal_kv_heads_repeated) {
  for_random_shapes([this](Shape shape) {
    Problem grouped(shape);
    const ReferenceResult expected = grouped.reference();
    const int64_t group = shape.num_heads / shape.num_kv_heads;
    const auto repeated = [group, seed = shape.seed](int stream) {
      return [group, seed, stream](int64_t b, int64_t t, int64_t h, int64_t d) {
        return random_normal(seed, stream, b, t, h / group, d);
      };
    };
    shape.key = repeated(kKeyStream);
    shape.value = repeated(kValueStream);
    shape.num_kv_heads = shape.num_heads;
    EXPECT_TRUE(agrees(run(shape), expected, grouped.spec()));
  });
}

TEST_P(AlgebraInvariants, permuting_kv_heads_with_their_groups_permutes_the_output) {
  for_random_shapes([this](Shape shape) {
    Problem in_order(shape);
    const ReferenceResult expected = in_order.reference();
    const int64_t heads = shape.num_heads;
    const int64_t kv_heads = shape.num_kv_heads;
    const int64_t group = heads / kv_heads;
    // KV head h moves to kv_heads - 1 - h, and its query heads with it, in their order.
    const auto origin = [=](int64_t head) { return (kv_heads - 1 - head / group) * group + head % group; };
    shape.query = [=, seed = shape.seed](int64_t b, int64_t h, int64_t d) {
      return random_normal(seed, kQueryStream, b, 0, origin(h), d);
    };
    const auto moved = [=, seed = shape.seed](int stream) {
      return [=](int64_t b, int64_t t, int64_t h, int64_t d) {
        return random_normal(seed, stream, b, t, kv_heads - 1 - h, d);
      };
    };
    shape.key = moved(kKeyStream);
    shape.value = moved(kValueStream);
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
