// Defaults of a spec, and specs made from tensor views.
#include "quire/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace quire {
namespace {

using testing::HasSubstr;

TEST(AttentionSpec, scales_by_one_over_the_root_of_head_dim_unless_told) {
  AttentionSpec spec;
  spec.head_dim = 64;
  EXPECT_EQ(scale_of(spec), 0.125f);
  spec.head_dim = 128;
  EXPECT_EQ(scale_of(spec), static_cast<float>(1 / std::sqrt(128.0)));
  spec.scale = 0.0f;
  EXPECT_EQ(scale_of(spec), 0.0f);
  spec.scale = -3.0f;
  EXPECT_EQ(scale_of(spec), -3.0f);
}

TEST(AttentionSpec, dense_strides_are_those_of_c_arrays) {
  EXPECT_EQ(nhd_strides(4, 3, 10), (CacheStrides{.block = 120, .token = 30, .head = 10}));
  EXPECT_EQ(hnd_strides(4, 3, 10), (CacheStrides{.block = 120, .token = 10, .head = 40}));
  AttentionSpec spec;
  spec.num_heads = 6;
  spec.num_kv_heads = 3;
  spec.head_dim = 10;
  spec.block_size = 4;
  spec.max_blocks_per_seq = 7;
  set_dense_strides(spec);
  EXPECT_EQ(spec.query_strides, (RowStrides{.batch = 60, .head = 10}));
  EXPECT_EQ(spec.output_strides, spec.query_strides);
  EXPECT_EQ(spec.k_strides, nhd_strides(4, 3, 10));
  EXPECT_EQ(spec.v_strides, nhd_strides(4, 3, 10));
  EXPECT_EQ(spec.block_tables_stride, 7);
}

class SpecFromViews : public testing::Test {
 protected:
  Result<AttentionSpec> make() const { return spec_from_views(query_, k_cache_, v_cache_, output_); }

  void expect_error(StatusCode code, const char* words) const {
    const Result<AttentionSpec> spec = make();
    ASSERT_FALSE(spec.ok());
    EXPECT_EQ(spec.status().code(), code);
    EXPECT_THAT(spec.status().message(), HasSubstr(words));
  }

  TensorView query_ = {.dtype = DType::kBF16, .rank = 3, .shape = {2, 6, 10}, .stride = {70, 11, 1}};
  TensorView k_cache_ = {.dtype = DType::kBF16, .rank = 4, .shape = {9, 4, 3, 10}, .stride = {130, 31, 10, 1}};
  TensorView v_cache_ = {.dtype = DType::kBF16, .rank = 4, .shape = {9, 4, 3, 10}, .stride = {120, 10, 40, 1}};
  TensorView output_ = {.dtype = DType::kBF16, .rank = 3, .shape = {2, 6, 10}, .stride = {60, 10, 1}};
};

TEST_F(SpecFromViews, takes_shapes_dtypes_and_strides) {
  const Result<AttentionSpec> made = make();
  ASSERT_TRUE(made.ok()) << made.status().message();
  const AttentionSpec& spec = *made;
  EXPECT_EQ(spec.dtype, DType::kBF16);
  EXPECT_EQ(spec.kv_dtype, DType::kBF16);
  EXPECT_EQ(spec.batch_size, 2);
  EXPECT_EQ(spec.num_heads, 6);
  EXPECT_EQ(spec.num_kv_heads, 3);
  EXPECT_EQ(spec.head_dim, 10);
  EXPECT_EQ(spec.block_size, 4);
  EXPECT_EQ(spec.num_blocks, 9);
  EXPECT_EQ(spec.query_strides, (RowStrides{.batch = 70, .head = 11}));
  EXPECT_EQ(spec.output_strides, (RowStrides{.batch = 60, .head = 10}));
  EXPECT_EQ(spec.k_strides, (CacheStrides{.block = 130, .token = 31, .head = 10}));
  EXPECT_EQ(spec.v_strides, hnd_strides(4, 3, 10));
  EXPECT_EQ(spec.device, Device{});
  EXPECT_FALSE(spec.scale.has_value());
}

TEST_F(SpecFromViews, makes_a_valid_spec) {
  Result<AttentionSpec> spec = make();
  ASSERT_TRUE(spec.ok());
  spec->max_blocks_per_seq = spec->block_tables_stride = 5;
  EXPECT_TRUE(validate(*spec).ok());
}

TEST_F(SpecFromViews, keeps_a_kv_dtype_of_its_own) {
  k_cache_.dtype = v_cache_.dtype = DType::kF8E4M3;
  ASSERT_TRUE(make().ok());
  EXPECT_EQ(make()->dtype, DType::kBF16);
  EXPECT_EQ(make()->kv_dtype, DType::kF8E4M3);
}

TEST_F(SpecFromViews, rejects_ranks_that_do_not_fit) {
  query_.rank = 4;
  expect_error(StatusCode::kInvalidArgument, "query.rank is 4, must be 3");
  query_.rank = 3;
  v_cache_.rank = 0;
  expect_error(StatusCode::kInvalidArgument, "v_cache.rank is 0, must be 4");
}

TEST_F(SpecFromViews, rejects_a_last_stride_other_than_one_as_unsupported) {
  k_cache_.stride[3] = 2;
  expect_error(StatusCode::kUnsupported, "k_cache.stride[3] is 2");
  k_cache_.stride[3] = 1;
  output_.stride[2] = 0;
  expect_error(StatusCode::kUnsupported, "output.stride[2] is 0");
}

TEST_F(SpecFromViews, rejects_shapes_that_disagree) {
  v_cache_.shape[1] = 8;
  expect_error(StatusCode::kInvalidArgument, "v_cache.shape[1] is 8, but k_cache's is 4");
  v_cache_.shape[1] = 4;
  output_.shape[0] = 3;
  expect_error(StatusCode::kInvalidArgument, "output.shape[0] is 3, but query's is 2");
  output_.shape[0] = 2;
  k_cache_.shape[3] = v_cache_.shape[3] = 12;
  expect_error(StatusCode::kInvalidArgument, "k_cache.shape[3] is 12, but query.shape[2] is 10");
}

TEST_F(SpecFromViews, rejects_dtypes_that_disagree_as_unsupported) {
  v_cache_.dtype = DType::kF16;
  expect_error(StatusCode::kUnsupported, "v_cache.dtype is fp16, but k_cache.dtype is bf16");
  v_cache_.dtype = DType::kBF16;
  output_.dtype = DType::kF32;
  expect_error(StatusCode::kUnsupported, "output.dtype is fp32, but query.dtype is bf16");
}

}  // namespace
}  // namespace quire
