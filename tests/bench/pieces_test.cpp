#include "bench/pieces.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "bench/clock.h"
#include "bench/cold.h"
#include "bench/limits.h"
#include "bench/read_kernels.h"
#include "bench/traffic.h"
#include "tests/bench/case_memory.h"

namespace quire::bench {
namespace {

std::vector<Piece> whole(const HostBuffer& buffer) { return {{buffer.data(), buffer.bytes()}}; }

// How often the pieces name each byte of a buffer.
std::vector<int> times_named(std::span<const Piece> pieces, const HostBuffer& buffer) {
  std::vector<int> times(buffer.bytes(), 0);
  for (const Piece& piece : pieces) {
    if (piece.data < buffer.data() || piece.data >= buffer.data() + buffer.bytes()) continue;
    const auto first = static_cast<size_t>(piece.data - buffer.data());
    for (size_t i = 0; i < piece.bytes; ++i) ++times.at(first + i);
  }
  return times;
}

TEST(PagedPieces, name_exactly_the_live_memory) {
  for (const Workload& w : irregular_workloads()) {
    const Result<Case> c = generate_unfilled(w, 0);
    const std::vector<Piece> pieces = paged_pieces(*c);
    for (const bool keys : {true, false}) {
      const HostBuffer& cache = keys ? c->k_cache : c->v_cache;
      const std::vector<bool> live = live_elements(*c, cache, keys ? c->spec.k_strides : c->spec.v_strides);
      const std::vector<int> times = times_named(pieces, cache);
      const auto element = static_cast<size_t>(size_of(w.kv_dtype));
      for (size_t i = 0; i < times.size(); ++i) {
        ASSERT_EQ(times[i] > 0, live[i / element]) << "byte " << i;
        if (!w.shared_blocks) {
          ASSERT_LE(times[i], 1) << "byte " << i;
        }
      }
    }
  }
}

TEST(PagedPieces, have_the_bytes_that_traffic_counts) {
  for (const Workload& w : irregular_workloads()) {
    const Result<Case> c = generate_unfilled(w, 1);
    const Traffic traffic = traffic_of(c->spec, c->table_row(0), c->context_lens_data());
    EXPECT_EQ(total_bytes(paged_pieces(*c)), static_cast<size_t>(traffic.kv_bytes));
  }
}

TEST(Cut, keeps_order_and_memory) {
  const Result<Case> c = generate_unfilled(ragged_workload(), 0);
  const std::vector<Piece> pieces = paged_pieces(*c);
  for (const size_t most_bytes : {size_t{1}, size_t{100}, size_t{1} << 20}) {
    const std::vector<Piece> parts = cut(pieces, most_bytes);
    EXPECT_EQ(total_bytes(parts), total_bytes(pieces));
    auto part = parts.begin();
    for (const Piece& piece : pieces) {
      for (size_t at = 0; at < piece.bytes; at += part++->bytes) {
        ASSERT_EQ(part->data, piece.data + at);
        ASSERT_LE(part->bytes, most_bytes);
      }
    }
  }
}

TEST(SplitEvenly, keeps_order_and_loses_nothing) {
  const Result<Case> c = generate_unfilled(ragged_workload(), 0);
  const std::vector<Piece> pieces = paged_pieces(*c);
  for (const int parts : {1, 2, 3, 7, 64}) {
    const std::vector<std::span<const Piece>> runs = split_evenly(pieces, parts);
    ASSERT_EQ(runs.size(), static_cast<size_t>(parts));
    const Piece* next = pieces.data();
    for (const auto& run : runs) {
      EXPECT_EQ(run.data(), next);
      next += run.size();
    }
    EXPECT_EQ(next, pieces.data() + pieces.size());
  }
}

TEST(SplitEvenly, gives_each_thread_about_as_much) {
  const HostBuffer buffer = HostBuffer::allocate(1'000'000);
  const std::vector<Piece> pieces = cut(whole(buffer), 4096);
  EXPECT_EQ(total_bytes(pieces), buffer.bytes());
  for (const auto& run : split_evenly(pieces, 8)) {
    EXPECT_NEAR(static_cast<double>(total_bytes(run)), 1e6 / 8, 4096);
  }
}

TEST(ReadKernels, are_at_least_four_of_different_names) {
  std::map<std::string, int> names;
  for (const ReadKernel& kernel : read_kernels()) ++names[kernel.name];
  EXPECT_GE(names.size(), 4U);
  EXPECT_EQ(names.size(), read_kernels().size());
}

// A kernel that skipped bytes would make a floor that nothing can reach: each byte must have its say in the result.
TEST(ReadKernels, read_every_byte) {
  constexpr size_t kBytes = 1'237;  // no multiple of a vector or a line
  const HostBuffer buffer = HostBuffer::allocate(kBytes);
  for (const size_t piece_bytes : {size_t{3}, size_t{64}, size_t{100}, size_t{512}, kBytes}) {
    const std::vector<Piece> pieces = cut(whole(buffer), piece_bytes);
    std::fill_n(buffer.data(), kBytes, std::byte{0});
    for (const ReadKernel& kernel : read_kernels()) {
      const uint64_t before = kernel.read(pieces);
      for (size_t i = 0; i < kBytes; ++i) {
        buffer.data()[i] = std::byte{1};
        ASSERT_NE(kernel.read(pieces), before) << kernel.name << ", byte " << i << ", pieces of " << piece_bytes;
        buffer.data()[i] = std::byte{0};
      }
    }
  }
}

TEST(ReadKernels, take_an_empty_list) {
  for (const ReadKernel& kernel : read_kernels()) EXPECT_EQ(kernel.read({}), 0U) << kernel.name;
}

TEST(Evictor, changes_no_byte) {
  ThreadPool pool(2);
  for (const Workload& w : irregular_workloads()) {
    const Result<Case> c = generate(w, 0, pool);
    const uint64_t hash = hash_inputs(*c, pool);
    Evictor(pool).evict(paged_pieces(*c));
    EXPECT_EQ(hash_inputs(*c, pool), hash);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The shortest of many reads of 200 kB, each after `prepare`: it has the least of what else the machine does in it.
template <typename Prepare>
double shortest_read_us(std::span<const Piece> pieces, ThreadPool& pool, Prepare&& prepare) {
  const ThreadedRead read("", read_kernels().front(), pieces, 1, pool);
  double shortest = 1e9;
  for (int i = 0; i < 100; ++i) {
    prepare();
    const double start = now_us();
    read.run();
    shortest = std::min(shortest, now_us() - start);
  }
  return shortest;
}

TEST(Evictor, what_is_evicted_takes_longer_to_read) {
  ThreadPool pool(1);
  const HostBuffer buffer = allocate_written(200'000, pool);
  const std::vector<Piece> pieces = whole(buffer);
  Evictor evictor(pool);
  const double evicted_us = shortest_read_us(pieces, pool, [&] { evictor.evict(pieces); });
  const double displaced_us = shortest_read_us(pieces, pool, [&] { evictor.evict({}); });
  const double hot_us = shortest_read_us(pieces, pool, [] {});
  EXPECT_GT(displaced_us, hot_us);
  if (sysconf(_SC_LEVEL3_CACHE_SIZE) < 8 << 20) GTEST_SKIP() << "no large L3 that would keep what is not flushed";
  EXPECT_GT(evicted_us, 1.2 * displaced_us);
}
#endif

TEST(Evictor, names_its_method) { EXPECT_STRNE(Evictor::method(), ""); }

TEST(MultiplyAdds, are_counted_a_lane_each) {
  float sink = 0;
  const int64_t one = multiply_add_rounds(1, sink);
  EXPECT_GT(one, 0);
  EXPECT_EQ(multiply_add_rounds(10, sink), 10 * one);
  ThreadPool pool(2);
  EXPECT_GT(peak_multiply_adds_per_us(pool), 0);
}

}  // namespace
}  // namespace quire::bench
