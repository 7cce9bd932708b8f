// One decode problem in guarded host memory, for tests: live memory holds what the test asks for, dead memory poison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "quire/quire.h"
#include "tests/guarded_buffer.h"

namespace quire::test {

enum class Layout : uint8_t {
  kNhd,
  kHnd,
  kKeysNhdValuesHnd,
  kPadded,       // gaps between heads, tokens, blocks and rows; K's strides differ from V's
  kInterleaved,  // one buffer [num_blocks, 2, block_size, num_kv_heads, head_dim] holds K and V
};

/// Which physical blocks the logical ones get, in order of row and position.
enum class Placement : uint8_t { kIdentity, kReversed, kStrided, kShuffled };

/// Elements by logical coordinates; `row` is the row's key (Shape::row_keys), here and in Shape::unmapped.
using CacheFunction = std::function<float(int64_t row, int64_t token, int64_t kv_head, int64_t d)>;
using QueryFunction = std::function<float(int64_t row, int64_t head, int64_t d)>;

inline constexpr DType kStorageTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

/// True in builds with sanitizers, where tests leave out what takes long.
#ifdef QUIRE_REDUCED_TESTS
inline constexpr bool kReducedTests = true;
#else
inline constexpr bool kReducedTests = false;
#endif

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// What a Problem is made from.
struct Shape {
  DType dtype = DType::kF32;
  int64_t num_heads = 4;
  int64_t num_kv_heads = 2;
  int64_t head_dim = 64;
  int64_t block_size = 16;
  std::vector<int64_t> context_lens = {33};
  std::optional<float> scale = {};
  bool want_lse = true;
  bool batch_invariant = false;

  Layout layout = Layout::kNhd;
  Placement placement = Placement::kShuffled;
  std::function<bool(int64_t row, int64_t block)> unmapped = {};  // whose table entries are -1; none where empty
  bool shared_prefix = false;                                     // rows begin with half of row 0's blocks
  std::vector<std::vector<int32_t>> tables = {};  // the live entries, given outright; the three fields above then rest
  int64_t num_blocks = 0;                         // 0: as many as needed, and two that no row uses
  int64_t dead_columns = 1;                       // of the table, behind the longest row

  // Data are a function of seed, row key and position in the row alone: not of placement, nor of other rows.
  uint64_t seed = 1;
  std::vector<int64_t> row_keys = {};  // empty: row b has key b
  CacheFunction key = {};              // N(0,1) where empty, as are the next two
  CacheFunction value = {};
  QueryFunction query = {};
  float dead = kNaN;    // what every cache element holds that no live token uses
  bool sparse = false;  // dead cache memory is left untouched, so that a cache may be larger than the machine
};

/// What a call left behind.
struct Answer {
  Status status;
  std::vector<std::byte> output_bits;  // [batch_size, num_heads, head_dim], dense, in the spec's dtype
  std::vector<float> output;           // the same, widened
  std::vector<float> lse;              // [batch_size, num_heads]; empty unless asked for

  /// Bytes of output and lse of one row.
  std::vector<std::byte> row_bits(const AttentionSpec& spec, int64_t row) const;
};

/// True where output and lse are equal bit for bit.
bool same_bits(const Answer& a, const Answer& b);

class Problem {
 public:
  explicit Problem(Shape shape);

  /// False where the system refused the memory.
  bool has_memory() const { return has_memory_; }
  const Shape& shape() const { return shape_; }
  const AttentionSpec& spec() const { return spec_; }
  AttentionArgs args() const;

  // For tests that make a good problem bad.
  AttentionSpec& mutable_spec() { return spec_; }
  int32_t& table(int64_t row, int64_t column);
  int32_t& context_len(int64_t row) { return context_lens_.as<int32_t>()[row]; }

  /// Runs one implementation with inputs write-protected and output, lse and workspace full of NaN. Adds a test failure
  /// where anything is written outside the rows of output and lse, or at all by a call that fails. `workspace` is used
  /// as it is; null stands for a new one of exactly the bytes asked for.
  Answer run(const Implementation& implementation, Executor* executor = nullptr, GuardedBuffer* workspace = nullptr);

  /// quire::reference() of this problem, which must succeed.
  ReferenceResult reference() const;

 private:
  void set_spec();
  void allocate();
  void fill_tables();
  void fill_caches();
  void fill_query();
  Answer collect(Status status);
  int64_t row_key(int64_t row) const;

  Shape shape_;
  AttentionSpec spec_;
  std::vector<int32_t> physical_blocks_;  // [batch_size, max_blocks_per_seq], live entries
  bool has_memory_ = false;
  GuardedBuffer query_, k_cache_, v_cache_, block_tables_, context_lens_, output_, lse_;
};

/// Why this implementation cannot be tried on this problem here, or an empty string.
std::string reason_to_skip(const Implementation& implementation, const Problem& problem, Executor* executor = nullptr);

}  // namespace quire::test
