#include "bench/traffic.h"

#include <gtest/gtest.h>

#include "bench/generate.h"
#include "tests/bench/case_memory.h"

namespace quire::bench {
namespace {

Traffic traffic_of_workload(const Workload& w) {
  const Result<Case> c = generate_unfilled(w, 0);
  return traffic_of(c->spec, c->table_row(0), c->context_lens_data());
}

TEST(Traffic, of_an_even_batch_is_the_product_of_its_shape) {
  Workload w;
  w.batch_size = 2;
  w.seq_len = 300;
  w.num_heads = 12;
  w.num_kv_heads = 3;
  w.head_dim = 40;
  w.block_size = 16;
  const Traffic traffic = traffic_of_workload(w);
  EXPECT_EQ(traffic.live_tokens, 600);
  EXPECT_EQ(traffic.kv_bytes, 2 * 600 * 3 * 40 * 2);
  EXPECT_EQ(traffic.multiply_adds, 2 * 600 * 12 * 40);
}

TEST(Traffic, counts_bytes_of_the_type_that_is_stored) {
  Workload w = ragged_workload(DType::kF32);
  EXPECT_EQ(traffic_of_workload(w).kv_bytes, 2 * (37 + 64 + 1) * 2 * 24 * 4);
}

TEST(Traffic, leaves_out_unmapped_blocks_and_the_tail_of_the_last) {
  AttentionSpec spec;
  spec.batch_size = 2;
  spec.num_heads = spec.num_kv_heads = 1;
  spec.head_dim = 8;
  spec.block_size = 16;
  spec.block_tables_stride = 3;
  const int32_t tables[] = {4, -1, 2, -1, 0, 99};
  const int32_t lens[] = {40, 20};
  // Sequence 0: 16 of block 4, none of the unmapped one, 8 of block 2. Sequence 1: 4 of block 0; 99 is not live.
  EXPECT_EQ(traffic_of(spec, tables, lens).live_tokens, 16 + 8 + 4);
}

TEST(Traffic, counts_a_shared_block_once_a_reader) {
  AttentionSpec spec;
  spec.batch_size = 3;
  spec.num_heads = spec.num_kv_heads = 1;
  spec.head_dim = 8;
  spec.block_size = 4;
  spec.block_tables_stride = 1;
  const int32_t tables[] = {1, 1, 1};
  const int32_t lens[] = {4, 3, 0};
  EXPECT_EQ(traffic_of(spec, tables, lens).live_tokens, 7);
}

TEST(Traffic, agrees_with_the_live_elements_of_irregular_memory) {
  for (const Workload& w : irregular_workloads()) {
    if (w.shared_blocks) continue;  // whose elements would be counted once
    const Result<Case> c = generate_unfilled(w, 0);
    const std::vector<bool> live = live_elements(*c, c->k_cache, c->spec.k_strides);
    const auto elements = std::count(live.begin(), live.end(), true);
    EXPECT_EQ(traffic_of(c->spec, c->table_row(0), c->context_lens_data()).kv_bytes,
              2 * elements * size_of(w.kv_dtype));
  }
}

TEST(Traffic, is_known_before_the_memory_exists) {
  for (const Workload& w : irregular_workloads()) {
    const Traffic of_case = traffic_of_workload(w);
    const Traffic of_shape = traffic_of(w);
    EXPECT_EQ(of_shape.live_tokens, of_case.live_tokens);
    EXPECT_EQ(of_shape.kv_bytes, of_case.kv_bytes);
    EXPECT_EQ(of_shape.multiply_adds, of_case.multiply_adds);
  }
}

TEST(Traffic, does_not_overflow_32_bits) {
  AttentionSpec spec;
  spec.batch_size = 1;
  spec.num_heads = 128;
  spec.num_kv_heads = 128;
  spec.head_dim = 512;
  spec.block_size = 1 << 20;
  spec.kv_dtype = DType::kF32;
  spec.block_tables_stride = 1;
  const int32_t table = 0;
  const int32_t len = 1 << 20;
  EXPECT_EQ(traffic_of(spec, &table, &len).kv_bytes, int64_t{2} * (1 << 20) * 128 * 512 * 4);
}

}  // namespace
}  // namespace quire::bench
