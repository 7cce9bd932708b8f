#include "bench/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "bench/cold.h"
#include "bench/limits.h"
#include "bench/stats.h"
#include "bench/stopping.h"
#include "bench/traffic.h"

namespace quire::bench {
namespace {

constexpr double kWarmupShare = 0.02;       // of the budget, for the warm-up calls of one subject
constexpr double kColdShare = 0.6;          // of the budget, where both cold and hot are measured
constexpr double kImpossibleShare = 0.9;    // of the floor: what is faster did not read its bytes
constexpr size_t kStreamPieceBytes = 4096;  // a contiguous buffer is read in pieces so that kernels can run ahead

int64_t involuntary_switches() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// Processor time of the whole machine, in ticks: all of it, and what the hypervisor took.
struct ProcessorTime {
  int64_t total = 0, steal = 0;

  static ProcessorTime now() {
    ProcessorTime time;
    std::ifstream file("/proc/stat");
    std::string line;
    if (!std::getline(file, line)) return time;
    std::istringstream fields(line.substr(std::min<size_t>(line.size(), 3)));
    int64_t ticks = 0;
    for (int i = 0; i < 8 && fields >> ticks; ++i) {
      time.total += ticks;
      if (i == 7) time.steal = ticks;
    }
    return time;
  }
};

// What a cold call must find in no cache: everything decode reads.
std::vector<Piece> pieces_read(const Case& c) {
  std::vector<Piece> pieces = paged_pieces(c);
  for (const HostBuffer* buffer : {&c.query, &c.block_tables, &c.context_lens}) {
    if (buffer->bytes() > 0) pieces.push_back({buffer->data(), buffer->bytes()});
  }
  return pieces;
}

// Samples of a read kernel over a list of pieces.
struct TimedRead {
  ThreadedRead read;
  const std::vector<Piece>* pieces;
  std::vector<double> samples_us = {};
};

class Measurement {
 public:
  Measurement(Checker& checker, std::vector<MeasuredSubject>& subjects, const MeasureOptions& options,
              Executor& executor, const CallHooks& hooks)
      : checker_(checker), subjects_(subjects), options_(options), executor_(executor), hooks_(hooks) {
    for (const Case& c : checker.sets()) {
      paged_.push_back(paged_pieces(c));
      read_by_calls_.push_back(pieces_read(c));
    }
    const Case& first = checker.sets().front();
    traffic_ = traffic_of(first.spec, first.table_row(0), first.context_lens_data());
    cold_us_.resize(subjects.size());
    hot_us_.resize(subjects.size());
  }

  Floors run(const std::string& baseline) {
    Floors floors;
    floors.fma_per_us = peak_multiply_adds_per_us(executor_);
    floors.fma_floor_us = static_cast<double>(traffic_.multiply_adds) / floors.fma_per_us;
    const ProcessorTime before = ProcessorTime::now();
    warm_up();
    if (options_.cold) run_cold_rounds(floors);
    if (options_.hot) run_hot_rounds();
    const ProcessorTime after = ProcessorTime::now();
    if (after.total > before.total) {
      floors.steal_share =
          static_cast<double>(after.steal - before.steal) / static_cast<double>(after.total - before.total);
    }
    summarise(baseline, floors);
    return floors;
  }

 private:
  // One timed call on a set. A wrong output ends the subject's measurement.
  double timed_call(size_t i, size_t set) {
    MeasuredSubject& measured = subjects_[i];
    Case& c = checker_.sets()[set];
    const int64_t switches = involuntary_switches();
    hooks_.begin(i);
    const double start = now_us();
    const Status status = run_implementation(*measured.subject.implementation, c.spec, c.args, measured.subject.execution);
    const double elapsed = now_us() - start;
    hooks_.end();
    measured.timing.involuntary_switches += involuntary_switches() - switches;
    if (!status.ok()) {
      measured.wrong = "while timed: " + status.message();
    } else if (const Verdict verdict = compare(c, checker_.expected(set)); !verdict.right) {
      measured.wrong = "while timed: " + verdict.reason;
    }
    return elapsed;
  }

