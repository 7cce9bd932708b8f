// Conversion agrees, bit for bit and on every SIMD target, with a definition written here from the formats alone.
#include "quire/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/guarded_buffer.h"
#include "tests/simd_target.h"

namespace quire {
namespace {

class Convert : public testing::TestWithParam<int64_t> {
 private:
  const test::OnlySimdTarget only_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Targets, Convert, testing::ValuesIn(test::simd_targets()),
                         [](const auto& tested) { return test::simd_target_name(tested.param); });

struct Format {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

constexpr Format kFormats[] = {{DType::kF16, 5, 10}, {DType::kBF16, 8, 7}};

// The value of a 16-bit pattern.
double value_of(const Format& f, uint16_t bits) {
  const int mantissa = bits & ((1 << f.mantissa_bits) - 1);
  const int exponent = (bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == (1 << f.exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias() - f.mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - f.bias() - f.mantissa_bits);
}

// The pattern nearest to `value`, of two equally near ones the even one. Patterns of one sign are in order of their
// values, so the answer is found by bisection and no arithmetic on bits.
uint16_t nearest(const Format& f, double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::abs(value);
  const auto infinity = static_cast<uint16_t>(((1 << f.exponent_bits) - 1) << f.mantissa_bits);
  // What would be the next number if the exponent went on decides where infinity begins.
  const double past_largest = std::ldexp(1.0, f.bias() + 1);
  const auto at = [&](int bits) { return bits == infinity ? past_largest : value_of(f, static_cast<uint16_t>(bits)); };
  if (size >= past_largest) return static_cast<uint16_t>(sign | infinity);
  int low = 0;
  int high = infinity;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (at(middle) <= size ? low : high) = middle;
  }
  const double below = size - at(low);
  const double above = at(high) - size;
  const int chosen = below < above ? low : above < below ? high : low % 2 == 0 ? low : high;
  return static_cast<uint16_t>(sign | chosen);
}

std::vector<uint16_t> convert_from(DType dtype, const std::vector<float>& values) {
  std::vector<uint16_t> bits(values.size());
  from_f32(dtype, values.data(), bits.data(), static_cast<int64_t>(values.size()));
  return bits;
}

std::vector<uint16_t> all_patterns() {
  std::vector<uint16_t> patterns(65536);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
  return patterns;
}

TEST_P(Convert, widens_every_16_bit_pattern_exactly) {
  const std::vector<uint16_t> patterns = all_patterns();
  for (const Format& f : kFormats) {
    std::vector<float> values(patterns.size());
    to_f32(f.dtype, patterns.data(), values.data(), 65536);
    for (const uint16_t bits : patterns) {
      const double want = value_of(f, bits);
      const float got = values[bits];
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << name_of(f.dtype) << " " << bits;
      } else {
        ASSERT_EQ(static_cast<double>(got), want) << name_of(f.dtype) << " " << bits;
        ASSERT_EQ(std::signbit(got), std::signbit(want)) << name_of(f.dtype) << " " << bits;
      }
    }
  }
}

TEST_P(Convert, returns_every_16_bit_pattern_after_widening) {
  const std::vector<uint16_t> patterns = all_patterns();
  for (const Format& f : kFormats) {
    std::vector<float> values(patterns.size());
    to_f32(f.dtype, patterns.data(), values.data(), 65536);
    const std::vector<uint16_t> back = convert_from(f.dtype, values);
    for (const uint16_t bits : patterns) {
      if (std::isnan(value_of(f, bits))) {
        ASSERT_TRUE(std::isnan(value_of(f, back[bits]))) << name_of(f.dtype) << " " << bits;
      } else {
        ASSERT_EQ(back[bits], bits) << name_of(f.dtype);
      }
    }
  }
}

void expect_nearest(const Format& f, const std::vector<float>& values) {
  const std::vector<uint16_t> bits = convert_from(f.dtype, values);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(bits[i], nearest(f, static_cast<double>(values[i])))
        << name_of(f.dtype) << " of " << values[i] << " (bits " << std::bit_cast<uint32_t>(values[i]) << ")";
  }
}

TEST_P(Convert, rounds_between_neighbours_to_the_nearest_and_ties_to_even) {
  for (const Format& f : kFormats) {
    const int infinity = ((1 << f.exponent_bits) - 1) << f.mantissa_bits;
    std::vector<float> values;
    for (int bits = 0; bits + 1 < infinity; ++bits) {
      const double low = value_of(f, static_cast<uint16_t>(bits));
      const double high = value_of(f, static_cast<uint16_t>(bits + 1));
      const auto middle = static_cast<float>((low + high) / 2);
      for (const float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e38f)}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
    expect_nearest(f, values);
  }
}

TEST_P(Convert, overflows_to_infinity_half_a_step_past_the_largest_number) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  EXPECT_EQ(convert_from(DType::kF16, {65504.0f, 65519.996f, 65520.0f, -65520.0f, kLargest, kInfinity, -kInfinity}),
            (std::vector<uint16_t>{0x7BFF, 0x7BFF, 0x7C00, 0xFC00, 0x7C00, 0x7C00, 0xFC00}));
  EXPECT_EQ(convert_from(DType::kBF16, {std::bit_cast<float>(0x7F7F7FFFu), std::bit_cast<float>(0x7F7F8000u), kLargest,
                                        -kLargest, kInfinity, -kInfinity}),
            (std::vector<uint16_t>{0x7F7F, 0x7F80, 0x7F80, 0xFF80, 0x7F80, 0xFF80}));
}

