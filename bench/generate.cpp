#include "bench/generate.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>

#include "bench/generate_layout.h"
#include "bench/generate_normals.h"
#include "bench/parallel.h"
#include "bench/philox.h"

namespace quire::bench {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr int64_t kOutputTail = 64;  // elements behind the last row of the output
constexpr int kPoison = 0xFF;        // as every byte of an fp32, fp16 or bf16 element: NaN

struct CaseSize {
  int64_t query, k_cache, v_cache, block_tables, context_lens, output, lse;  // bytes
};

CaseSize size_of_case(const AttentionSpec& spec) {
  const int64_t element = size_of(spec.dtype);
  const int64_t kv_element = size_of(spec.kv_dtype);
  return {.query = spec.batch_size * spec.query_strides.batch * element,
          .k_cache = spec.num_blocks * spec.k_strides.block * kv_element,
          .v_cache = spec.num_blocks * spec.v_strides.block * kv_element,
          .block_tables = spec.batch_size * spec.block_tables_stride * 4,
          .context_lens = spec.batch_size * 4,
          .output = (spec.batch_size * spec.output_strides.batch + kOutputTail) * element,
          .lse = spec.batch_size * spec.num_heads * 4};
}

Status allocate(Case& c) {
  const CaseSize bytes = size_of_case(c.spec);
  for (const auto& [field, buffer, size] :
       {std::tuple{"query", &c.query, bytes.query}, std::tuple{"k_cache", &c.k_cache, bytes.k_cache},
        std::tuple{"v_cache", &c.v_cache, bytes.v_cache},
        std::tuple{"block_tables", &c.block_tables, bytes.block_tables},
        std::tuple{"context_lens", &c.context_lens, bytes.context_lens}, std::tuple{"output", &c.output, bytes.output},
        std::tuple{"lse", &c.lse, bytes.lse}}) {
    *buffer = HostBuffer::allocate(static_cast<size_t>(size));
    if (buffer->data() == nullptr) {
      return {StatusCode::kInternal, std::string(field) + ": no memory for " + std::to_string(size) + " bytes"};
    }
  }
  c.args = {.query = c.query.data(),
            .k_cache = c.k_cache.data(),
            .v_cache = c.v_cache.data(),
            .block_tables = c.table_row(0),
            .context_lens = c.context_lens_data(),
            .output = c.output.data(),
            .lse = c.lse_data()};
  return {};
}

void write_tables(const Workload& workload, const BlockLayout& layout, Case& c) {
  for (int64_t b = 0; b < workload.batch_size; ++b) {
    c.context_lens_data()[b] = static_cast<int32_t>(workload.context_len(b));
    const int64_t live = blocks_of(workload.context_len(b), workload.block_size);
    const int32_t* entries = layout.block_tables.data() + b * layout.max_blocks_per_seq;
    for (int64_t i = 0; i < c.spec.block_tables_stride; ++i) {
      c.table_row(b)[i] = i < live ? entries[i] : bad_block_id(layout.num_blocks, b + i);
    }
  }
}

Result<Case> case_of(const Workload& workload, const BlockLayout& layout) {
  for (const DType dtype : {workload.dtype, workload.kv_dtype}) {
    if (is_convertible(dtype)) continue;
    return Status(StatusCode::kUnsupported, std::string("no data can be generated in ") + name_of(dtype));
  }
  Case c;
  c.spec = spec_of(workload, layout.num_blocks, layout.max_blocks_per_seq);
  if (Status s = validate(c.spec); !s.ok()) return s;
  if (Status s = allocate(c); !s.ok()) return s;
  write_tables(workload, layout, c);
  poison_output(c);
  return c;
}

void fill_query(const Workload& workload, int set, Case& c) {
  const NormalTable& normals = NormalTable::of(workload.dtype);
  const RandomSource random{workload.seed, set, RandomStream::kQuery};
  std::memset(c.query.data(), kPoison, c.query.bytes());
  for (int64_t row = 0; row < workload.batch_size * workload.num_heads; ++row) {
    normals.fill(random, static_cast<uint64_t>(row * workload.head_dim), workload.head_dim,
                 c.query_row(row / workload.num_heads, row % workload.num_heads));
  }
}

// One block of K or V: normals in its live slots, poison in all else. An element's number counts through the dense
// cache [num_blocks, block_size, num_kv_heads, head_dim], so values do not depend on strides.
void fill_block(const Workload& workload, const RandomSource& random, int64_t block, int64_t live_slots,
                const CacheStrides& strides, std::byte* cache) {
  const NormalTable& normals = NormalTable::of(workload.kv_dtype);
  const int64_t element = size_of(workload.kv_dtype);
  const int64_t slot_elements = workload.num_kv_heads * workload.head_dim;
  std::byte* const target = cache + block * strides.block * element;
  const auto first = static_cast<uint64_t>(block * workload.block_size * slot_elements);
  if (strides == nhd_strides(workload.block_size, workload.num_kv_heads, workload.head_dim)) {
    const int64_t live = live_slots * slot_elements;
    normals.fill(random, first, live, target);
    std::memset(target + live * element, kPoison, static_cast<size_t>((strides.block - live) * element));
    return;
  }
  std::memset(target, kPoison, static_cast<size_t>(strides.block * element));
  for (int64_t row = 0; row < live_slots * workload.num_kv_heads; ++row) {
    const int64_t slot = row / workload.num_kv_heads;
    const int64_t head = row % workload.num_kv_heads;
    normals.fill(random, first + static_cast<uint64_t>(row * workload.head_dim), workload.head_dim,
                 target + (slot * strides.token + head * strides.head) * element);
  }
}

constexpr size_t kChunkBytes = size_t{1} << 20;

size_t chunks_of(const HostBuffer& buffer) { return (buffer.bytes() + kChunkBytes - 1) / kChunkBytes; }

// Bijective in `hash` and in `word`: a single changed word always changes the result.
constexpr uint64_t mix(uint64_t hash, uint64_t word) {
  const uint64_t mixed = (hash ^ word) * 0x9E3779B97F4A7C15;
  return mixed ^ (mixed >> 29);
}

uint64_t hash_bytes(const std::byte* data, size_t bytes) {
  std::array<uint64_t, 4> lanes = {1, 2, 3, 4};
  for (; bytes >= sizeof lanes; data += sizeof lanes, bytes -= sizeof lanes) {
    std::array<uint64_t, 4> words;
    std::memcpy(words.data(), data, sizeof words);
    for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  std::array<uint64_t, 4> tail = {};
  std::memcpy(tail.data(), data, bytes);
  uint64_t hash = 0;
  for (size_t i = 0; i < lanes.size(); ++i) hash = mix(mix(hash, lanes[i]), tail[i]);
  return hash;
}

// Calls task(index, data, bytes) for each MiB of a buffer, on all threads.
template <typename Task>
void for_each_chunk(const HostBuffer& buffer, Executor& executor, Task&& task) {
  parallel_for(executor, static_cast<int64_t>(chunks_of(buffer)), [&](int64_t i) {
    const size_t begin = static_cast<size_t>(i) * kChunkBytes;
    task(static_cast<size_t>(i), buffer.data() + begin, std::min(kChunkBytes, buffer.bytes() - begin));
  });
}

uint64_t hash_buffer(uint64_t hash, const HostBuffer& buffer, Executor& executor) {
  std::vector<uint64_t> chunks(chunks_of(buffer));
  for_each_chunk(buffer, executor,
                 [&](size_t i, const std::byte* data, size_t bytes) { chunks[i] = hash_bytes(data, bytes); });
  for (const uint64_t chunk : chunks) hash = mix(hash, chunk);
  return hash;
}

}  // namespace

HostBuffer HostBuffer::allocate(size_t bytes) {
  HostBuffer buffer;
  void* data = nullptr;
  if (posix_memalign(&data, kPageBytes, std::max<size_t>(1, bytes)) != 0) return buffer;
  buffer.data_.reset(static_cast<std::byte*>(data));
  buffer.bytes_ = bytes;
  return buffer;
}

void HostBuffer::Free::operator()(std::byte* data) const noexcept { std::free(data); }

int64_t case_bytes(const Workload& workload) {
  const BlockLayout layout = place_blocks(workload, 0);
  const CaseSize bytes = size_of_case(spec_of(workload, layout.num_blocks, layout.max_blocks_per_seq));
  return bytes.query + bytes.k_cache + bytes.v_cache + bytes.block_tables + bytes.context_lens + bytes.output +
         bytes.lse;
}

int32_t bad_block_id(int64_t num_blocks, int64_t index) {
  const auto past = static_cast<int32_t>(num_blocks);
  const int32_t ids[] = {past, std::numeric_limits<int32_t>::min(), -2, std::numeric_limits<int32_t>::max(), past + 17};
  return ids[index % 5];
}

Result<Case> generate_unfilled(const Workload& workload, int set) {
  return case_of(workload, place_blocks(workload, set));
}

Result<Case> generate(const Workload& workload, int set, Executor& executor) {
  const BlockLayout layout = place_blocks(workload, set);
  Result<Case> c = case_of(workload, layout);
  if (!c.ok()) return c;
  fill_query(workload, set, *c);
  const RandomSource keys{workload.seed, set, RandomStream::kKeys};
  const RandomSource values{workload.seed, set, RandomStream::kValues};
  parallel_for(executor, c->spec.num_blocks, [&](int64_t block) {
    const int64_t live = layout.live_slots[static_cast<size_t>(block)];
    fill_block(workload, keys, block, live, c->spec.k_strides, c->k_cache.data());
    fill_block(workload, values, block, live, c->spec.v_strides, c->v_cache.data());
  });
  return c;
}

void poison_inputs(Case& c, Executor& executor) {
  for (const HostBuffer* input : {&c.query, &c.k_cache, &c.v_cache}) {
    for_each_chunk(*input, executor, [](size_t, std::byte* data, size_t bytes) { std::memset(data, kPoison, bytes); });
  }
}

void poison_output(Case& c) {
  std::memset(c.output.data(), kPoison, c.output.bytes());
  std::memset(c.lse.data(), kPoison, c.lse.bytes());
}

bool output_gaps_intact(const Case& c) {
  const auto row_bytes = static_cast<size_t>(c.spec.head_dim * size_of(c.spec.dtype));
  const auto is_poison = [](std::byte value) { return value == std::byte{kPoison}; };
  const std::byte* gap = c.output.data();
  for (int64_t b = 0; b < c.spec.batch_size; ++b) {
    for (int64_t h = 0; h < c.spec.num_heads; ++h) {
      const std::byte* row = c.output_row(b, h);
      if (!std::all_of(gap, row, is_poison)) return false;
      gap = row + row_bytes;
    }
  }
  return std::all_of<const std::byte*>(gap, c.output.data() + c.output.bytes(), is_poison);
}

uint64_t hash_inputs(const Case& c, Executor& executor) {
  uint64_t hash = 0;
  for (const HostBuffer* input : {&c.query, &c.k_cache, &c.v_cache, &c.block_tables, &c.context_lens}) {
    hash = hash_buffer(hash, *input, executor);
  }
  return hash;
}

}  // namespace quire::bench
