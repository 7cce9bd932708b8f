#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/clock.h"
#include "bench/cold.h"
#include "bench/disturbance.h"
#include "bench/floors.h"
#include "bench/limits.h"
#include "bench/parallel.h"
#include "bench/stats.h"
#include "bench/stopping.h"
#include "bench/traffic.h"

namespace quire::bench {
namespace {

constexpr double kWarmupShare = 0.02;     // of the budget, at most, for the warm-up calls of one subject
constexpr double kColdShare = 0.6;        // of the budget, where both cold and hot are measured
constexpr double kImpossibleShare = 0.9;  // of the floor: what takes less did not read its bytes from memory

// What a cold call must find in no cache: everything decode reads.
std::vector<Piece> pieces_read(const Case& c) {
  std::vector<Piece> pieces = paged_pieces(c);
  for (const HostBuffer* buffer : {&c.query, &c.block_tables, &c.context_lens}) {
    if (buffer->bytes() > 0) pieces.push_back({buffer->data(), buffer->bytes()});
  }
  return pieces;
}

Traffic traffic_of(const Case& c) { return quire::bench::traffic_of(c.spec, c.table_row(0), c.context_lens_data()); }

class Measurement {
 public:
  Measurement(Checker& checker, std::vector<MeasuredSubject>& subjects, const MeasureOptions& options,
              Executor& executor, CallObserver& observer)
      : checker_(checker),
        subjects_(subjects),
        options_(options),
        executor_(executor),
        observer_(observer),
        traffic_(traffic_of(checker.sets().front())),
        evictor_(executor),
        floor_reads_(checker.sets(), traffic_.kv_bytes, executor, evictor_),
        cold_us_(subjects.size()),
        hot_us_(subjects.size()) {
    for (const Case& c : checker.sets()) read_by_calls_.push_back(pieces_read(c));
  }

  Floors run(const std::string& baseline) {
    Floors floors;
    floors.fma_per_us = peak_multiply_adds_per_us(executor_);
    floors.fma_floor_us = static_cast<double>(traffic_.multiply_adds) / floors.fma_per_us;
    const ProcessorTime begin = ProcessorTime::now();
    warm_up();
    if (options_.cold) {
      run_rounds("cold", options_.hot ? kColdShare : 1, cold_us_, true,
                 [&](size_t subject, size_t set) { return cold_sample(subject, set); });
    }
    if (options_.hot) {
      run_rounds("hot", options_.cold ? 1 - kColdShare : 1, hot_us_, !options_.cold,
                 [&](size_t subject, size_t set) { return hot_sample(subject, set); });
    }
    floors.steal_share = stolen_share(begin, ProcessorTime::now());
    floor_reads_.summarise(floors);
    summarise(baseline, floors);
    return floors;
  }

 private:
  bool still_right(size_t subject) const { return subjects_[subject].wrong.empty(); }

  // The time of one call. What must be in cache before it, what must not, and that all threads are awake is the
  // caller's to arrange.
  double time_call(size_t subject, size_t set) {
    MeasuredSubject& measured = subjects_[subject];
    const Case& c = checker_.sets()[set];
    const int64_t switches = involuntary_switches();
    observer_.begin(subject);
    const double start = now_us();
    const Status status =
        run_implementation(*measured.subject.implementation, c.spec, c.args, measured.subject.execution);
    const double elapsed = now_us() - start;
    observer_.end(subject);
    measured.timing.involuntary_switches += involuntary_switches() - switches;
    if (!status.ok()) measured.wrong = "while timed: " + status.message();
    return elapsed;
  }

  void compare_output(size_t subject, size_t set) {
    if (!still_right(subject)) return;
    const Verdict verdict = compare(checker_.sets()[set], checker_.expected(set));
    if (!verdict.right) subjects_[subject].wrong = "while timed: " + verdict.reason;
  }

  double cold_sample(size_t subject, size_t set) {
    poison_output(checker_.sets()[set]);
    evictor_.evict(read_by_calls_[set]);
    const double elapsed = time_call(subject, set);
    compare_output(subject, set);
    return elapsed;
  }

  double hot_sample(size_t subject, size_t set) {
    (void)time_call(subject, set);
    poison_output(checker_.sets()[set]);
    on_every_thread(executor_, [](int64_t) {});
    const double elapsed = time_call(subject, set);
    compare_output(subject, set);
    return elapsed;
  }

