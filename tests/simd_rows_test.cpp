// The vector operations that kernels are made of, on every SIMD target: right to the last element, blind to what lies
// behind it.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "quire/convert.h"
#include "src/cpu/head_scratch.h"
#include "src/cpu/simd/softmax.h"
#include "tests/guarded_buffer.h"
#include "tests/problem.h"
#include "tests/random.h"
#include "tests/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/simd_rows_test.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "src/cpu/simd/rows-inl.h"
#include "src/cpu/simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quire {
namespace HWY_NAMESPACE {

// e^x of each value, padded to whole vectors by the caller.
void exp_all(float* values, size_t count) {
  const FloatTag d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(exp_nonpositive(d, hn::LoadU(d, values + i)), d, values + i);
  }
}

float max_all(const float* values, size_t count) { return max_of(values, count); }

float dot(DType dtype, const float* query, const void* row, size_t head_dim) {
  switch (dtype) {
    case DType::kF16: return dot_row(query, static_cast<const hwy::float16_t*>(row), head_dim);
    case DType::kBF16: return dot_row(query, static_cast<const hwy::bfloat16_t*>(row), head_dim);
    default: return dot_row(query, static_cast<const float*>(row), head_dim);
  }
}

template <typename T>
void dot_four_as(const float* query, const void* const* rows, size_t head_dim, float* dots) {
  const T* typed[4];
  for (size_t r = 0; r < 4; ++r) typed[r] = static_cast<const T*>(rows[r]);
  dot_four_rows(query, typed, head_dim, dots);
}

void dot_four(DType dtype, const float* query, const void* const* rows, size_t head_dim, float* dots) {
  switch (dtype) {
    case DType::kF16: return dot_four_as<hwy::float16_t>(query, rows, head_dim, dots);
    case DType::kBF16: return dot_four_as<hwy::bfloat16_t>(query, rows, head_dim, dots);
    default: return dot_four_as<float>(query, rows, head_dim, dots);
  }
}

template <typename T>
void add_rows_as(const float* weights, const void* const* rows, size_t count, size_t head_dim, float decay,
                 float* accumulator) {
  std::vector<const T*> typed;
  for (size_t r = 0; r < count; ++r) typed.push_back(static_cast<const T*>(rows[r]));
  multiply_add_rows(weights, typed.data(), count, head_dim, decay, accumulator);
}

void add_rows(DType dtype, const float* weights, const void* const* rows, size_t count, size_t head_dim, float decay,
              float* accumulator) {
  switch (dtype) {
    case DType::kF16: return add_rows_as<hwy::float16_t>(weights, rows, count, head_dim, decay, accumulator);
    case DType::kBF16: return add_rows_as<hwy::bfloat16_t>(weights, rows, count, head_dim, decay, accumulator);
    default: return add_rows_as<float>(weights, rows, count, head_dim, decay, accumulator);
  }
}

