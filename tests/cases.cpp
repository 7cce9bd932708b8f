#include "tests/cases.h"

#include <algorithm>
#include <utility>

#include "tests/random.h"

namespace quire::test {
namespace {

// Lengths around the edges of blocks and of the kernels' chunks.
const std::vector<int64_t> kRagged = {37, 0, 64, 1, 130};

// The values of an axis; with sanitizers every third.
std::vector<int64_t> axis(std::initializer_list<int64_t> values) {
  std::vector<int64_t> taken;
  for (size_t i = 0; i < values.size(); i += kReducedTests ? 3 : 1) taken.push_back(values.begin()[i]);
  return taken;
}

void add_axes(std::vector<Case>& cases, DType dtype) {
  const std::string type = std::string(name_of(dtype)) + "_";
  for (const int64_t group : axis({1, 2, 3, 4, 5, 6, 7, 8, 12, 16})) {
    cases.push_back({type + "group_" + std::to_string(group),
                     {.dtype = dtype, .num_heads = 2 * group, .num_kv_heads = 2, .context_lens = kRagged}});
  }
  for (const int64_t head_dim : axis({1, 7, 8, 16, 40, 64, 72, 80, 96, 112, 120, 128, 160, 192, 256, 257, 512})) {
    cases.push_back({type + "head_dim_" + std::to_string(head_dim),
                     {.dtype = dtype, .head_dim = head_dim, .context_lens = kRagged}});
  }
  for (const int64_t size : axis({1, 3, 16, 24, 48, 80, 96, 160, 192, 256, 528})) {
    const std::vector<int64_t> edges = {2 * size + 1, size, std::max<int64_t>(size - 1, 0), size + 1};
    cases.push_back({type + "block_size_" + std::to_string(size),
                     {.dtype = dtype, .head_dim = 40, .block_size = size, .context_lens = edges}});
  }
  const std::pair<const char*, Layout> layouts[] = {{"nhd", Layout::kNhd},
                                                    {"hnd", Layout::kHnd},
                                                    {"keys_nhd_values_hnd", Layout::kKeysNhdValuesHnd},
                                                    {"padded", Layout::kPadded},
                                                    {"keys_and_values_interleaved", Layout::kInterleaved}};
  for (const auto& [name, layout] : layouts) {
    cases.push_back({type + "layout_" + name,
                     {.dtype = dtype, .num_heads = 6, .head_dim = 80, .context_lens = kRagged, .layout = layout}});
  }
}

void add_tables(std::vector<Case>& cases, DType dtype) {
  const std::string type = std::string(name_of(dtype)) + "_";
  const auto add = [&](const char* name, Shape shape) {
    shape.dtype = dtype;
    cases.push_back({type + name, std::move(shape)});
  };
  const std::vector<int64_t> lengths = {100, 33, 48, 7};
  add("ragged_with_empty_rows", {.context_lens = {0, 1, 15, 16, 17, 0, 300, 0}});
  add("all_rows_empty", {.context_lens = {0, 0, 0}});
  add("one_token", {.context_lens = {1}});
  add("first_block_unmapped", {.context_lens = lengths, .unmapped = [](int64_t, int64_t i) { return i == 0; }});
  add("every_second_block_unmapped",
      {.context_lens = lengths, .unmapped = [](int64_t b, int64_t i) { return (b + i) % 2 == 1; }});
  add("last_blocks_unmapped", {.context_lens = lengths, .unmapped = [](int64_t, int64_t i) { return i >= 2; }});
  add("long_unmapped_run",
      {.block_size = 3, .context_lens = {500}, .unmapped = [](int64_t, int64_t i) { return i > 5 && i < 150; }});
  add("whole_row_unmapped", {.context_lens = lengths, .unmapped = [](int64_t b, int64_t) { return b == 1; }});
  add("every_row_unmapped", {.context_lens = lengths, .unmapped = [](int64_t, int64_t) { return true; }});
  add("shared_prefix", {.context_lens = {200, 180, 100, 300}, .shared_prefix = true});
  add("same_block_twice_in_a_row", {.context_lens = {48, 40}, .tables = {{3, 3, 1}, {1, 3, 3}}, .num_blocks = 4});
  add("table_without_dead_columns", {.context_lens = {32, 48}, .dead_columns = 0});
  add("table_far_wider_than_needed", {.context_lens = {32, 48}, .dead_columns = 200});
}

void add_values(std::vector<Case>& cases, DType dtype) {
  const std::string type = std::string(name_of(dtype)) + "_";
  const auto add = [&](const char* name, Shape shape) {
    shape.dtype = dtype;
    shape.context_lens = kRagged;
    cases.push_back({type + name, std::move(shape)});
  };
  add("scale_zero", {.scale = 0.0f});
  add("scale_negative", {.scale = -0.3f});
  add("scale_large", {.scale = 3.0f});
  add("scale_subnormal", {.scale = 1e-40f});
  add("without_lse", {.want_lse = false});
  const float subnormal = dtype == DType::kF16 ? 1e-6f : 1e-39f;
  add("subnormal_values", {.value = [subnormal](int64_t b, int64_t t, int64_t h, int64_t d) {
        return subnormal * random_normal(7, kValueStream, b, t, h, d);
      }});
  add("values_near_the_largest_half", {.value = [](int64_t b, int64_t t, int64_t h, int64_t d) {
        return 18000 * random_normal(7, kValueStream, b, t, h, d);
      }});
  add("infinite_value", {.value = [](int64_t, int64_t t, int64_t, int64_t d) {
        return t == 20 && d == 3 ? kInfinity : static_cast<float>(d);
      }});
  add("nan_value", {.value = [](int64_t, int64_t t, int64_t, int64_t d) { return t == 33 && d == 5 ? kNaN : 1.0f; }});
  // The first chunk's logits, and with them all of the shorter rows, are -inf: exp(-inf - max) must not become NaN
  // there.
  add("logits_of_minus_infinity_first",
      {.key = [](int64_t, int64_t t, int64_t, int64_t) { return t < 70 ? -kInfinity : 0.5f; },
       .query = [](int64_t, int64_t, int64_t) { return 1.0f; }});
  add("nan_key", {.key = [](int64_t b, int64_t t, int64_t h, int64_t d) {
        return t == 20 && h == 1 ? kNaN : random_normal(7, kKeyStream, b, t, h, d);
      }});
}

void add_sizes(std::vector<Case>& cases) {
  for (const DType dtype : kStorageTypes) {
    const std::string type = std::string(name_of(dtype)) + "_";
    for (const int64_t length : {2049, 8191, 32768, 131072}) {
      if (kReducedTests && length > 8191) continue;
      cases.push_back({type + "context_" + std::to_string(length),
                       {.dtype = dtype, .num_heads = 2, .num_kv_heads = 1, .context_lens = {length}}});
    }
  }
  std::vector<int64_t> lengths(257);
  for (size_t b = 0; b < lengths.size(); ++b) lengths[b] = static_cast<int64_t>(b * 7 % 40);
  cases.push_back({"batch_257", {.dtype = DType::kF16, .head_dim = 16, .context_lens = lengths}});
  for (const size_t rows : {65536, 70000}) {
    std::vector<int64_t> tiny(rows);
    for (size_t b = 0; b < rows; ++b) tiny[b] = static_cast<int64_t>(b % 4);
    cases.push_back({"rows_" + std::to_string(rows),
                     {.dtype = DType::kBF16,
                      .num_heads = 1,
                      .num_kv_heads = 1,
                      .head_dim = 8,
                      .block_size = 2,
                      .context_lens = tiny}});
  }
  for (const int64_t group : {1, 65537}) {
    cases.push_back({"heads_65537_group_" + std::to_string(group),
                     {.dtype = DType::kF16,
                      .num_heads = 65537,
                      .num_kv_heads = 65537 / group,
                      .head_dim = 8,
                      .block_size = 2,
                      .context_lens = {5}}});
  }
  // The user's own benchmark: 16 query heads, 8 KV heads, head_dim 128, blocks of 256 tokens.
  const std::pair<size_t, int64_t> points[] = {{1, 128}, {8, 128}, {1, 512}, {8, 512}, {32, 512}, {1, 2048}, {8, 2048}};
  for (const auto& [batch_size, length] : points) {
    if (kReducedTests && batch_size * static_cast<size_t>(length) > 2048) continue;
    cases.push_back({"seed_batch_" + std::to_string(batch_size) + "_length_" + std::to_string(length),
                     {.dtype = DType::kF16,
                      .num_heads = 16,
                      .num_kv_heads = 8,
                      .head_dim = 128,
                      .block_size = 256,
                      .context_lens = std::vector<int64_t>(batch_size, length)}});
  }
}

}  // namespace

std::vector<Case> conformance_cases() {
  std::vector<Case> cases;
  for (const DType dtype : kStorageTypes) {
    add_axes(cases, dtype);
    add_tables(cases, dtype);
    add_values(cases, dtype);
  }
  add_sizes(cases);
  for (uint64_t seed = 1; seed <= (kReducedTests ? 6 : 60); ++seed) {
    cases.push_back({"random_" + std::to_string(seed), random_shape(seed)});
  }
  return cases;
}

std::vector<Case> core_cases() {
  std::vector<Case> cases;
  for (const DType dtype : kStorageTypes) {
    for (const int64_t head_dim : {1, 7, 64, 80, 128, 257}) {
      for (const int64_t group : {1, 2, 3, 5, 8}) {
        if (kReducedTests && (head_dim + group) % 2 == 0) continue;
        cases.push_back(
            {std::string(name_of(dtype)) + "_head_dim_" + std::to_string(head_dim) + "_group_" + std::to_string(group),
             {.dtype = dtype,
              .num_heads = 2 * group,
              .head_dim = head_dim,
              .block_size = 24,
              .context_lens = {1, 0, 100, 64},
              .layout = Layout::kPadded}});
      }
    }
    add_values(cases, dtype);
  }
  return cases;
}

}  // namespace quire::test
