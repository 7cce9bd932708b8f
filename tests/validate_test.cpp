// Every rule about a problem is enforced, and its message names the field and the value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "quire/quire.h"

namespace quire {
namespace {

using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;

AttentionSpec good_spec() {
  AttentionSpec spec;
  spec.batch_size = 2;
  spec.num_heads = 4;
  spec.num_kv_heads = 2;
  spec.head_dim = 8;
  spec.block_size = 4;
  spec.num_blocks = 5;
  spec.max_blocks_per_seq = 3;
  spec.want_lse = true;
  set_dense_strides(spec);
  return spec;
}

// A good spec that one change has made bad.
template <typename Change>
Status validate_changed(Change change) {
  AttentionSpec spec = good_spec();
  change(spec);
  return validate(spec);
}

#define EXPECT_INVALID(status, words)                        \
  do {                                                       \
    const Status checked = (status);                         \
    EXPECT_EQ(checked.code(), StatusCode::kInvalidArgument); \
    EXPECT_THAT(checked.message(), HasSubstr(words));        \
  } while (false)

TEST(Validate, accepts_a_good_spec) { EXPECT_TRUE(validate(good_spec()).ok()); }

TEST(Validate, accepts_an_empty_batch_an_empty_cache_and_an_empty_table) {
  EXPECT_TRUE(validate_changed([](AttentionSpec& s) { s.batch_size = 0; }).ok());
  EXPECT_TRUE(validate_changed([](AttentionSpec& s) { s.num_blocks = 0; }).ok());
  EXPECT_TRUE(validate_changed([](AttentionSpec& s) { s.max_blocks_per_seq = s.block_tables_stride = 0; }).ok());
}

TEST(Validate, rejects_values_that_are_no_dtype) {
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.dtype = static_cast<DType>(17); }), "dtype is 17");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.kv_dtype = static_cast<DType>(6); }), "kv_dtype is 6");
}

TEST(Validate, rejects_negative_and_zero_sizes) {
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.batch_size = -1; }), "batch_size is -1");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.num_heads = 0; }), "num_heads is 0");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.num_kv_heads = 0; }), "num_kv_heads is 0");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.num_kv_heads = -2; }), "num_kv_heads is -2");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.head_dim = 0; }), "head_dim is 0");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.block_size = 0; }), "block_size is 0");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.num_blocks = -1; }), "num_blocks is -1");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.max_blocks_per_seq = -1; }), "max_blocks_per_seq is -1");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.device.index = -1; }), "device.index is -1");
}

TEST(Validate, rejects_num_heads_not_a_multiple_of_num_kv_heads) {
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.num_heads = 5; }),
                 "num_heads is 5, must be a multiple of num_kv_heads, 2");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.num_kv_heads = 8; }), "num_heads is 4");
}

TEST(Validate, accepts_every_finite_scale_and_no_other) {
  for (const float scale : {0.0f, -2.0f, 1e-40f, std::numeric_limits<float>::max()}) {
    EXPECT_TRUE(validate_changed([scale](AttentionSpec& s) { s.scale = scale; }).ok()) << scale;
  }
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.scale = kInfinity; }), "scale is inf");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.scale = -kInfinity; }), "scale is -inf");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.scale = std::numeric_limits<float>::quiet_NaN(); }),
                 "scale is nan");
}

TEST(Validate, rejects_zero_and_negative_strides) {
  for (const int64_t bad : {int64_t{0}, int64_t{-8}}) {
    const std::string is = " is " + std::to_string(bad);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.query_strides.batch = bad; }),
                   "query_strides.batch" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.query_strides.head = bad; }), "query_strides.head" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.output_strides.batch = bad; }),
                   "output_strides.batch" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.output_strides.head = bad; }),
                   "output_strides.head" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.k_strides.block = bad; }), "k_strides.block" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.k_strides.token = bad; }), "k_strides.token" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.k_strides.head = bad; }), "k_strides.head" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.v_strides.block = bad; }), "v_strides.block" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.v_strides.token = bad; }), "v_strides.token" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.v_strides.head = bad; }), "v_strides.head" + is);
    EXPECT_INVALID(validate_changed([&](AttentionSpec& s) { s.block_tables_stride = bad; }),
                   "block_tables_stride" + is);
  }
}

TEST(Validate, accepts_strides_with_gaps_and_in_any_order) {
  EXPECT_TRUE(validate_changed([](AttentionSpec& s) {
                s.k_strides = hnd_strides(s.block_size, s.num_kv_heads, s.head_dim);
                s.v_strides = {.block = 1000, .token = 100, .head = 10};
                s.query_strides = {.batch = 77, .head = 11};
                s.output_strides = {.batch = 8, .head = 16};  // heads outside, sequences inside
                s.block_tables_stride = 9;
              }).ok());
}

TEST(Validate, accepts_a_table_whose_rows_overlap) {
  EXPECT_TRUE(validate_changed([](AttentionSpec& s) { s.block_tables_stride = 1; }).ok());
}

