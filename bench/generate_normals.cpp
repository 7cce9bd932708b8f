#include "bench/generate_normals.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "quire/convert.h"

namespace quire::bench {
namespace {

constexpr int64_t kQuantiles = 65'536;
constexpr uint64_t kNormalsPerBlock = 8;  // 16 of 128 bits each

// The upper half by Newton's method on the tail probability, each root started from its smaller neighbour: the tail is
// convex there, so the steps approach from below. The lower half is its mirror image.
std::vector<float> normal_quantiles() {
  std::vector<float> quantiles(kQuantiles);
  double x = 0;
  for (int64_t i = kQuantiles / 2; i < kQuantiles; ++i) {
    const double tail = (static_cast<double>(kQuantiles - i) - 0.5) / kQuantiles;
    for (int step = 0; step < 5; ++step) {
      const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
      x += (0.5 * std::erfc(x / std::numbers::sqrt2) - tail) / density;
    }
    quantiles[static_cast<size_t>(i)] = static_cast<float>(x);
    quantiles[static_cast<size_t>(kQuantiles - 1 - i)] = static_cast<float>(-x);
  }
  return quantiles;
}

template <typename Element>
void fill_elements(const Element* quantiles, const RandomSource& source, uint64_t first, uint64_t count,
                   Element* target) {
  const uint64_t end = first + count;
  for (uint64_t block = first / kNormalsPerBlock; block * kNormalsPerBlock < end; ++block) {
    const Philox4 bits = source.bits(block);
    const uint64_t base = block * kNormalsPerBlock;
    const uint64_t last = std::min(end, base + kNormalsPerBlock);
    for (uint64_t i = std::max(first, base); i < last; ++i) {
      const uint64_t lane = i - base;
      target[i - first] = quantiles[(bits[lane / 2] >> (16 * (lane % 2))) & 0xFFFF];
    }
  }
}

}  // namespace

NormalTable::NormalTable(DType dtype) : element_bytes_(size_of(dtype)) {
  static const std::vector<float> quantiles = normal_quantiles();
  quantiles_.resize(static_cast<size_t>(kQuantiles * element_bytes_));
  from_f32(dtype, quantiles.data(), quantiles_.data(), kQuantiles);
}

const NormalTable& NormalTable::of(DType dtype) {
  static const NormalTable f32(DType::kF32), f16(DType::kF16), bf16(DType::kBF16);
  return dtype == DType::kF32 ? f32 : dtype == DType::kF16 ? f16 : bf16;
}

void NormalTable::fill(const RandomSource& source, uint64_t first, int64_t count, std::byte* target) const {
  const auto elements = static_cast<uint64_t>(count);
  if (element_bytes_ == 4) {
    fill_elements(reinterpret_cast<const uint32_t*>(quantiles_.data()), source, first, elements,
                  reinterpret_cast<uint32_t*>(target));
  } else {
    fill_elements(reinterpret_cast<const uint16_t*>(quantiles_.data()), source, first, elements,
                  reinterpret_cast<uint16_t*>(target));
  }
}

}  // namespace quire::bench
