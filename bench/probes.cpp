#include "bench/probes.h"

#include <algorithm>
#include <cstring>

#include "bench/generate_layout.h"
#include "bench/parallel.h"
#include "bench/philox.h"

namespace quire::bench {
namespace {

using Placement = ProbeCase::Placement;

// A logit beside which any number of zeros weighs nothing: e^-128 is 0 in fp32.
constexpr float kDominant = 128;
// Steps of the staircase: keys 2^0 .. 2^8, exact in every type.
constexpr int64_t kSteps = 9;
// Tokens that may count in one channel of the coded census. One more or less moves the channel by 1/128 at least, twice
// what rounding to bf16 can hide.
constexpr int64_t kTokensPerChannel = 128;
constexpr float kDecoy = 24'576;
constexpr int64_t kLargestNeedle = 64;

int64_t group_size(const Workload& w) { return w.num_heads / w.num_kv_heads; }

int64_t longest_context(const Workload& w) {
  int64_t longest = 0;
  for (int64_t b = 0; b < w.batch_size; ++b) longest = std::max(longest, w.context_len(b));
  return longest;
}

void store(DType dtype, std::byte* row, int64_t channel, float value) {
  from_f32(dtype, &value, row + channel * size_of(dtype), 1);
}

// Every query becomes 0, then write(sequence, head, row) sets what is not.
template <typename Write>
void write_query(Case& c, Write&& write) {
  for (int64_t b = 0; b < c.spec.batch_size; ++b) {
    for (int64_t h = 0; h < c.spec.num_heads; ++h) {
      std::byte* row = c.query_row(b, h);
      std::memset(row, 0, static_cast<size_t>(c.spec.head_dim * size_of(c.spec.dtype)));
      write(b, h, row);
    }
  }
}

// The key and the value of one token in one KV head.
struct LiveRow {
  int64_t sequence, token;  // the first that names this slot
  int64_t index;            // of the row in the cache [num_blocks, block_size, num_kv_heads]
  std::byte* key;
  std::byte* value;
};

struct LiveBlock {
  int64_t block, live_slots, sequence, first_token;
};

std::vector<LiveBlock> live_blocks(const Case& c) {
  std::vector<LiveBlock> blocks;
  std::vector<int64_t> index(static_cast<size_t>(c.spec.num_blocks), -1);  // of a block in `blocks`
  for (int64_t b = 0; b < c.spec.batch_size; ++b) {
    const int64_t length = c.context_lens_data()[b];
    for (int64_t t = 0; t < length; t += c.spec.block_size) {
      const int64_t block = c.table_row(b)[t / c.spec.block_size];
      if (block < 0) continue;
      const int64_t live_slots = std::min(c.spec.block_size, length - t);
      int64_t& known = index[static_cast<size_t>(block)];
      if (known < 0) {
        known = static_cast<int64_t>(blocks.size());
        blocks.push_back({block, live_slots, b, t});
      }
      LiveBlock& live = blocks[static_cast<size_t>(known)];
      live.live_slots = std::max(live.live_slots, live_slots);
    }
  }
  return blocks;
}

// Calls write(row) once for each live row of the cache, on all threads.
template <typename Write>
void write_rows(ProbeCase& target, Write&& write) {
  const Case& c = target.problem();
  const std::vector<LiveBlock> blocks = live_blocks(c);
  parallel_for(target.executor(), static_cast<int64_t>(blocks.size()), [&](int64_t i) {
    const LiveBlock& live = blocks[static_cast<size_t>(i)];
    for (int64_t slot = 0; slot < live.live_slots; ++slot) {
      const int64_t first_index = (live.block * c.spec.block_size + slot) * c.spec.num_kv_heads;
      for (int64_t head = 0; head < c.spec.num_kv_heads; ++head) {
        write(LiveRow{live.sequence, live.first_token + slot, first_index + head, c.key(live.block, slot, head),
                      c.value(live.block, slot, head)});
      }
    }
  });
}

// +1 or -1 in every element of a row.
template <typename Element>
void write_signs(const RandomSource& random, int64_t index, int64_t head_dim, Element one, std::byte* row) {
  constexpr int64_t kBits = 128;
  auto* elements = reinterpret_cast<Element*>(row);
  for (int64_t first = 0; first < head_dim; first += kBits) {
    const Philox4 bits = random.bits(static_cast<uint64_t>(index * blocks_of(head_dim, kBits) + first / kBits));
    for (int64_t i = 0; i < std::min(kBits, head_dim - first); ++i) {
      const uint32_t bit = (bits[static_cast<size_t>(i / 32)] >> (i % 32)) & 1;
      elements[first + i] = static_cast<Element>(one | (bit << (8 * sizeof(Element) - 1)));
    }
  }
}

void write_signs(const RandomSource& random, const AttentionSpec& spec, int64_t index, std::byte* row) {
  switch (spec.kv_dtype) {
    case DType::kF32: return write_signs<uint32_t>(random, index, spec.head_dim, 0x3F800000, row);
    case DType::kF16: return write_signs<uint16_t>(random, index, spec.head_dim, 0x3C00, row);
    default: return write_signs<uint16_t>(random, index, spec.head_dim, 0x3F80, row);  // bf16
  }
}

// Keys and values of random signs; in channel 0 the keys of a sequence climb 1, 2, 4 .. 256 from its start to its end.
void write_signs_and_steps(ProbeCase& target) {
  target.place(Placement::kOriginal);
  const Case& c = target.problem();
  const RandomSource keys{target.workload().seed, 0, RandomStream::kKeys};
  const RandomSource values{target.workload().seed, 0, RandomStream::kValues};
  write_rows(target, [&](const LiveRow& row) {
    write_signs(keys, c.spec, row.index, row.key);
    write_signs(values, c.spec, row.index, row.value);
    const int64_t step = row.token * kSteps / c.context_lens_data()[row.sequence];
    store(c.spec.kv_dtype, row.key, 0, static_cast<float>(int64_t{1} << step));
  });
}

// Census: q = 0, so every live token weighs the same. output = mean of V, lse = ln(live tokens).
void write_census(ProbeCase& target, int /*round*/) {
  write_signs_and_steps(target);
  write_query(target.problem(), [](int64_t, int64_t, std::byte*) {});
}

// Staircase: logits that only rise, from 256 to beyond fp16's range; that only fall, all below -200; and that fall from
// -2^34, below what is commonly taken for minus infinity. Only the top step counts. Each logit is a power of two, so
// that a kernel that works in base 2 rounds all logits of a step alike.
void write_staircase(ProbeCase& target, int round) {
  write_signs_and_steps(target);
  Case& c = target.problem();
  constexpr float kScale = 0x1p19;
  constexpr float kLogits[] = {0x1p8, -0x1p8, -0x1p34};  // of a key that is 1
  c.spec.scale = kScale;
  write_query(c, [&](int64_t b, int64_t h, std::byte* row) {
    store(c.spec.dtype, row, 0, kLogits[(b * c.spec.num_heads + h + round) % 3] / kScale);
  });
}

// How the coded census splits the head_dim codes: one query asks for `width` neighbouring codes, one of `count` sets.
struct CodeSets {
  int64_t width, count;
};

CodeSets code_sets(const Workload& w) {
  const int64_t tokens_per_channel = blocks_of(longest_context(w), w.head_dim * w.head_dim);  // of one code
  const int64_t at_most = kTokensPerChannel / std::max<int64_t>(1, tokens_per_channel);
  const int64_t width = std::clamp<int64_t>(at_most, 1, std::max<int64_t>(1, w.head_dim / 2));
  return {width, blocks_of(w.head_dim, width)};
}

// Coded census: K one-hot at t mod D, V one-hot at (t / D) mod D. A query picks the tokens of some codes; channel i of
// the output is the share of them with i in their value.
void write_coded_census(ProbeCase& target, int round) {
  target.place(Placement::kOriginal);
  Case& c = target.problem();
  const int64_t head_dim = c.spec.head_dim;
  const auto row_bytes = static_cast<size_t>(head_dim * size_of(c.spec.kv_dtype));
  write_rows(target, [&](const LiveRow& row) {
    std::memset(row.key, 0, row_bytes);
    std::memset(row.value, 0, row_bytes);
    store(c.spec.kv_dtype, row.key, row.token % head_dim, 1);
    store(c.spec.kv_dtype, row.value, row.token / head_dim % head_dim, 1);
  });
  const CodeSets sets = code_sets(target.workload());
  const int64_t group = group_size(target.workload());
  c.spec.scale = 1.0F;
  write_query(c, [&](int64_t b, int64_t h, std::byte* row) {
    // The heads of a group ask for neighbouring sets, a round for the next ones; sequences and groups start apart.
    const int64_t first = (b * group + h + round * group) % sets.count * sets.width;
    for (int64_t code = first; code < std::min(first + sets.width, head_dim); ++code) {
      store(c.spec.dtype, row, code, kDominant);
    }
  });
}

// Where needles lie: the ends, the edges of blocks, of 64-token chunks and of likely splits, and anywhere.
std::vector<int64_t> needle_positions(const Workload& w, int64_t length) {
  std::vector<int64_t> positions;
  const auto add = [&](int64_t position) {
    if (position >= 0 && position < length) positions.push_back(position);
  };
  const int64_t last_block = (length - 1) / w.block_size * w.block_size;
  const int64_t middle = length / 2 / 64 * 64;
  const int64_t last_chunk = (length - 1) / 64 * 64;
  for (const int64_t position : {length - 1, int64_t{0}, last_block, last_block - 1, middle, middle - 1, w.block_size,
                                 w.block_size - 1, last_chunk, last_chunk - 1, int64_t{63}, int64_t{64}}) {
    add(position);
  }
  const RandomSource random{w.seed, 0, RandomStream::kNeedles};
  for (uint64_t i = 0; i < 4; ++i) add(static_cast<int64_t>(random.below(i, static_cast<uint64_t>(length))));
  return positions;
}
constexpr int64_t kNeedlePositions = 16;

// The token at `position`, or the nearest mapped one behind it, around the end if need be; -1 where none is mapped.
int64_t mapped_token(const Case& c, int64_t sequence, int64_t position) {
  const int64_t length = c.context_lens_data()[sequence];
  for (int64_t tried = 0; tried <= blocks_of(length, c.spec.block_size); ++tried) {
    const int64_t block_index = position / c.spec.block_size;
    if (c.table_row(sequence)[block_index] >= 0) return position;
    position = (block_index + 1) * c.spec.block_size;
    if (position >= length) position = 0;
  }
  return -1;
}

// Needles of one group of one sequence: query head g finds the keys that are 1 in channel g (g mod D).
void plant_needles(ProbeCase& target, int64_t sequence, int64_t kv_head, int64_t needles, int round) {
  const Case& c = target.problem();
  const std::vector<int64_t> positions = needle_positions(target.workload(), c.context_lens_data()[sequence]);
  const RandomSource random{target.workload().seed, 0, RandomStream::kNeedles};
  for (int64_t g = 0; g < needles; ++g) {
    const int64_t turn = sequence + kv_head * needles + g + round * needles * c.spec.num_kv_heads;
    const int64_t token = mapped_token(c, sequence, positions[static_cast<size_t>(turn) % positions.size()]);
    if (token < 0) return;
    const int64_t block = c.table_row(sequence)[token / c.spec.block_size];
    const int64_t slot = token % c.spec.block_size;
    store(c.spec.kv_dtype, c.key(block, slot, kv_head), g, 1);
    const int64_t index = ((block * c.spec.block_size + slot) * c.spec.num_kv_heads + kv_head) * c.spec.head_dim;
    for (int64_t d = 0; d < c.spec.head_dim; ++d) {
      const uint64_t draw = random.below(static_cast<uint64_t>(kNeedlePositions + index + d), 2 * kLargestNeedle + 1);
      store(c.spec.kv_dtype, c.value(block, slot, kv_head), d,
            static_cast<float>(static_cast<int64_t>(draw) - kLargestNeedle));
    }
  }
}

// Needle: each query head finds one key among zeros; the other values are a large decoy. In the moved placement, so
// that tables and lengths remembered from before find poison.
void write_needle(ProbeCase& target, int round) {
  target.place(Placement::kMoved);
  Case& c = target.problem();
  const auto row_bytes = static_cast<size_t>(c.spec.head_dim * size_of(c.spec.kv_dtype));
  const std::vector<float> decoys(static_cast<size_t>(c.spec.head_dim), kDecoy);
  std::vector<std::byte> decoy_row(row_bytes);
  from_f32(c.spec.kv_dtype, decoys.data(), decoy_row.data(), c.spec.head_dim);
  write_rows(target, [&](const LiveRow& row) {
    std::memset(row.key, 0, row_bytes);
    std::memcpy(row.value, decoy_row.data(), row_bytes);
  });
  const int64_t group = group_size(target.workload());
  const int64_t needles = std::min(group, c.spec.head_dim);
  for (int64_t b = 0; b < c.spec.batch_size; ++b) {
    if (c.context_lens_data()[b] == 0) continue;
    for (int64_t kv_head = 0; kv_head < c.spec.num_kv_heads; ++kv_head) {
      plant_needles(target, b, kv_head, needles, round);
    }
  }
  c.spec.scale = 1.0F;
  write_query(c, [&](int64_t, int64_t h, std::byte* row) { store(c.spec.dtype, row, h % group % needles, kDominant); });
}

// Empty: no sequence has a token. output exactly 0, lse -inf, and not one read of the poison.
void write_empty(ProbeCase& target, int /*round*/) {
  target.place(Placement::kEmpty);
  Case& c = target.problem();
  write_query(c, [&](int64_t, int64_t, std::byte* row) { store(c.spec.dtype, row, 0, 1); });
}

int rounds_for(int64_t things, int64_t in_one_round) { return static_cast<int>(blocks_of(things, in_one_round)); }

}  // namespace

Result<ProbeCase> ProbeCase::create(const Workload& workload, Executor& executor) {
  Result<Case> c = generate_unfilled(workload, 0);
  if (!c.ok()) return c.status();
  ProbeCase target;
  target.workload_ = workload;
  target.executor_ = &executor;
  const int32_t* tables = c->table_row(0);
  target.block_tables_.assign(tables, tables + workload.batch_size * c->spec.block_tables_stride);
  target.case_ = std::move(*c);
  return target;
}

void ProbeCase::place(Placement placement) {
  const AttentionSpec& spec = case_.spec;
  case_.spec.scale.reset();
  poison_inputs(case_, *executor_);
  for (int64_t b = 0; b < spec.batch_size; ++b) {
    int64_t length = workload_.context_len(b);
    if (placement == Placement::kMoved) length = std::max<int64_t>(0, length - 1);
    if (placement == Placement::kEmpty) length = 0;
    case_.context_lens_data()[b] = static_cast<int32_t>(length);
    for (int64_t i = 0; i < spec.block_tables_stride; ++i) {
      int64_t block = block_tables_[static_cast<size_t>(b * spec.block_tables_stride + i)];
      if (placement == Placement::kMoved && block >= 0) block = (block + 1) % spec.num_blocks;
      if (i >= blocks_of(length, spec.block_size)) block = bad_block_id(spec.num_blocks, b + i);
      case_.table_row(b)[i] = static_cast<int32_t>(block);
    }
  }
}

std::vector<Probe> probes_for(const Workload& w, CheckDepth depth) {
  const int64_t rows = w.batch_size * w.num_heads;
  const int64_t needles = w.num_kv_heads * std::min(group_size(w), w.head_dim);  // of one sequence in one round
  const bool full = depth == CheckDepth::kFull;
  return {
      {"census", 1, 1, write_census},
      {"staircase", full ? 3 : rounds_for(3, rows), 1, write_staircase},
      {"coded census", full ? rounds_for(code_sets(w).count, group_size(w)) : 1, 1, write_coded_census},
      {"needle", full ? rounds_for(kNeedlePositions, needles) : 1, kLargestNeedle, write_needle},
      {"empty", 1, 1, write_empty},
  };
}

}  // namespace quire::bench
