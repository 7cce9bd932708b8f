#include "bench/generate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "bench/generate_layout.h"
#include "bench/generate_normals.h"
#include "tests/bench/case_memory.h"

namespace quire::bench {
namespace {

Case make(const Workload& w, int set = 0, int threads = 2) {
  ThreadPool pool(threads);
  Result<Case> c = generate(w, set, pool);
  EXPECT_TRUE(c.ok()) << c.status().message();
  return std::move(*c);
}

TEST(Generate, makes_a_case_that_decode_accepts) {
  for (const Workload& w : irregular_workloads()) {
    const Case c = make(w);
    EXPECT_TRUE(validate(c.spec).ok());
    EXPECT_TRUE(validate_args(c.spec, c.args).ok());
    const Status tables = validate_tables(c.spec, c.args.block_tables, c.args.context_lens);
    EXPECT_TRUE(tables.ok()) << tables.message();
    EXPECT_TRUE(c.spec.want_lse);
  }
}

TEST(Generate, fills_live_slots_and_poisons_everything_else) {
  for (const Workload& w : irregular_workloads()) EXPECT_TRUE(dead_memory_is_poisoned(make(w)));
}

TEST(Generate, poisons_the_gaps_of_the_query_and_all_of_the_output) {
  Workload w = ragged_workload();
  w.padded_strides = true;
  const Case c = make(w);
  EXPECT_GT(c.spec.query_strides.head, w.head_dim);
  const std::vector<float> query = widen(w.dtype, c.query);
  EXPECT_EQ(std::count_if(query.begin(), query.end(), [](float q) { return std::isfinite(q); }),
            w.batch_size * w.num_heads * w.head_dim);
  for (const float o : widen(w.dtype, c.output)) EXPECT_TRUE(std::isnan(o));
  for (const float l : widen(DType::kF32, c.lse)) EXPECT_TRUE(std::isnan(l));
}

TEST(Generate, puts_bad_ids_in_dead_table_entries) {
  for (const Workload& w : irregular_workloads()) {
    const Case c = make(w);
    ASSERT_GT(c.spec.block_tables_stride, c.spec.max_blocks_per_seq);
    std::set<int32_t> bad;
    for (int64_t b = 0; b < w.batch_size; ++b) {
      for (int64_t i = blocks_of(w.context_len(b), w.block_size); i < c.spec.block_tables_stride; ++i) {
        const int32_t id = c.table_row(b)[i];
        EXPECT_TRUE(id < -1 || id >= c.spec.num_blocks) << id;
        bad.insert(id);
      }
    }
    EXPECT_GE(bad.size(), 4U) << "several kinds of bad id";
  }
}

TEST(Generate, places_blocks_by_a_permutation_another_for_each_set) {
  Workload w = ragged_workload();
  w.block_size = 1;
  std::vector<int32_t> tables[2];
  for (int set = 0; set < 2; ++set) {
    const Case c = make(w, set);
    for (int64_t b = 0; b < w.batch_size; ++b) {
      tables[set].insert(tables[set].end(), c.table_row(b), c.table_row(b) + w.context_len(b));
    }
    const std::set<int32_t> distinct(tables[set].begin(), tables[set].end());
    EXPECT_EQ(distinct.size(), 102U);
    EXPECT_EQ(c.spec.num_blocks, 102 + kSpareBlocks);
    EXPECT_FALSE(std::is_sorted(tables[set].begin(), tables[set].end()));
  }
  EXPECT_NE(tables[0], tables[1]);
}

TEST(Generate, leaves_out_about_a_quarter_of_the_blocks_and_the_last_sequence) {
  Workload w = ragged_workload();
  w.context_lens = {400, 400, 400, 400, 10};
  w.batch_size = 5;
  w.block_size = 1;
  w.unmapped_blocks = true;
  const Case c = make(w);
  int64_t unmapped = 0;
  for (int64_t b = 0; b < 4; ++b) unmapped += std::count(c.table_row(b), c.table_row(b) + 400, -1);
  EXPECT_NEAR(static_cast<double>(unmapped), 400, 70);
  EXPECT_EQ(std::count(c.table_row(4), c.table_row(4) + 10, -1), 10);
}

TEST(Generate, shares_full_blocks_between_sequences_and_within_one) {
  Workload w = ragged_workload();
  w.context_lens = {64, 70, 33};
  w.batch_size = 3;
  w.shared_blocks = true;
  const Case c = make(w);
  EXPECT_EQ(c.table_row(0)[0], c.table_row(0)[1]);
  EXPECT_EQ(c.table_row(1)[0], c.table_row(0)[0]);
  EXPECT_EQ(c.table_row(1)[1], c.table_row(0)[1]);
  EXPECT_NE(c.table_row(1)[2], c.table_row(0)[2]);
  EXPECT_EQ(c.table_row(2)[0], c.table_row(0)[0]);
}

TEST(Generate, gives_the_same_bytes_for_any_number_of_threads) {
  for (const Workload& w : irregular_workloads()) {
    const Case one = make(w, 3, 1);
    const Case three = make(w, 3, 3);
    ThreadPool pool(2);
    EXPECT_EQ(hash_inputs(one, pool), hash_inputs(three, pool));
    EXPECT_EQ(std::memcmp(one.k_cache.data(), three.k_cache.data(), one.k_cache.bytes()), 0);
  }
}

TEST(Generate, values_do_not_depend_on_layout_or_strides) {
  const Workload dense = ragged_workload();
  Workload other = dense;
  other.layout = Layout::kHnd;
  other.padded_strides = true;
  const Case a = make(dense);
  const Case b = make(other);
  const auto row_bytes = static_cast<size_t>(dense.head_dim * size_of(dense.kv_dtype));
  const int64_t block = a.table_row(2)[1];
  ASSERT_EQ(block, b.table_row(2)[1]);
  for (int64_t slot = 0; slot < dense.block_size; ++slot) {
    for (int64_t head = 0; head < dense.num_kv_heads; ++head) {
      EXPECT_EQ(std::memcmp(a.key(block, slot, head), b.key(block, slot, head), row_bytes), 0);
      EXPECT_EQ(std::memcmp(a.value(block, slot, head), b.value(block, slot, head), row_bytes), 0);
    }
  }
}

TEST(Generate, allocates_what_case_bytes_says) {
  for (const Workload& w : irregular_workloads()) {
    const Case c = make(w);
    size_t bytes = 0;
    for (const HostBuffer* buffer :
         {&c.query, &c.k_cache, &c.v_cache, &c.block_tables, &c.context_lens, &c.output, &c.lse}) {
      bytes += buffer->bytes();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 4096, 0U);
    }
    EXPECT_EQ(case_bytes(w), static_cast<int64_t>(bytes));
  }
}

TEST(Generate, refuses_types_it_cannot_draw) {
  ThreadPool pool(1);
  const Result<Case> c = generate(ragged_workload(DType::kF8E4M3), 0, pool);
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(c.status().message(), testing::HasSubstr("fp8_e4m3"));
}

TEST(HashInputs, sees_one_changed_bit_anywhere) {
  Case c = make(ragged_workload());
  ThreadPool pool(2);
  const uint64_t hash = hash_inputs(c, pool);
  for (const HostBuffer* buffer : {&c.query, &c.k_cache, &c.v_cache, &c.block_tables, &c.context_lens}) {
    for (const size_t i : {size_t{0}, buffer->bytes() / 2, buffer->bytes() - 1}) {
      buffer->data()[i] ^= std::byte{0x10};
      EXPECT_NE(hash_inputs(c, pool), hash);
      buffer->data()[i] ^= std::byte{0x10};
    }
  }
  poison_output(c);
  EXPECT_EQ(hash_inputs(c, pool), hash);
}

TEST(OutputGaps, are_intact_until_something_writes_beside_a_row) {
  for (const bool padded : {false, true}) {
    Workload w = ragged_workload();
    w.padded_strides = padded;
    Case c = make(w);
    const auto row_bytes = static_cast<size_t>(w.head_dim * size_of(w.dtype));
    for (int64_t row = 0; row < w.batch_size * w.num_heads; ++row) {
      std::memset(c.output_row(row / w.num_heads, row % w.num_heads), 0, row_bytes);
    }
    EXPECT_TRUE(output_gaps_intact(c));
    for (const auto& [sequence, head] : {std::pair{w.batch_size - 1, w.num_heads - 1}, {int64_t{1}, int64_t{2}}}) {
      if (!padded && sequence == 1) continue;  // dense rows have a gap behind the last alone
      std::byte& beside = c.output_row(sequence, head)[row_bytes];
      const std::byte poison = std::exchange(beside, std::byte{0});
      EXPECT_FALSE(output_gaps_intact(c));
      beside = poison;
    }
    EXPECT_TRUE(output_gaps_intact(c));
  }
}

TEST(NormalTable, holds_the_quantiles_of_the_normal_distribution) {
  std::vector<float> table(65'536);
  std::memcpy(table.data(), NormalTable::of(DType::kF32).data(), table.size() * sizeof(float));
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end()));
  for (size_t i = 0; i < table.size(); i += 641) {
    const double below = 0.5 * std::erfc(-static_cast<double>(table[i]) / std::sqrt(2.0));
    EXPECT_NEAR(below, (static_cast<double>(i) + 0.5) / 65'536, 1e-8);
    EXPECT_EQ(table[i], -table[table.size() - 1 - i]);
  }
}

TEST(NormalTable, draws_normals) {
  constexpr int64_t kCount = 1 << 20;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    std::vector<std::byte> bytes(static_cast<size_t>(kCount * size_of(dtype)));
    NormalTable::of(dtype).fill({.seed = 3, .set = 0, .stream = RandomStream::kKeys}, 0, kCount, bytes.data());
    double moments[5] = {};
    for (const float x : widen(dtype, bytes.data(), kCount)) {
      for (int k = 1; k <= 4; ++k) moments[k] += std::pow(static_cast<double>(x), k) / static_cast<double>(kCount);
    }
    EXPECT_NEAR(moments[1], 0, 4e-3);
    EXPECT_NEAR(moments[2], 1, 6e-3);
    EXPECT_NEAR(moments[3], 0, 2e-2);
    EXPECT_NEAR(moments[4], 3, 5e-2);
  }
}

TEST(NormalTable, a_normal_does_not_depend_on_where_a_fill_starts) {
  const RandomSource source{.seed = 5, .set = 1, .stream = RandomStream::kValues};
  std::vector<float> all(64), part(64);
  NormalTable::of(DType::kF32).fill(source, 1000, 64, reinterpret_cast<std::byte*>(all.data()));
  for (int64_t first = 0; first < 20; ++first) {
    for (int64_t count = 1; count < 20; ++count) {
      NormalTable::of(DType::kF32)
          .fill(source, static_cast<uint64_t>(1000 + first), count, reinterpret_cast<std::byte*>(part.data()));
      EXPECT_TRUE(std::equal(part.begin(), part.begin() + count, all.begin() + first));
    }
  }
}

}  // namespace
}  // namespace quire::bench
