#include "bench/job_json.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace quire::bench {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Fills every field with something that no default has, from one random source.
class Randomizer {
 public:
  explicit Randomizer(uint32_t seed) : random_(seed) {}

  bool coin() { return random_() % 2 == 0; }
  int64_t number() { return static_cast<int64_t>(random_()); }
  double real() { return std::ldexp(static_cast<double>(random_()), static_cast<int>(random_() % 100) - 50); }
  std::string text() {
    const char* texts[] = {"", "cpu-naive", "a \"quoted\" word", "line\nbreak", "back\\slash", "\xc3\xa9t\xc3\xa9"};
    return texts[random_() % 6];
  }

  Workload workload() {
    Workload w;
    w.batch_size = number();
    w.seq_len = number();
    for (auto n = random_() % 4; n > 0; --n) w.context_lens.push_back(number());
    w.num_heads = number();
    w.num_kv_heads = number();
    w.head_dim = number();
    w.block_size = number();
    w.layout = coin() ? Layout::kNhd : Layout::kHnd;
    w.dtype = static_cast<DType>(random_() % 6);
    w.kv_dtype = static_cast<DType>(random_() % 6);
    w.seed = std::numeric_limits<uint64_t>::max() - random_();
    w.unmapped_blocks = coin();
    w.shared_blocks = coin();
    w.padded_strides = coin();
    return w;
  }

  Job job() {
    Job j;
    j.workload = workload();
    for (auto n = random_() % 4; n > 0; --n) j.implementations.push_back(text());
    j.baseline = text();
    j.depth = coin() ? CheckDepth::kPoint : CheckDepth::kFull;
    if (coin()) {
      MeasureOptions& m = j.measure.emplace();
      m.cold = coin();
      m.hot = coin();
      if (coin()) m.iters = number();
      m.warmup = number();
      m.ci = real();
      m.budget_s = real();
    }
    j.threads = static_cast<int>(random_() % 1000);
    j.with_faults = coin();
    return j;
  }

  Interval interval() { return {real(), real(), real()}; }
  Series series() {
    Series s;
    for (auto n = random_() % 4; n > 0; --n) s.samples_us.push_back(real());
    s.us = interval();
    return s;
  }

  Row row() {
    Row r;
    r.implementation = text();
    r.device = text();
    r.workload = workload();
    r.verdict = text();
    r.reason = text();
    if (coin()) r.max_err = std::numeric_limits<double>::infinity();
    if (coin()) r.rel_l2 = std::numeric_limits<double>::quiet_NaN();
    if (coin()) r.lse_err = -real();
    r.kv_bytes = number();
    if (coin()) r.timing = timing();
    if (coin()) r.floors = floors();
    return r;
  }

  Timing timing() {
    Timing t;
    if (coin()) t.cold = series();
    if (coin()) t.hot = series();
    if (coin()) t.cold_speedup = interval();
    if (coin()) t.hot_speedup = interval();
    t.first_call_us = real();
    t.workspace_bytes = number();
    t.stopped_by = text();
    t.impossible = coin();
    t.from_cache = coin();
    t.involuntary_switches = number();
    return t;
  }

  Floors floors() {
    Floors f;
    for (auto n = random_() % 4; n > 0; --n) f.stream[text()] = series();
    for (auto n = random_() % 4; n > 0; --n) f.paged[text()] = series();
    f.best_stream = text();
    f.best_paged = text();
    f.floor_us = interval();
    f.paged_floor_us = interval();
    f.fma_floor_us = real();
    f.fma_per_us = real();
    f.steal_share = real();
    return f;
  }

 private:
  std::mt19937 random_;
};

void expect_same(const Workload& a, const Workload& b) {
  EXPECT_EQ(a.batch_size, b.batch_size);
  EXPECT_EQ(a.seq_len, b.seq_len);
  EXPECT_EQ(a.context_lens, b.context_lens);
  EXPECT_EQ(a.num_heads, b.num_heads);
  EXPECT_EQ(a.num_kv_heads, b.num_kv_heads);
  EXPECT_EQ(a.head_dim, b.head_dim);
  EXPECT_EQ(a.block_size, b.block_size);
  EXPECT_EQ(a.layout, b.layout);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.kv_dtype, b.kv_dtype);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.unmapped_blocks, b.unmapped_blocks);
  EXPECT_EQ(a.shared_blocks, b.shared_blocks);
  EXPECT_EQ(a.padded_strides, b.padded_strides);
}

