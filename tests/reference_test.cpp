// The reference defines what is right, so it is held against answers worked out by hand and a second, slower
// definition.
#include "quire/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/problem.h"
#include "tests/random.h"

namespace quire::test {
namespace {

const QueryFunction kZeroQuery = [](int64_t, int64_t, int64_t) { return 0.0f; };
const CacheFunction kRamp = [](int64_t, int64_t t, int64_t, int64_t) { return static_cast<float>(t); };

TEST(Reference, of_equal_logits_is_the_mean_of_the_values) {
  for (const DType dtype : kStorageTypes) {
    for (const int64_t length : {1, 2, 15, 16, 17, 200}) {
      Problem problem({.dtype = dtype, .context_lens = {length}, .value = kRamp, .query = kZeroQuery});
      const ReferenceResult result = problem.reference();
      for (const double value : result.output) ASSERT_NEAR(value, static_cast<double>(length - 1) / 2, 1e-12);
      for (const double lse : result.lse) ASSERT_NEAR(lse, std::log(static_cast<double>(length)), 1e-14);
    }
  }
}

TEST(Reference, of_one_token_is_its_value) {
  Problem problem({.dtype = DType::kF32,
                   .num_heads = 2,
                   .num_kv_heads = 1,
                   .head_dim = 5,
                   .context_lens = {1},
                   .value = [](int64_t, int64_t, int64_t, int64_t d) { return 0.1f * static_cast<float>(d); }});
  const ReferenceResult result = problem.reference();
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(result.output[i], static_cast<double>(0.1f * static_cast<float>(i % 5)));
}

// Logits 0.5 * 3 = 1.5 and 0.5 * 1 = 0.5: weights 1 / (1 + 1/e) = 0.7310585786 and 0.2689414214.
TEST(Reference, of_two_tokens_is_what_one_computes_by_hand) {
  Problem problem({.num_heads = 1,
                   .num_kv_heads = 1,
                   .head_dim = 2,
                   .context_lens = {2},
                   .scale = 0.5f,
                   .key = [](int64_t, int64_t t, int64_t, int64_t d) { return d == 0 ? (t == 0 ? 3.0f : 1.0f) : 9.0f; },
                   .value = [](int64_t, int64_t t, int64_t, int64_t d) { return t == 0   ? 1.0f
                                                                                : d == 0 ? 0.0f
                                                                                         : 5.0f; },
                   .query = [](int64_t, int64_t, int64_t d) { return d == 0 ? 1.0f : 0.0f; }});
  const ReferenceResult result = problem.reference();
  EXPECT_NEAR(result.output[0], 0.7310585786300049, 1e-15);
  EXPECT_NEAR(result.output[1], 0.7310585786300049 + 5 * 0.2689414213699951, 1e-15);
  EXPECT_NEAR(result.lse[0], 1.5 + std::log1p(std::exp(-1.0)), 1e-15);
  // N^2 = p0^2 |(1, 1)|^2 + p1^2 |(0, 5)|^2.
  EXPECT_NEAR(result.norm[0], std::sqrt(0.53444664539 * 2 + 0.07232948813 * 25), 1e-9);
}

TEST(Reference, norm_of_equal_weights_and_unit_values_is_one_over_the_root_of_their_number) {
  Problem problem({.head_dim = 1,
                   .context_lens = {100},
                   .value =
                       [](int64_t, int64_t t, int64_t, int64_t) {
                         return t % 2 == 0 ? 1.0f : -1.0f;  // the output cancels to 0, N does not
                       },
                   .query = kZeroQuery});
  const ReferenceResult result = problem.reference();
  EXPECT_NEAR(result.output[0], 0, 1e-15);
  EXPECT_NEAR(result.norm[0], 0.1, 1e-15);
}

TEST(Reference, of_an_empty_row_is_zero_with_lse_minus_infinity) {
  Problem problem({.context_lens = {0, 3, 40}, .unmapped = [](int64_t b, int64_t) { return b == 2; }});
  const ReferenceResult result = problem.reference();
  const size_t row = size_t{4} * 64;
  for (const size_t empty : {size_t{0}, size_t{2}}) {
    for (size_t i = empty * row; i < (empty + 1) * row; ++i) ASSERT_EQ(result.output[i], 0);
    for (size_t h = empty * 4; h < (empty + 1) * 4; ++h) {
      EXPECT_EQ(result.lse[h], -std::numeric_limits<double>::infinity());
      EXPECT_EQ(result.norm[h], 0);
    }
  }
  EXPECT_TRUE(std::isfinite(result.lse[4]));
}

TEST(Reference, leaves_unmapped_tokens_out_of_the_softmax) {
  // Tokens 16..31 of 40 are missing: the mean of 0..15 and 32..39.
  Problem problem({.context_lens = {40},
                   .unmapped = [](int64_t, int64_t i) { return i == 1; },
                   .value = kRamp,
                   .query = kZeroQuery});
  const ReferenceResult result = problem.reference();
  EXPECT_NEAR(result.output[0], (120.0 + 284.0) / 24, 1e-12);
  EXPECT_NEAR(result.lse[0], std::log(24.0), 1e-14);
}

TEST(Reference, keeps_huge_logits_apart) {
  Problem problem({.dtype = DType::kF16,
                   .num_heads = 1,
                   .num_kv_heads = 1,
                   .head_dim = 128,
                   .context_lens = {64},
                   .key = [](int64_t, int64_t t, int64_t, int64_t) { return t == 40 ? -59000.0f : -60000.0f; },
                   .value = kRamp,
                   .query = [](int64_t, int64_t, int64_t) { return 60000.0f; }});
  const ReferenceResult result = problem.reference();
  EXPECT_EQ(result.output[0], 40);
  EXPECT_TRUE(std::isfinite(result.lse[0]));
}

TEST(Reference, reports_values_that_are_not_finite_in_kind) {
  const auto first_output = [](float value) {
    Problem problem({.context_lens = {20},
                     .value = [value](int64_t, int64_t t, int64_t, int64_t) { return t == 7 ? value : 1.0f; }});
    return problem.reference().output[0];
  };
  EXPECT_EQ(first_output(kInfinity), static_cast<double>(kInfinity));
  EXPECT_EQ(first_output(-kInfinity), -static_cast<double>(kInfinity));
  EXPECT_TRUE(std::isnan(first_output(kNaN)));
}

// The definition once more: no maximum taken out, one channel at a time, in long double, from the problem's functions
// and not from its memory.
double plain_output(const Problem& problem, const CacheFunction& key, const CacheFunction& value,
                    const QueryFunction& query, int64_t b, int64_t h, int64_t channel) {
  const Shape& shape = problem.shape();
  const auto stored = [&](float exact) {
    std::byte bytes[4];
    from_f32(shape.dtype, &exact, bytes, 1);
    to_f32(shape.dtype, bytes, &exact, 1);
    return static_cast<long double>(exact);
  };
  const int64_t kv_head = h * shape.num_kv_heads / shape.num_heads;
  long double weighted = 0;
  long double sum = 0;
  for (int64_t t = 0; t < shape.context_lens[static_cast<size_t>(b)]; ++t) {
    if (shape.unmapped && shape.unmapped(b, t / shape.block_size)) continue;
    long double dot = 0;
    for (int64_t d = 0; d < shape.head_dim; ++d) dot += stored(query(b, h, d)) * stored(key(b, t, kv_head, d));
    const long double p = std::exp(dot * static_cast<long double>(scale_of(problem.spec())));
    weighted += p * stored(value(b, t, kv_head, channel));
    sum += p;
  }
  return static_cast<double>(sum > 0 ? weighted / sum : 0);
}

TEST(Reference, agrees_with_a_second_definition_in_long_double) {
  for (uint64_t seed = 500; seed < (kReducedTests ? 503 : 512); ++seed) {
    SCOPED_TRACE(seed);
    Shape shape = random_shape(seed);
    shape.shared_prefix = false;
    const auto random_cache = [seed](int stream) {
      return [seed, stream](int64_t b, int64_t t, int64_t h, int64_t d) {
        return random_normal(seed, stream, b, t, h, d);
      };
    };
    const QueryFunction query = [seed](int64_t b, int64_t h, int64_t d) {
      return random_normal(seed, kQueryStream, b, 0, h, d);
    };
    Problem problem(shape);
    const ReferenceResult result = problem.reference();
    // A few channels of each head: the second definition is slow.
    for (int64_t i = 0; i < problem.spec().batch_size * shape.num_heads; ++i) {
      const int64_t channel = i * 7 % shape.head_dim;
      const double want = plain_output(problem, random_cache(kKeyStream), random_cache(kValueStream), query,
                                       i / shape.num_heads, i % shape.num_heads, channel);
      ASSERT_NEAR(result.output[static_cast<size_t>(i * shape.head_dim + channel)], want, 1e-12) << i;
    }
  }
}

TEST(Reference, gives_equal_bits_for_any_number_of_threads) {
  Problem problem({.dtype = DType::kF16, .context_lens = {100, 0, 31, 500}});
  ThreadPool one(1);
  const Result<ReferenceResult> first = quire::reference(problem.spec(), problem.args(), &one);
  ASSERT_TRUE(first.ok());
  for (const int threads : {2, 5}) {
    ThreadPool pool(threads);
    const Result<ReferenceResult> result = quire::reference(problem.spec(), problem.args(), &pool);
    EXPECT_EQ(result->output, first->output);
    EXPECT_EQ(result->lse, first->lse);
    EXPECT_EQ(result->norm, first->norm);
  }
}

TEST(Reference, needs_neither_output_nor_lse) {
  Problem problem({.context_lens = {20}});
  AttentionArgs args = problem.args();
  args.output = nullptr;
  args.lse = nullptr;
  EXPECT_TRUE(quire::reference(problem.spec(), args).ok());
}

TEST(Reference, of_an_empty_batch_is_empty) {
  Problem problem({.context_lens = {}});
  const ReferenceResult result = problem.reference();
  EXPECT_TRUE(result.output.empty() && result.lse.empty() && result.norm.empty());
}

TEST(Reference, fails_as_decode_does) {
  Problem problem({.context_lens = {20}});
  AttentionArgs args = problem.args();
  args.v_cache = nullptr;
  EXPECT_EQ(quire::reference(problem.spec(), args).status().code(), StatusCode::kInvalidArgument);
  problem.table(0, 1) = 1000;
  EXPECT_EQ(quire::reference(problem.spec(), problem.args()).status().code(), StatusCode::kOutOfRange);
  problem.context_len(0) = -1;
  EXPECT_EQ(quire::reference(problem.spec(), problem.args()).status().code(), StatusCode::kOutOfRange);
  problem.mutable_spec().kv_dtype = DType::kI8;
  const Status status = quire::reference(problem.spec(), problem.args()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), testing::HasSubstr("int8"));
  problem.mutable_spec().num_heads = 3;
  EXPECT_EQ(quire::reference(problem.spec(), problem.args()).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace quire::test