TEST(Validate, rejects_output_rows_that_overlap) {
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.output_strides.head = 7; }), "output_strides is 32/7");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.output_strides.batch = 31; }), "output_strides is 31/8");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.output_strides = {.batch = 16, .head = 8}; }),
                 "output_strides is 16/8");
}

TEST(Validate, rejects_sizes_that_64_bits_do_not_hold) {
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.max_blocks_per_seq = kHuge; }),
                 "max_blocks_per_seq is " + std::to_string(kHuge));
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.num_blocks = kHuge; }), "k_strides");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.v_strides.block = kHuge; }), "v_strides");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.query_strides.batch = kHuge; }), "query_strides");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.output_strides.batch = 2 * kHuge; }), "output_strides");
  EXPECT_INVALID(validate_changed([](AttentionSpec& s) { s.block_tables_stride = kHuge; }), "block_tables_stride");
}

TEST(Validate, rejects_sizes_of_which_any_product_overflows) {
  // Each of these once multiplied its way to a small or negative number.
  EXPECT_FALSE(validate_changed([](AttentionSpec& s) { s.batch_size = kHuge; }).ok());
  EXPECT_FALSE(validate_changed([](AttentionSpec& s) { s.num_heads = s.num_kv_heads = kHuge; }).ok());
  EXPECT_FALSE(validate_changed([](AttentionSpec& s) { s.head_dim = kHuge; }).ok());
  EXPECT_FALSE(validate_changed([](AttentionSpec& s) { s.block_size = kHuge; }).ok());
  EXPECT_FALSE(validate_changed([](AttentionSpec& s) {
                 s.num_heads = s.num_kv_heads = int64_t{1} << 40;
                 s.head_dim = int64_t{1} << 40;
                 s.output_strides = s.query_strides = {.batch = 1, .head = 1};
               }).ok());
}

// Memory for good_spec() in fp16.
struct Memory {
  std::vector<uint16_t> query = std::vector<uint16_t>(64);
  std::vector<uint16_t> k_cache = std::vector<uint16_t>(320);
  std::vector<uint16_t> v_cache = std::vector<uint16_t>(320);
  std::vector<int32_t> block_tables = std::vector<int32_t>(64);  // more than needed, as are the
  std::vector<int32_t> context_lens = std::vector<int32_t>(64);  // lengths: room for an output laid over them
  std::vector<uint16_t> output = std::vector<uint16_t>(64);
  std::vector<float> lse = std::vector<float>(8);

  AttentionArgs args() {
    return {.query = query.data(),
            .k_cache = k_cache.data(),
            .v_cache = v_cache.data(),
            .block_tables = block_tables.data(),
            .context_lens = context_lens.data(),
            .output = output.data(),
            .lse = lse.data()};
  }
};

TEST(ValidateArgs, accepts_good_memory) {
  Memory memory;
  EXPECT_TRUE(validate_args(good_spec(), memory.args()).ok());
}

TEST(ValidateArgs, rejects_each_pointer_that_is_null) {
  Memory memory;
  const auto with = [&](auto change) {
    AttentionArgs args = memory.args();
    change(args);
    return validate_args(good_spec(), args);
  };
  EXPECT_INVALID(with([](AttentionArgs& a) { a.query = nullptr; }), "query is null");
  EXPECT_INVALID(with([](AttentionArgs& a) { a.k_cache = nullptr; }), "k_cache is null");
  EXPECT_INVALID(with([](AttentionArgs& a) { a.v_cache = nullptr; }), "v_cache is null");
  EXPECT_INVALID(with([](AttentionArgs& a) { a.block_tables = nullptr; }), "block_tables is null");
  EXPECT_INVALID(with([](AttentionArgs& a) { a.context_lens = nullptr; }), "context_lens is null");
  EXPECT_INVALID(with([](AttentionArgs& a) { a.output = nullptr; }), "output is null");
  EXPECT_INVALID(with([](AttentionArgs& a) { a.lse = nullptr; }), "lse is null");
}

TEST(ValidateArgs, needs_no_lse_that_nobody_wants) {
  Memory memory;
  AttentionSpec spec = good_spec();
  spec.want_lse = false;
  AttentionArgs args = memory.args();
  args.lse = nullptr;
  EXPECT_TRUE(validate_args(spec, args).ok());
}

TEST(ValidateArgs, needs_no_memory_where_there_is_none_to_read) {
  AttentionSpec spec = good_spec();
  spec.batch_size = 0;
  spec.num_blocks = 0;
  EXPECT_TRUE(validate_args(spec, {}).ok());
}