  void warm_up() {
    const double budget_us = kWarmupShare * options_.budget_s * 1e6;
    for (size_t i = 0; i < subjects_.size(); ++i) {
      observer_.prepare(i, "warm-up");
      double spent = 0;
      for (int64_t n = 0; n < options_.warmup && spent < budget_us && still_right(i); ++n) spent += time_call(i, 0);
    }
  }

  // Rounds until the rule says stop. Each takes all subjects, and the reads, in turn, starting one further than the
  // last did, on the next set.
  template <typename Sample>
  void run_rounds(const char* temperature, double budget_share, std::vector<std::vector<double>>& samples,
                  bool with_floors, Sample&& sample) {
    StoppingRule rule(options_, budget_share * options_.budget_s * 1e6);
    const size_t slots = subjects_.size() + (with_floors ? floor_reads_.size() : 0);
    const double start = now_us();
    for (size_t round = 0; !rule.done(static_cast<int64_t>(round), now_us() - start, right_ones(samples)); ++round) {
      const std::string purpose = fmt::format("{} round {}", temperature, round + 1);
      const size_t set = round % checker_.sets().size();
      for (size_t k = 0; k < slots; ++k) {
        const size_t slot = (round + k) % slots;
        if (slot >= subjects_.size()) {
          floor_reads_.sample(slot - subjects_.size(), set);
        } else if (still_right(slot)) {
          observer_.prepare(slot, purpose);
          samples[slot].push_back(sample(slot, set));
        }
      }
      if (right_ones(samples).empty()) break;
    }
    for (MeasuredSubject& measured : subjects_) {
      // The times that lead, cold where there are both, say why they are no more.
      if (measured.timing.stopped_by.empty()) measured.timing.stopped_by = rule.reason();
    }
  }

  std::vector<const std::vector<double>*> right_ones(const std::vector<std::vector<double>>& samples) const {
    std::vector<const std::vector<double>*> series;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (still_right(i)) series.push_back(&samples[i]);
    }
    return series;
  }

  void summarise(const std::string& baseline, const Floors& floors) {
    const size_t base = baseline_index(baseline);
    for (size_t i = 0; i < subjects_.size(); ++i) {
      if (!still_right(i)) continue;
      Timing& timing = subjects_[i].timing;
      fill(cold_us_, i, base, timing.cold, timing.cold_speedup);
      fill(hot_us_, i, base, timing.hot, timing.hot_speedup);
      if (floors.best_stream.empty()) continue;
      const double floor_us = floors.floor_us.median;
      timing.impossible = timing.cold.has_value() && timing.cold->us.high < kImpossibleShare * floor_us;
      timing.from_cache = timing.hot.has_value() && timing.hot->us.median < floor_us;
    }
  }

  // Of the baseline that was asked for, else of the first subject that is right; subjects_.size() where there is none.
  size_t baseline_index(const std::string& baseline) const {
    for (size_t i = 0; i < subjects_.size(); ++i) {
      if (still_right(i) && (baseline.empty() || baseline == subjects_[i].subject.implementation->name)) return i;
    }
    return subjects_.size();
  }

  static void fill(const std::vector<std::vector<double>>& samples, size_t i, size_t base,
                   std::optional<Series>& series, std::optional<Interval>& speedup) {
    if (samples[i].empty()) return;
    series = Series{.samples_us = samples[i], .us = median_interval(samples[i])};
    if (base < samples.size()) speedup = median_ratio(samples[base], samples[i]);
  }

  Checker& checker_;
  std::vector<MeasuredSubject>& subjects_;
  const MeasureOptions& options_;
  Executor& executor_;
  CallObserver& observer_;
  Traffic traffic_;
  Evictor evictor_;
  FloorReads floor_reads_;
  std::vector<std::vector<Piece>> read_by_calls_;      // of each set: all that a call reads
  std::vector<std::vector<double>> cold_us_, hot_us_;  // [subject][sample]
};

}  // namespace

Floors measure(Checker& checker, std::vector<MeasuredSubject>& subjects, const MeasureOptions& options,
               const std::string& baseline, Executor& executor, CallObserver& observer) {
  return Measurement(checker, subjects, options, executor, observer).run(baseline);
}

}  // namespace quire::bench
