#include "bench/philox.h"

#include <gmock/gmock.h>

namespace quire::bench {
namespace {

using testing::ElementsAre;

// The vectors that Random123 publishes for philox4x32 with ten rounds.
TEST(Philox, gives_the_published_numbers) {
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Philox, seeds_sets_streams_and_all_64_bits_of_the_index_matter) {
  const RandomSource source{.seed = 7, .set = 1, .stream = RandomStream::kKeys};
  const Philox4 bits = source.bits(5);
  EXPECT_NE(bits, source.bits(5 + (uint64_t{1} << 32)));
  EXPECT_NE(bits, (RandomSource{7, 2, RandomStream::kKeys}.bits(5)));
  EXPECT_NE(bits, (RandomSource{7, 1, RandomStream::kValues}.bits(5)));
  EXPECT_NE(bits, (RandomSource{7 + (uint64_t{1} << 32), 1, RandomStream::kKeys}.bits(5)));
}

TEST(Philox, numbers_below_a_bound_reach_each_value) {
  const RandomSource source{.seed = 1, .set = 0, .stream = RandomStream::kPlacement};
  int seen[5] = {};
  for (uint64_t i = 0; i < 5000; ++i) ++seen[source.below(i, 5)];
  for (const int count : seen) EXPECT_NEAR(count, 1000, 120);
}

}  // namespace
}  // namespace quire::bench