  void warm_up() {
    const double budget_us = kWarmupShare * options_.budget_s * 1e6;
    for (size_t i = 0; i < subjects_.size(); ++i) {
      hooks_.progress(fmt::format("warm-up: {}", subjects_[i].subject.implementation->name));
      double spent = 0;
      for (int64_t n = 0; n < options_.warmup && spent < budget_us && subjects_[i].wrong.empty(); ++n) {
        poison_output(checker_.sets().front());
        spent += timed_call(i, 0);
      }
    }
  }

  void run_cold_rounds(Floors& floors) {
    stream_buffer_ = HostBuffer::allocate(static_cast<size_t>(traffic_.kv_bytes));
    std::fill_n(stream_buffer_.data(), stream_buffer_.bytes(), std::byte{0x3C});
    stream_ = contiguous_pieces(stream_buffer_.data(), stream_buffer_.bytes(), kStreamPieceBytes);
    std::vector<TimedRead> stream_reads;
    std::vector<std::vector<TimedRead>> paged_reads;  // [kernel][set]
    for (const ReadKernel& kernel : read_kernels()) {
      stream_reads.push_back({ThreadedRead(kernel, stream_, executor_), &stream_});
      std::vector<TimedRead>& sets = paged_reads.emplace_back();
      for (const std::vector<Piece>& pieces : paged_) sets.push_back({ThreadedRead(kernel, pieces, executor_), &pieces});
    }
    run_rounds("cold", options_.hot ? kColdShare : 1.0, cold_us_, [&](size_t slot, size_t set) {
      const size_t reads = stream_reads.size();
      if (slot < subjects_.size()) {
        sample(slot, set, cold_us_[slot], true);
      } else if (slot < subjects_.size() + reads) {
        time_read(stream_reads[slot - subjects_.size()]);
      } else {
        TimedRead& read = paged_reads[slot - subjects_.size() - reads][set];
        time_read(read);
      }
    });
    for (const TimedRead& read : stream_reads) floors.stream[read.read.name()].samples_us = read.samples_us;
    for (const std::vector<TimedRead>& sets : paged_reads) {
      std::vector<double>& all = floors.paged[sets.front().read.name()].samples_us;
      for (const TimedRead& read : sets) all.insert(all.end(), read.samples_us.begin(), read.samples_us.end());
    }
  }

  void run_hot_rounds() {
    run_rounds("hot", options_.cold ? 1.0 - kColdShare : 1.0, hot_us_,
               [&](size_t slot, size_t set) {
                 if (slot < subjects_.size()) sample(slot, set, hot_us_[slot], false);
               });
  }

  // Rounds until the rule says stop. Each visits all slots, starting one further than the last, with the next set.
  template <typename Visit>
  void run_rounds(const char* temperature, double budget_share, std::vector<std::vector<double>>& samples,
                  Visit&& visit) {
    StoppingRule rule(options_, budget_share * options_.budget_s * 1e6);
    const size_t slots = subjects_.size() + 2 * read_kernels().size();
    const double start = now_us();
    for (int64_t round = 0;; ++round) {
      std::vector<const std::vector<double>*> series;
      for (size_t i = 0; i < subjects_.size(); ++i) {
        if (subjects_[i].wrong.empty()) series.push_back(&samples[i]);
      }
      if (series.empty() || rule.done(round, now_us() - start, series)) break;
      const auto first = static_cast<size_t>(round);
      for (size_t k = 0; k < slots; ++k) {
        const size_t slot = (first + k) % slots;
        if (slot < subjects_.size()) {
          if (!subjects_[slot].wrong.empty()) continue;
          hooks_.progress(fmt::format("{} round {}: {}", temperature, round + 1,
                                      subjects_[slot].subject.implementation->name));
        }
        visit(slot, first % checker_.sets().size());
      }
    }
    for (MeasuredSubject& measured : subjects_) measured.timing.stopped_by = rule.reason();
  }

