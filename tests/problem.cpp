#include "tests/problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "tests/random.h"

namespace quire::test {
namespace {

// Naive and gathering implementations ask for dense copies of everything; tests have to fit a small machine.
constexpr size_t kMostWorkspaceBytes = size_t{1} << 30;

size_t bytes_of(DType dtype, std::initializer_list<std::pair<int64_t, int64_t>> sizes_and_strides) {
  int64_t last = 0;
  for (const auto& [size, stride] : sizes_and_strides) {
    if (size == 0) return 0;
    last += (size - 1) * stride;
  }
  return static_cast<size_t>((last + 1) * size_of(dtype));
}

size_t row_bytes(const AttentionSpec& s, const RowStrides& r) {
  return bytes_of(s.dtype, {{s.batch_size, r.batch}, {s.num_heads, r.head}, {s.head_dim, 1}});
}

size_t cache_bytes(const AttentionSpec& s, const CacheStrides& c) {
  return bytes_of(s.kv_dtype,
                  {{s.num_blocks, c.block}, {s.block_size, c.token}, {s.num_kv_heads, c.head}, {s.head_dim, 1}});
}

size_t element_size(const AttentionSpec& s) { return static_cast<size_t>(size_of(s.dtype)); }

bool holds_only(const GuardedBuffer& buffer, std::byte byte) {
  return std::all_of(buffer.data(), buffer.data() + buffer.bytes(), [byte](std::byte b) { return b == byte; });
}

}  // namespace

std::vector<std::byte> Answer::row_bits(const AttentionSpec& spec, int64_t row) const {
  const auto row_size = static_cast<ptrdiff_t>(spec.num_heads * spec.head_dim * size_of(spec.dtype));
  std::vector<std::byte> bits(output_bits.begin() + row * row_size, output_bits.begin() + (row + 1) * row_size);
  if (!lse.empty()) {
    const auto* first = reinterpret_cast<const std::byte*>(lse.data() + row * spec.num_heads);
    bits.insert(bits.end(), first, first + spec.num_heads * 4);
  }
  return bits;
}

bool same_bits(const Answer& a, const Answer& b) {
  return a.output_bits == b.output_bits && a.lse.size() == b.lse.size() &&
         (a.lse.empty() || std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0);
}

Problem::Problem(Shape shape) : shape_(std::move(shape)) {
  set_spec();
  allocate();
  if (!has_memory_) return;
  fill_tables();
  fill_caches();
  fill_query();
  for (GuardedBuffer* input : {&query_, &k_cache_, &v_cache_}) input->set_writable(false);
}

void Problem::set_spec() {
  AttentionSpec& s = spec_;
  s.dtype = s.kv_dtype = shape_.dtype;
  s.batch_size = static_cast<int64_t>(shape_.context_lens.size());
  s.num_heads = shape_.num_heads;
  s.num_kv_heads = shape_.num_kv_heads;
  s.head_dim = shape_.head_dim;
  s.block_size = shape_.block_size;
  int64_t needed = 0;
  for (const int64_t length : shape_.context_lens) {
    const int64_t blocks = (length + s.block_size - 1) / s.block_size;
    needed += blocks;
    s.max_blocks_per_seq = std::max(s.max_blocks_per_seq, blocks);
  }
  if (shape_.placement == Placement::kStrided) needed *= 2;
  s.num_blocks = shape_.num_blocks > 0 ? shape_.num_blocks : needed + 2;
  s.max_blocks_per_seq += shape_.dead_columns;
  s.scale = shape_.scale;
  s.want_lse = shape_.want_lse;
  s.batch_invariant = shape_.batch_invariant;
  set_dense_strides(s);
  const int64_t h = s.num_kv_heads;
  const int64_t d = s.head_dim;
  switch (shape_.layout) {
    case Layout::kNhd: break;
    case Layout::kHnd: s.k_strides = s.v_strides = hnd_strides(s.block_size, h, d); break;
    case Layout::kKeysNhdValuesHnd: s.v_strides = hnd_strides(s.block_size, h, d); break;
    case Layout::kInterleaved: s.k_strides.block = s.v_strides.block = 2 * s.k_strides.block; break;
    case Layout::kPadded: {
      const int64_t k_token = h * (d + 3) + 5;
      s.k_strides = {.block = s.block_size * k_token + 7, .token = k_token, .head = d + 3};
      const int64_t v_head = s.block_size * (d + 1) + 2;
      s.v_strides = {.block = h * v_head + 64, .token = d + 1, .head = v_head};
      s.query_strides = {.batch = s.num_heads * (d + 1) + 2, .head = d + 1};
      s.output_strides = {.batch = s.num_heads * (d + 2) + 3, .head = d + 2};
      s.block_tables_stride = s.max_blocks_per_seq + 3;
      break;
    }
  }
}

void Problem::allocate() {
  const AttentionSpec& s = spec_;
  const size_t element = element_size(s);
  query_ = GuardedBuffer(row_bytes(s, s.query_strides), element);
  if (shape_.layout == Layout::kInterleaved) {
    k_cache_ = GuardedBuffer(static_cast<size_t>(s.num_blocks * s.k_strides.block) * element, element);
  } else {
    k_cache_ = GuardedBuffer(cache_bytes(s, s.k_strides), element);
    v_cache_ = GuardedBuffer(cache_bytes(s, s.v_strides), element);
  }
  block_tables_ = GuardedBuffer(
      bytes_of(DType::kF32, {{s.batch_size, s.block_tables_stride}, {s.max_blocks_per_seq, 1}}), sizeof(int32_t));
  context_lens_ = GuardedBuffer(shape_.context_lens.size() * sizeof(int32_t), sizeof(int32_t));
  output_ = GuardedBuffer(row_bytes(s, s.output_strides), element);
  lse_ = GuardedBuffer(s.want_lse ? static_cast<size_t>(s.batch_size * s.num_heads) * sizeof(float) : 0, sizeof(float));
  has_memory_ = true;
  for (const GuardedBuffer* b : {&query_, &k_cache_, &v_cache_, &block_tables_, &context_lens_, &output_, &lse_}) {
    has_memory_ = has_memory_ && (b->bytes() > 0) == (b->data() != nullptr);
  }
  has_memory_ = has_memory_ && k_cache_.data() != nullptr;
}

int32_t& Problem::table(int64_t row, int64_t column) {
  return block_tables_.as<int32_t>()[row * spec_.block_tables_stride + column];
}

void Problem::fill_tables() {
  const int64_t width = spec_.max_blocks_per_seq;
  std::vector<int32_t> order(static_cast<size_t>(spec_.num_blocks));
  std::iota(order.begin(), order.end(), 0);
  if (shape_.placement == Placement::kReversed) std::reverse(order.begin(), order.end());
  if (shape_.placement == Placement::kStrided) std::for_each(order.begin(), order.end(), [](int32_t& id) { id *= 2; });
  if (shape_.placement == Placement::kShuffled) std::shuffle(order.begin(), order.end(), std::mt19937_64(shape_.seed));

  // Whatever must not be read is an id that must not be followed.
  const int32_t bad_ids[] = {static_cast<int32_t>(spec_.num_blocks), std::numeric_limits<int32_t>::min(),
                             std::numeric_limits<int32_t>::max(), -2};
  auto* entries = block_tables_.as<int32_t>();
  for (size_t i = 0; i < block_tables_.bytes() / sizeof(int32_t); ++i) entries[i] = bad_ids[i % 4];

  physical_blocks_.assign(static_cast<size_t>(spec_.batch_size * width), -1);
  size_t next = 0;
  for (int64_t b = 0; b < spec_.batch_size; ++b) {
    const auto row = static_cast<size_t>(b);
    const int64_t length = shape_.context_lens[row];
    context_len(b) = static_cast<int32_t>(length);
    const int64_t first_row_blocks = (shape_.context_lens[0] + spec_.block_size - 1) / spec_.block_size;
    for (int64_t i = 0; i * spec_.block_size < length; ++i) {
      int32_t& block = physical_blocks_[static_cast<size_t>(b * width + i)];
      if (!shape_.tables.empty()) {
        block = shape_.tables[row][static_cast<size_t>(i)];
      } else if (shape_.shared_prefix && b > 0 && i < first_row_blocks / 2) {
        block = physical_blocks_[static_cast<size_t>(i)];
      } else if (!shape_.unmapped || !shape_.unmapped(row_key(b), i)) {
        block = order[next++];
      }
      table(b, i) = block;
    }
  }
}

int64_t Problem::row_key(int64_t row) const {
  return shape_.row_keys.empty() ? row : shape_.row_keys[static_cast<size_t>(row)];
}

// Where rows share a slot, the first row's token is what it holds.
void Problem::fill_caches() {
  const AttentionSpec& s = spec_;
  if (!shape_.sparse) {
    // A short pattern, repeated: dead values are written once for each element, whatever the strides.
    for (GuardedBuffer* cache : {&k_cache_, &v_cache_}) {
      std::byte pattern[4];
      from_f32(s.kv_dtype, &shape_.dead, pattern, 1);
      for (size_t i = 0; i < cache->bytes(); ++i) cache->data()[i] = pattern[i % element_size(s)];
    }
  }
  const AttentionArgs memory = args();
  std::vector<bool> written(static_cast<size_t>(s.num_blocks * s.block_size));
  std::vector<float> values(static_cast<size_t>(s.head_dim));
  const auto write = [&](const void* cache, const CacheStrides& strides, int64_t block, int64_t slot, int64_t head) {
    const int64_t offset = block * strides.block + slot * strides.token + head * strides.head;
    std::byte* target = static_cast<std::byte*>(const_cast<void*>(cache)) + offset * size_of(s.kv_dtype);
    from_f32(s.kv_dtype, values.data(), target, s.head_dim);
  };
  for (int64_t b = 0; b < s.batch_size; ++b) {
    const int64_t key = row_key(b);
    for (int64_t t = 0; t < shape_.context_lens[static_cast<size_t>(b)]; ++t) {
      const int64_t block = physical_blocks_[static_cast<size_t>(b * s.max_blocks_per_seq + t / s.block_size)];
      const int64_t slot = t % s.block_size;
      if (block < 0 || written[static_cast<size_t>(block * s.block_size + slot)]) continue;
      written[static_cast<size_t>(block * s.block_size + slot)] = true;
      for (int64_t h = 0; h < s.num_kv_heads; ++h) {
        const auto fill = [&](const CacheFunction& function, int stream) {
          for (int64_t d = 0; d < s.head_dim; ++d) {
            values[static_cast<size_t>(d)] =
                function ? function(key, t, h, d) : random_normal(shape_.seed, stream, key, t, h, d);
          }
        };
        fill(shape_.key, kKeyStream);
        write(memory.k_cache, s.k_strides, block, slot, h);
        fill(shape_.value, kValueStream);
        write(memory.v_cache, s.v_strides, block, slot, h);
      }
    }
  }
}

void Problem::fill_query() {
  const AttentionSpec& s = spec_;
  query_.fill(0xFF);
  std::vector<float> values(static_cast<size_t>(s.head_dim));
  for (int64_t b = 0; b < s.batch_size; ++b) {
    const int64_t key = row_key(b);
    for (int64_t h = 0; h < s.num_heads; ++h) {
      for (int64_t d = 0; d < s.head_dim; ++d) {
        values[static_cast<size_t>(d)] =
            shape_.query ? shape_.query(key, h, d) : random_normal(shape_.seed, kQueryStream, key, 0, h, d);
      }
      const int64_t offset = (b * s.query_strides.batch + h * s.query_strides.head) * size_of(s.dtype);
      from_f32(s.dtype, values.data(), query_.data() + offset, s.head_dim);
    }
  }
}

AttentionArgs Problem::args() const {
  AttentionArgs args;
  args.query = query_.data();
  args.k_cache = k_cache_.data();
  args.v_cache = shape_.layout == Layout::kInterleaved
                     ? k_cache_.data() + spec_.k_strides.block / 2 * size_of(spec_.kv_dtype)
                     : v_cache_.data();
  args.block_tables = block_tables_.as<int32_t>();
  args.context_lens = context_lens_.as<int32_t>();
  args.output = output_.data();
  args.lse = lse_.as<float>();
  return args;
}

Answer Problem::run(const Implementation& implementation, Executor* executor, GuardedBuffer* workspace) {
  const Result<size_t> bytes = workspace_bytes(implementation, spec_, executor);
  GuardedBuffer exact(bytes.ok() && workspace == nullptr ? *bytes : 0, kWorkspaceAlignment);
  if (workspace == nullptr) {
    exact.fill(0xFF);
    workspace = &exact;
  }
  output_.fill(0xFF);
  lse_.fill(0xFF);
  for (GuardedBuffer* input : {&block_tables_, &context_lens_}) input->set_writable(false);
  Status status = run_implementation(implementation, spec_, args(),
                                     {.workspace = {workspace->data(), workspace->bytes()}, .executor = executor});
  for (GuardedBuffer* input : {&block_tables_, &context_lens_}) input->set_writable(true);
  EXPECT_TRUE(output_.canaries_intact()) << implementation.name << " wrote beside the output";
  EXPECT_TRUE(lse_.canaries_intact()) << implementation.name << " wrote beside the lse";
  EXPECT_TRUE(workspace->canaries_intact()) << implementation.name << " wrote beside the workspace";
  return collect(std::move(status));
}

Answer Problem::collect(Status status) {
  constexpr std::byte kUnwritten{0xFF};
  const AttentionSpec& s = spec_;
  Answer answer;
  answer.status = std::move(status);
  if (!answer.status.ok()) {
    EXPECT_TRUE(holds_only(output_, kUnwritten)) << "a call that failed wrote output";
    EXPECT_TRUE(holds_only(lse_, kUnwritten)) << "a call that failed wrote lse";
    return answer;
  }
  const size_t row_size = static_cast<size_t>(s.head_dim) * element_size(s);
  answer.output_bits.resize(static_cast<size_t>(s.batch_size * s.num_heads) * row_size);
  std::byte* target = answer.output_bits.data();
  for (int64_t b = 0; b < s.batch_size; ++b) {
    for (int64_t h = 0; h < s.num_heads; ++h) {
      std::byte* row = output_.data() + (b * s.output_strides.batch + h * s.output_strides.head) * size_of(s.dtype);
      std::memcpy(target, row, row_size);
      std::memset(row, 0xFF, row_size);
      target += row_size;
    }
  }
  EXPECT_TRUE(holds_only(output_, kUnwritten)) << "the gaps between output rows were written";
  answer.output.resize(static_cast<size_t>(s.batch_size * s.num_heads * s.head_dim));
  to_f32(s.dtype, answer.output_bits.data(), answer.output.data(), static_cast<int64_t>(answer.output.size()));
  if (s.want_lse) answer.lse.assign(lse_.as<float>(), lse_.as<float>() + s.batch_size * s.num_heads);
  return answer;
}

ReferenceResult Problem::reference() const {
  Result<ReferenceResult> result = quire::reference(spec_, args());
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? std::move(*result) : ReferenceResult{};
}

std::string reason_to_skip(const Implementation& implementation, const Problem& problem, Executor* executor) {
  if (!problem.has_memory()) return "the system refuses the address space";
  const Result<size_t> bytes = workspace_bytes(implementation, problem.spec(), executor);
  if (!bytes.ok()) return bytes.status().code() == StatusCode::kUnsupported ? bytes.status().message() : "";
  if (*bytes > kMostWorkspaceBytes) return "needs a workspace of " + std::to_string(*bytes) + " bytes";
  return "";
}

}  // namespace quire::test
