// Philox4x32-10, the counter-based random generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
// as 1, 2, 3" (SC 2011). A number is a pure function of key and counter, so any thread of any machine can make the
// n-th.
#pragma once

#include <array>
#include <cstdint>

namespace quire::bench {

using Philox4 = std::array<uint32_t, 4>;

/// Ten rounds of Philox4x32: 128 random bits for this counter and key.
constexpr Philox4 philox4x32(Philox4 counter, std::array<uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// What random numbers are drawn for. Streams, sets and seeds are independent of each other.
enum class RandomStream : uint32_t { kQuery, kKeys, kValues, kPlacement, kUnmapped, kNeedles };

/// The random numbers of one (seed, set, stream).
struct RandomSource {
  uint64_t seed = 0;
  int set = 0;
  RandomStream stream{};

  /// The 128 bits at this index.
  constexpr Philox4 bits(uint64_t index) const noexcept {
    return philox4x32({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(set),
                       static_cast<uint32_t>(stream)},
                      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  }

  /// A number in [0, bound), bound <= 2^32.
  constexpr uint64_t below(uint64_t index, uint64_t bound) const noexcept { return (bits(index)[0] * bound) >> 32; }
};

}  // namespace quire::bench