  void sample(size_t i, size_t set, std::vector<double>& samples, bool cold) {
    Case& c = checker_.sets()[set];
    if (!cold) {
      poison_output(c);
      (void)timed_call(i, set);
      if (!subjects_[i].wrong.empty()) return;
    }
    poison_output(c);
    if (cold) evict(read_by_calls_[set], executor_);
    const double elapsed = timed_call(i, set);
    if (subjects_[i].wrong.empty()) samples.push_back(elapsed);
  }

  void time_read(TimedRead& read) {
    evict(*read.pieces, executor_);
    const double start = now_us();
    read.read.run();
    read.samples_us.push_back(now_us() - start);
  }

  // Medians, intervals and flags, from the samples.
  void summarise(const std::string& baseline, Floors& floors) {
    for (auto* kernels : {&floors.stream, &floors.paged}) {
      std::string& best = kernels == &floors.stream ? floors.best_stream : floors.best_paged;
      Interval& floor = kernels == &floors.stream ? floors.floor_us : floors.paged_floor_us;
      for (auto& [name, series] : *kernels) {
        if (series.samples_us.empty()) continue;
        series.us = median_interval(series.samples_us);
        if (!best.empty() && series.us.median >= floor.median) continue;
        best = name;
        floor = series.us;
      }
    }
    const size_t base = baseline_index(baseline);
    for (size_t i = 0; i < subjects_.size(); ++i) {
      Timing& timing = subjects_[i].timing;
      if (!subjects_[i].wrong.empty()) continue;
      fill(cold_us_, i, base, timing.cold, timing.cold_speedup);
      fill(hot_us_, i, base, timing.hot, timing.hot_speedup);
      if (floors.best_stream.empty()) continue;
      timing.impossible = timing.cold.has_value() && timing.cold->us.high < kImpossibleShare * floors.floor_us.median;
      timing.from_cache = timing.hot.has_value() && timing.hot->us.median < floors.floor_us.median;
    }
  }

  size_t baseline_index(const std::string& baseline) const {
    size_t first_right = 0;
    while (first_right < subjects_.size() && !subjects_[first_right].wrong.empty()) ++first_right;
    for (size_t i = 0; i < subjects_.size(); ++i) {
      if (subjects_[i].wrong.empty() && baseline == subjects_[i].subject.implementation->name) return i;
    }
    return baseline.empty() ? first_right : subjects_.size();
  }

  void fill(const std::vector<std::vector<double>>& samples, size_t i, size_t base, std::optional<Series>& series,
            std::optional<Interval>& speedup) const {
    if (samples[i].empty()) return;
    series = Series{.samples_us = samples[i], .us = median_interval(samples[i])};
    if (base < samples.size() && samples[base].size() == samples[i].size()) {
      speedup = median_ratio(samples[base], samples[i]);
    }
  }

  Checker& checker_;
  std::vector<MeasuredSubject>& subjects_;
  const MeasureOptions& options_;
  Executor& executor_;
  const CallHooks& hooks_;
  Traffic traffic_;
  std::vector<std::vector<Piece>> paged_;          // of each set: its live keys and values
  std::vector<std::vector<Piece>> read_by_calls_;  // of each set: all that a call reads
  HostBuffer stream_buffer_;
  std::vector<Piece> stream_;
  std::vector<std::vector<double>> cold_us_, hot_us_;  // [subject][sample]
};

}  // namespace

Floors measure(Checker& checker, std::vector<MeasuredSubject>& subjects, const MeasureOptions& options,
               const std::string& baseline, Executor& executor, const CallHooks& hooks) {
  return Measurement(checker, subjects, options, executor, hooks).run(baseline);
}

}  // namespace quire::bench
