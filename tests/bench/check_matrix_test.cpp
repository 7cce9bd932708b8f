#include "bench/check_matrix.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/generate.h"

namespace quire::bench {
namespace {

TEST(CheckMatrix, names_each_problem_once) {
  std::set<std::string> names;
  for (const NamedWorkload& named : check_matrix(0)) EXPECT_TRUE(names.insert(named.name).second) << named.name;
}

TEST(CheckMatrix, holds_only_problems_that_decode_takes) {
  ThreadPool pool(2);
  for (const NamedWorkload& named : check_matrix(7)) {
    const Result<Case> c = generate(named.workload, 0, pool);
    ASSERT_TRUE(c.ok()) << named.name << ": " << c.status().message();
    EXPECT_EQ(named.workload.seed, 7U);
    EXPECT_TRUE(select_implementation(c->spec).ok()) << named.name;
    EXPECT_TRUE(validate_tables(c->spec, c->args.block_tables, c->args.context_lens).ok()) << named.name;
  }
}

TEST(CheckMatrix, holds_every_way_a_problem_may_differ) {
  bool unmapped = false, shared = false, padded = false, hnd = false, empty = false, not_a_power_of_two = false;
  std::set<int64_t> block_sizes, head_dims, group_sizes;
  std::set<DType> dtypes;
  for (const auto& [name, w] : check_matrix(0)) {
    unmapped = unmapped || w.unmapped_blocks;
    shared = shared || w.shared_blocks;
    padded = padded || w.padded_strides;
    hnd = hnd || w.layout == Layout::kHnd;
    for (int64_t b = 0; b < w.batch_size; ++b) empty = empty || w.context_len(b) == 0;
    block_sizes.insert(w.block_size);
    head_dims.insert(w.head_dim);
    group_sizes.insert(w.num_heads / w.num_kv_heads);
    dtypes.insert(w.dtype);
    not_a_power_of_two = not_a_power_of_two || (w.head_dim & (w.head_dim - 1)) != 0;
  }
  EXPECT_TRUE(unmapped && shared && padded && hnd && empty && not_a_power_of_two);
  EXPECT_TRUE(block_sizes.contains(1));
  EXPECT_TRUE(head_dims.contains(1) && head_dims.contains(512));
  EXPECT_TRUE(group_sizes.contains(1) && group_sizes.contains(7));
  EXPECT_EQ(dtypes.size(), 3U);
}

}  // namespace
}  // namespace quire::bench