TEST_P(Convert, keeps_subnormals_and_the_sign_of_zero) {
  EXPECT_EQ(convert_from(DType::kF16, {0.0f, -0.0f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, -0x1p-14f, 1e-40f}),
            (std::vector<uint16_t>{0, 0x8000, 1, 0, 1, 0x8400, 0}));
  EXPECT_EQ(convert_from(DType::kBF16, {0.0f, -0.0f, 0x1p-133f, 0x1p-134f, 0x1.8p-134f, -0x1p-126f}),
            (std::vector<uint16_t>{0, 0x8000, 1, 0, 1, 0x8080}));
}

// NaNs whose payload lies in the bits that are cut off, or that rounding would carry into the sign.
TEST_P(Convert, keeps_nan_a_nan_whatever_its_payload) {
  for (const Format& f : kFormats) {
    for (const uint32_t bits : {0x7FC00000u, 0x7F800001u, 0x7FFFFFFFu, 0xFFFFFFFFu, 0xFF800001u, 0x7F808000u}) {
      const std::vector<uint16_t> out = convert_from(f.dtype, {std::bit_cast<float>(bits)});
      EXPECT_TRUE(std::isnan(value_of(f, out[0]))) << name_of(f.dtype) << " " << bits;
    }
  }
}

TEST_P(Convert, rounds_random_numbers_to_the_nearest) {
  std::mt19937 engine(5);
  std::vector<float> values;
  while (values.size() < 200001) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(engine()));
    if (!std::isnan(value)) values.push_back(value);
    values.push_back(static_cast<float>(static_cast<int32_t>(engine())) * 1e-9f);
  }
  for (const Format& f : kFormats) expect_nearest(f, values);
}

TEST_P(Convert, copies_fp32_bit_for_bit) {
  std::vector<uint32_t> bits = {0, 0x80000000u, 1, 0x7F800000u, 0x7FC00001u, 0x3F800000u, 0x7F7FFFFFu};
  std::vector<uint32_t> copy(bits.size());
  to_f32(DType::kF32, bits.data(), reinterpret_cast<float*>(copy.data()), static_cast<int64_t>(bits.size()));
  EXPECT_EQ(copy, bits);
  copy.assign(bits.size(), 0);
  from_f32(DType::kF32, reinterpret_cast<const float*>(bits.data()), copy.data(), static_cast<int64_t>(bits.size()));
  EXPECT_EQ(copy, bits);
}

TEST_P(Convert, gives_each_element_the_same_bits_at_any_length_and_touches_nothing_else) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const auto element = static_cast<size_t>(size_of(dtype));
    for (size_t count = 0; count <= 67; ++count) {
      test::GuardedBuffer source(count * 4, 4);
      test::GuardedBuffer target(count * element, element);
      test::GuardedBuffer widened(count * 4, 4);
      for (size_t i = 0; i < count; ++i) source.as<float>()[i] = 0.1f * static_cast<float>(i) - 2.7f;
      from_f32(dtype, source.as<float>(), target.data(), static_cast<int64_t>(count));
      to_f32(dtype, target.data(), widened.as<float>(), static_cast<int64_t>(count));
      for (size_t i = 0; i < count; ++i) {
        std::byte one[4];
        from_f32(dtype, source.as<float>() + i, one, 1);
        ASSERT_EQ(std::memcmp(one, target.data() + i * element, element), 0) << name_of(dtype) << " " << count;
        ASSERT_NEAR(static_cast<double>(widened.as<float>()[i]), static_cast<double>(source.as<float>()[i]), 0.02);
      }
      ASSERT_TRUE(source.canaries_intact() && target.canaries_intact() && widened.canaries_intact()) << count;
    }
  }
}

TEST_P(Convert, does_nothing_for_types_it_does_not_convert) {
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2, DType::kI8}) {
    EXPECT_FALSE(is_convertible(dtype));
    float value = 7;
    const uint8_t byte = 0x38;
    to_f32(dtype, &byte, &value, 1);
    EXPECT_EQ(value, 7);
  }
}

}  // namespace
}  // namespace quire