void expect_same(const std::optional<double>& a, const std::optional<double>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (a && !std::isnan(*a)) {
    EXPECT_EQ(*a, *b);
  }
  if (a) {
    EXPECT_EQ(std::isnan(*a), std::isnan(*b));
  }
}

void expect_same(const Interval& a, const Interval& b) {
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.median, b.median);
  EXPECT_EQ(a.high, b.high);
}

void expect_same(const Series& a, const Series& b) {
  EXPECT_EQ(a.samples_us, b.samples_us);
  expect_same(a.us, b.us);
}

template <typename T>
void expect_same(const std::optional<T>& a, const std::optional<T>& b);

void expect_same(const std::map<std::string, Series>& a, const std::map<std::string, Series>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, series] : a) expect_same(series, b.at(name));
}

void expect_same(const Timing& a, const Timing& b) {
  expect_same(a.cold, b.cold);
  expect_same(a.hot, b.hot);
  expect_same(a.cold_speedup, b.cold_speedup);
  expect_same(a.hot_speedup, b.hot_speedup);
  EXPECT_EQ(a.first_call_us, b.first_call_us);
  EXPECT_EQ(a.workspace_bytes, b.workspace_bytes);
  EXPECT_EQ(a.stopped_by, b.stopped_by);
  EXPECT_EQ(a.impossible, b.impossible);
  EXPECT_EQ(a.from_cache, b.from_cache);
  EXPECT_EQ(a.involuntary_switches, b.involuntary_switches);
}

void expect_same(const Floors& a, const Floors& b) {
  expect_same(a.stream, b.stream);
  expect_same(a.paged, b.paged);
  EXPECT_EQ(a.best_stream, b.best_stream);
  EXPECT_EQ(a.best_paged, b.best_paged);
  expect_same(a.floor_us, b.floor_us);
  expect_same(a.paged_floor_us, b.paged_floor_us);
  EXPECT_EQ(a.fma_floor_us, b.fma_floor_us);
  EXPECT_EQ(a.fma_per_us, b.fma_per_us);
  EXPECT_EQ(a.steal_share, b.steal_share);
}

void expect_same(const MeasureOptions& a, const MeasureOptions& b) {
  EXPECT_EQ(a.cold, b.cold);
  EXPECT_EQ(a.hot, b.hot);
  EXPECT_EQ(a.iters, b.iters);
  EXPECT_EQ(a.warmup, b.warmup);
  EXPECT_EQ(a.ci, b.ci);
  EXPECT_EQ(a.budget_s, b.budget_s);
}

template <typename T>
void expect_same(const std::optional<T>& a, const std::optional<T>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (a) expect_same(*a, *b);
}

// Through text, as it passes between processes.
json reparsed(const json& value) { return json::parse(value.dump()); }

TEST(JobJson, a_job_comes_back_as_it_was) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Job job = Randomizer(seed).job();
    const Result<Job> back = job_from_json(reparsed(to_json(job)));
    ASSERT_TRUE(back.ok()) << back.status().message();
    expect_same(job.workload, back->workload);
    EXPECT_EQ(job.implementations, back->implementations);
    EXPECT_EQ(job.baseline, back->baseline);
    EXPECT_EQ(job.depth, back->depth);
    expect_same(job.measure, back->measure);
    EXPECT_EQ(job.threads, back->threads);
    EXPECT_EQ(job.with_faults, back->with_faults);
  }
}

TEST(JobJson, a_row_comes_back_as_it_was) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Row row = Randomizer(seed).row();
    const Result<Row> back = row_from_json(reparsed(to_json(row)));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(row.implementation, back->implementation);
    EXPECT_EQ(row.device, back->device);
    expect_same(row.workload, back->workload);
    EXPECT_EQ(row.verdict, back->verdict);
    EXPECT_EQ(row.reason, back->reason);
    expect_same(row.max_err, back->max_err);
    expect_same(row.rel_l2, back->rel_l2);
    expect_same(row.lse_err, back->lse_err);
    EXPECT_EQ(row.kv_bytes, back->kv_bytes);
    expect_same(row.timing, back->timing);
    expect_same(row.floors, back->floors);
  }
}

TEST(JobJson, names_the_key_that_is_missing_or_wrong) {
  json job = to_json(Job{});
  job["workload"].erase("head_dim");
  EXPECT_THAT(job_from_json(job).status().message(), HasSubstr("head_dim"));
  job = to_json(Job{});
  job["threads"] = "two";
  EXPECT_THAT(job_from_json(job).status().message(), HasSubstr("threads"));
  EXPECT_FALSE(row_from_json(json::array()).ok());
}

}  // namespace
}  // namespace quire::bench