void add_row(DType dtype, float weight, const void* row, size_t head_dim, float* accumulator) {
  switch (dtype) {
    case DType::kF16: return multiply_add_row(weight, static_cast<const hwy::float16_t*>(row), head_dim, accumulator);
    case DType::kBF16: return multiply_add_row(weight, static_cast<const hwy::bfloat16_t*>(row), head_dim, accumulator);
    default: return multiply_add_row(weight, static_cast<const float*>(row), head_dim, accumulator);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace quire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace quire {
HWY_EXPORT(exp_all);
HWY_EXPORT(max_all);
HWY_EXPORT(dot);
HWY_EXPORT(dot_four);
HWY_EXPORT(add_rows);
HWY_EXPORT(add_row);

namespace test {
namespace {

class SimdRows : public testing::TestWithParam<int64_t> {
 private:
  const OnlySimdTarget only_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Targets, SimdRows, testing::ValuesIn(simd_targets()),
                         [](const auto& tested) { return simd_target_name(tested.param); });

TEST_P(SimdRows, exp_is_within_two_steps_of_the_exact_value) {
  std::vector<float> x;
  float value = -87.3f;
  while (value < -1e-6f) {
    x.push_back(value);
    value *= 0.9999f;
  }
  x.insert(x.end(), {0.0f, -0.0f, -1e-30f, -1e-45f, -0.34657359f, -0.34657362f, -1.0f});
  x.resize((x.size() + 63) / 64 * 64, 0.0f);
  std::vector<float> got = x;
  HWY_DYNAMIC_DISPATCH(exp_all)(got.data(), got.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = std::exp(static_cast<double>(x[i]));
    const double step = std::ldexp(1.0, std::ilogb(want) - 23);
    ASSERT_NEAR(static_cast<double>(got[i]), want, 2 * step) << "e^" << x[i];
  }
  EXPECT_EQ(got[x.size() - 1], 1.0f);
}

TEST_P(SimdRows, exp_of_very_low_is_zero_and_of_nan_is_nan) {
  std::vector<float> x(64, -88.0f);
  x[1] = -1e30f;
  x[2] = -kInfinity;
  x[3] = kNaN;
  HWY_DYNAMIC_DISPATCH(exp_all)(x.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (i == 3) {
      EXPECT_TRUE(std::isnan(x[i]));
    } else {
      EXPECT_EQ(x[i], 0.0f) << i;
    }
  }
}

TEST_P(SimdRows, max_finds_the_largest_wherever_it_is) {
  for (size_t at = 0; at < 64; ++at) {
    std::vector<float> values(64, -3.0f);
    values[at] = -2.5f;
    ASSERT_EQ(HWY_DYNAMIC_DISPATCH(max_all)(values.data(), values.size()), -2.5f) << at;
  }
  const std::vector<float> lowest(64, -kInfinity);
  EXPECT_EQ(HWY_DYNAMIC_DISPATCH(max_all)(lowest.data(), lowest.size()), -kInfinity);
}

// Small integers, exact in every type and every order of summation.
float whole(size_t i) { return static_cast<float>(static_cast<int>(i * 7 % 11) - 5); }

// A row in memory that ends at an inaccessible page.
GuardedBuffer stored_row(DType dtype, size_t head_dim, size_t shift) {
  const auto element = static_cast<size_t>(size_of(dtype));
  GuardedBuffer row(head_dim * element, element);
  for (size_t i = 0; i < head_dim; ++i) {
    const float value = whole(i + shift);
    from_f32(dtype, &value, row.data() + i * element, 1);
  }
  return row;
}

TEST_P(SimdRows, dot_counts_every_element_and_none_behind_the_row) {
  for (const DType dtype : kStorageTypes) {
    for (size_t head_dim = 1; head_dim <= 140; ++head_dim) {
      std::vector<float> query(head_dim + kPaddedLanes, 0.0f);
      for (size_t i = 0; i < head_dim; ++i) query[i] = whole(2 * i + 1);
      std::vector<GuardedBuffer> rows;
      const void* pointers[4];
      float want[4] = {};
      for (size_t r = 0; r < 4; ++r) {
        rows.push_back(stored_row(dtype, head_dim, r + 3));
        for (size_t i = 0; i < head_dim; ++i) want[r] += query[i] * whole(i + r + 3);
      }
      for (size_t r = 0; r < 4; ++r) {
        pointers[r] = rows[r].data();
        ASSERT_EQ(HWY_DYNAMIC_DISPATCH(dot)(dtype, query.data(), pointers[r], head_dim), want[r])
            << name_of(dtype) << ", head_dim " << head_dim;
      }
      float four[4];
      HWY_DYNAMIC_DISPATCH(dot_four)(dtype, query.data(), pointers, head_dim, four);
      for (size_t r = 0; r < 4; ++r) ASSERT_EQ(four[r], want[r]) << name_of(dtype) << ", head_dim " << head_dim;
    }
  }
}

TEST_P(SimdRows, multiply_add_adds_every_row_with_its_weight) {
  for (const DType dtype : kStorageTypes) {
    for (size_t head_dim = 1; head_dim <= 140; ++head_dim) {
      for (const size_t count : {size_t{0}, size_t{1}, size_t{5}}) {
        std::vector<GuardedBuffer> rows;
        std::vector<const void*> pointers;
        for (size_t r = 0; r < count; ++r) rows.push_back(stored_row(dtype, head_dim, r));
        for (const GuardedBuffer& row : rows) pointers.push_back(row.data());
        const float weights[] = {2, -1, 3, 0.5f, 4};
        std::vector<float> together(head_dim + kPaddedLanes, 8.0f);
        std::vector<float> one_by_one = together;
        HWY_DYNAMIC_DISPATCH(add_rows)(dtype, weights, pointers.data(), count, head_dim, 0.25f, together.data());
        for (size_t r = 0; r < count; ++r) {
          HWY_DYNAMIC_DISPATCH(add_row)(dtype, weights[r], pointers[r], head_dim, one_by_one.data());
        }
        for (size_t i = 0; i < head_dim; ++i) {
          float sum = 0;
          for (size_t r = 0; r < count; ++r) sum += weights[r] * whole(i + r);
          ASSERT_EQ(together[i], 2 + sum) << name_of(dtype) << ", head_dim " << head_dim << ", element " << i;
          ASSERT_EQ(one_by_one[i], 8 + sum) << name_of(dtype) << ", head_dim " << head_dim << ", element " << i;
        }
      }
    }
  }
}

TEST_P(SimdRows, softmax_gives_weights_maximum_and_sum_for_any_count) {
  for (const size_t count : {1, 2, 63, 64, 65, 128, 1000}) {
    // The scores' padding holds what must not count.
    std::vector<float> scores((count + kSoftmaxPadding - 1) / kSoftmaxPadding * kSoftmaxPadding, 50.0f);
    double want_sum = 0;
    for (size_t i = 0; i < count; ++i) scores[i] = -random_normal(1, kKeyStream, 0, 0, 0, static_cast<int64_t>(i)) - 2;
    scores[count / 2] = 9.0f;
    const std::vector<float> before = scores;
    for (size_t i = 0; i < count; ++i) want_sum += std::exp(static_cast<double>(before[i] - 9.0f));
    const RowSoftmax row = softmax_in_place(scores.data(), count);
    EXPECT_EQ(row.max, 9.0f);
    EXPECT_NEAR(static_cast<double>(row.sum), want_sum, 1e-6 * want_sum);
    for (size_t i = 0; i < scores.size(); ++i) {
      const double want = i < count ? std::exp(static_cast<double>(before[i] - 9.0f)) : 0;
      ASSERT_NEAR(static_cast<double>(scores[i]), want, 3e-7 * want) << i << " of " << count;
    }
  }
}

}  // namespace
}  // namespace test
}  // namespace quire

#endif  // HWY_ONCE