TEST(ValidateArgs, rejects_pointers_inside_an_element) {
  Memory memory;
  const auto off_by_one = [](auto* pointer) {
    return reinterpret_cast<std::remove_reference_t<decltype(*pointer)>*>(reinterpret_cast<uintptr_t>(pointer) + 1);
  };
  AttentionArgs args = memory.args();
  args.query = reinterpret_cast<const char*>(args.query) + 1;
  EXPECT_INVALID(validate_args(good_spec(), args), "query is not aligned to its element of 2 bytes");
  args = memory.args();
  args.v_cache = reinterpret_cast<const char*>(args.v_cache) + 1;
  EXPECT_INVALID(validate_args(good_spec(), args), "v_cache is not aligned");
  args = memory.args();
  args.context_lens = off_by_one(args.context_lens);
  EXPECT_INVALID(validate_args(good_spec(), args), "context_lens is not aligned to its element of 4 bytes");
  args = memory.args();
  args.lse = off_by_one(args.lse);
  EXPECT_INVALID(validate_args(good_spec(), args), "lse is not aligned");
}

TEST(ValidateArgs, rejects_output_and_lse_that_overlap_an_input_or_each_other) {
  Memory memory;
  AttentionArgs args = memory.args();
  args.output = memory.query.data();
  EXPECT_INVALID(validate_args(good_spec(), args), "output overlaps query");
  args.output = memory.v_cache.data() + 319;  // the last element alone
  EXPECT_INVALID(validate_args(good_spec(), args), "output overlaps v_cache");
  args.output = memory.context_lens.data();
  EXPECT_INVALID(validate_args(good_spec(), args), "output overlaps context_lens");
  args = memory.args();
  args.lse = reinterpret_cast<float*>(memory.block_tables.data());
  EXPECT_INVALID(validate_args(good_spec(), args), "lse overlaps block_tables");
  args.lse = reinterpret_cast<float*>(memory.output.data());
  EXPECT_INVALID(validate_args(good_spec(), args), "output overlaps lse");
}

TEST(ValidateArgs, lets_output_touch_an_input_without_overlap) {
  std::vector<uint16_t> both(128);
  Memory memory;
  AttentionArgs args = memory.args();
  args.query = both.data();
  args.output = both.data() + 64;
  EXPECT_TRUE(validate_args(good_spec(), args).ok());
}

TEST(ValidateArgs, lets_k_and_v_share_memory) {
  Memory memory;
  AttentionArgs args = memory.args();
  args.v_cache = args.k_cache;
  EXPECT_TRUE(validate_args(good_spec(), args).ok());
}

class ValidateTables : public testing::Test {
 protected:
  Status check() const { return validate_tables(spec_, tables_.data(), lens_.data()); }

  AttentionSpec spec_ = good_spec();
  std::vector<int32_t> tables_ = {0, 1, 2, 4, 3, -1};
  std::vector<int32_t> lens_ = {12, 9};
};

TEST_F(ValidateTables, accepts_ids_in_the_cache_and_unmapped_entries) { EXPECT_TRUE(check().ok()); }

TEST_F(ValidateTables, rejects_a_block_id_past_the_cache) {
  tables_[4] = 5;
  const Status status = check();
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("block_tables[1][1] is 5"));
}

TEST_F(ValidateTables, rejects_negative_ids_other_than_minus_one) {
  for (const int32_t bad : {-2, std::numeric_limits<int32_t>::min()}) {
    tables_[0] = bad;
    const Status status = check();
    EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
    EXPECT_THAT(status.message(), HasSubstr("block_tables[0][0] is " + std::to_string(bad)));
  }
}

TEST_F(ValidateTables, reads_no_entry_behind_the_live_range) {
  tables_[2] = 99;
  lens_[0] = 8;
  EXPECT_TRUE(check().ok());
  lens_[0] = 9;
  EXPECT_FALSE(check().ok());
}

TEST_F(ValidateTables, rejects_lengths_below_zero_or_past_the_table) {
  for (const int32_t bad : {-1, 13, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    lens_[1] = bad;
    const Status status = check();
    EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
    EXPECT_THAT(status.message(), HasSubstr("context_lens[1] is " + std::to_string(bad)));
    EXPECT_THAT(status.message(), HasSubstr("12"));
  }
}

TEST_F(ValidateTables, strides_over_rows) {
  spec_.block_tables_stride = 4;
  tables_ = {0, 1, 2, 99, 4, 3, 5};
  const Status status = check();
  EXPECT_THAT(status.message(), HasSubstr("block_tables[1][2] is 5"));
  tables_[6] = 0;
  EXPECT_TRUE(check().ok());
}

TEST_F(ValidateTables, rejects_null_where_there_is_something_to_read) {
  EXPECT_INVALID(validate_tables(spec_, tables_.data(), nullptr), "context_lens is null");
  EXPECT_INVALID(validate_tables(spec_, nullptr, lens_.data()), "block_tables is null");
  lens_ = {0, 0};
  EXPECT_TRUE(validate_tables(spec_, nullptr, lens_.data()).ok());
  spec_.batch_size = 0;
  EXPECT_TRUE(validate_tables(spec_, nullptr, nullptr).ok());
}

TEST_F(ValidateTables, rejects_every_id_of_an_empty_cache) {
  spec_.num_blocks = 0;
  EXPECT_EQ(check().code(), StatusCode::kOutOfRange);
  tables_.assign(6, -1);
  EXPECT_TRUE(check().ok());
}

}  // namespace
}  // namespace quire
