#include "tests/random.h"

#include <random>

namespace quire::test {
namespace {

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

float random_normal(uint64_t seed, int stream, int64_t row_key, int64_t position, int64_t head, int64_t d) {
  const uint64_t token =
      mix(mix(seed * 4 + static_cast<uint64_t>(stream)) ^ static_cast<uint64_t>(row_key << 32 | position));
  const uint64_t bits = mix(token + static_cast<uint64_t>(head << 12 | d));
  // Four uniforms add up to a bell: mean 2, variance 1/3.
  const uint64_t sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
  return (static_cast<float>(sum) / 65535.0f - 2.0f) * 1.7320508f;
}

Shape random_shape(uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto below = [&engine](uint64_t n) { return static_cast<int64_t>(engine() % n); };
  Shape shape;
  shape.seed = seed;
  shape.dtype = kStorageTypes[below(3)];
  shape.num_kv_heads = 1 + below(5);
  shape.num_heads = shape.num_kv_heads * (1 + below(9));
  shape.head_dim = below(2) == 0 ? 8 * (1 + below(20)) : 1 + below(130);
  shape.block_size = below(2) == 0 ? int64_t{1} << below(8) : 1 + below(200);
  shape.context_lens.resize(static_cast<size_t>(1 + below(7)));
  for (int64_t& length : shape.context_lens) length = below(5) == 0 ? 0 : below(8) == 0 ? below(2000) : below(300);
  shape.layout = static_cast<Layout>(below(5));
  shape.placement = static_cast<Placement>(below(4));
  shape.shared_prefix = below(3) == 0;
  shape.dead_columns = below(4);
  if (below(3) == 0) {
    shape.unmapped = [seed](int64_t row, int64_t block) {
      return mix(seed ^ static_cast<uint64_t>(row << 20 | block)) % 4 == 0;
    };
  }
  if (below(3) == 0) shape.scale = 0.01f * static_cast<float>(below(100) - 50);
  return shape;
}

}  // namespace quire::test
