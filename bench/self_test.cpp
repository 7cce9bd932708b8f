#include "bench/self_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/faults.h"

namespace quire::bench {
namespace {

constexpr DType kDTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr double kTimeoutS = 60;  // of a call in a problem where nothing should hang

// What each fault that breaks more than its result must come to; the honest rows beside it stay right.
struct Breakage {
  const char* fault;
  const char* verdict;
};
constexpr Breakage kBreakages[] = {{"null-read", "CRASH"},    {"abort", "CRASH"},      {"endless-loop", "TIMEOUT"},
                                   {"dead-slots-read", "NO"}, {"input-written", "NO"}, {"first-result-replayed", "NO"}};

// One long sequence, a shorter ragged one and an empty one.
Workload workload_of(DType dtype, int64_t block_size, int64_t context) {
  Workload w;
  w.context_lens = {context, std::min<int64_t>(context, 1'900), 0};
  w.batch_size = 3;
  w.seq_len = context;
  w.num_heads = 4;
  w.num_kv_heads = 2;
  w.head_dim = 64;
  w.block_size = block_size;
  w.dtype = w.kv_dtype = dtype;
  return w;
}

std::vector<std::string> honest_names() {
  std::vector<std::string> names;
  for (const Implementation* implementation : implementations()) {
    if (implementation->backend == DeviceKind::kCpu) names.emplace_back(implementation->name);
  }
  return names;
}

// What became of faults and honest implementations so far.
class Tally {
 public:
  // The first `honest` rows must be right; each other row, a fault's, must have the verdict due to it.
  template <typename VerdictDue>
  void add(const std::vector<Row>& rows, size_t honest, const std::string& problem, VerdictDue&& due) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      const std::string_view expected = i < honest ? "yes" : due(row.implementation);
      const char mark = row.verdict == expected ? '+' : row.verdict == "SKIP" ? '-' : '!';
      if (mark == '!') {
        complaints_.push_back(fmt::format("{}: {} came out as {}, must be {} {}", problem, row.implementation,
                                          row.verdict, expected, row.reason));
      }
      if (i < honest) continue;
      if (mark == '-') not_applicable_.insert(row.implementation + ": " + row.reason);
      marks_[row.implementation] += mark;
    }
  }

  const std::vector<std::string>& complaints() const { return complaints_; }
  const std::set<std::string>& not_applicable() const { return not_applicable_; }
  const std::string& marks(const std::string& fault) const { return marks_.at(fault); }

  /// Faults with at least one problem that showed them and none that missed them.
  int64_t caught() const {
    return std::count_if(marks_.begin(), marks_.end(), [](const auto& entry) {
      return entry.second.find('!') == std::string::npos && entry.second.find('+') != std::string::npos;
    });
  }
  size_t faults() const { return marks_.size(); }

 private:
  std::map<std::string, std::string> marks_;  // fault -> a character a problem: '+' caught, '-' n/a, '!' missed
  std::vector<std::string> complaints_;
  std::set<std::string> not_applicable_;
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class SelfTest {
 public:
  SelfTest(const SelfTestOptions& options, std::FILE* out, const JobEvents& events)
      : options_(options), out_(out), events_(events) {
    block_sizes_ = options.reduced ? std::vector<int64_t>{16} : std::vector<int64_t>{1, 16};
    contexts_ = options.reduced ? std::vector<int64_t>{17, 2'048} : std::vector<int64_t>{17, 2'048, 32'768, 131'072};
  }

  int run() {
    const double start = seconds();
    fmt::print(out_, "Planted faults against the checker: 4/2 heads, head_dim 64, one long sequence in three\n");
    for (const int64_t block_size : block_sizes_) {
      for (const int64_t context : contexts_) {
        for (const DType dtype : kDTypes) run_faults(dtype, block_size, context);
      }
    }
    if (!interrupted()) run_breakages();
    if (interrupted()) return 130;
    print_table();
    for (const std::string& reason : tally_.not_applicable()) fmt::print(out_, "  n/a  {}\n", reason);
    for (const std::string& complaint : tally_.complaints()) fmt::print(out_, "  {}\n", complaint);
    const auto caught = static_cast<size_t>(tally_.caught());
    fmt::print(out_, "self-test: {} of {} faults caught, {} ({:.0f} s)\n", caught, tally_.faults(),
               tally_.complaints().empty() ? "honest implementations right everywhere" : "see above",
               seconds() - start);
    return tally_.complaints().empty() && caught == tally_.faults() ? 0 : 2;
  }

 private:
  std::vector<Row> run_all(const Workload& workload, const std::vector<std::string>& faults, double timeout_s) {
    Job job;
    job.workload = workload;
    job.implementations = honest_;
    job.implementations.insert(job.implementations.end(), faults.begin(), faults.end());
    job.depth = CheckDepth::kFull;
    job.threads = options_.threads;
    job.with_faults = true;
    return run_job(job, timeout_s, events_);
  }

  void run_faults(DType dtype, int64_t block_size, int64_t context) {
    if (interrupted()) return;
    const double start = seconds();
    const std::string problem = fmt::format("block_size {}, context {}, {}", block_size, context, name_of(dtype));
    std::vector<std::string> names;
    for (const Implementation* fault : faults()) names.emplace_back(fault->name);
    const size_t complaints = tally_.complaints().size();
    tally_.add(run_all(workload_of(dtype, block_size, context), names, kTimeoutS), honest_.size(), problem,
               [](const std::string&) { return "NO"; });
    print_problem(problem, tally_.complaints().size() - complaints, start);
  }

  void run_breakages() {
    const double start = seconds();
    std::vector<std::string> names;
    for (const Breakage& breakage : kBreakages) names.emplace_back(breakage.fault);
    const auto due = [](const std::string& fault) {
      return std::find_if(std::begin(kBreakages), std::end(kBreakages),
                          [&](const Breakage& breakage) { return fault == breakage.fault; })
          ->verdict;
    };
    const size_t complaints = tally_.complaints().size();
    tally_.add(run_all(workload_of(DType::kF16, 16, 1'001), names, options_.reduced ? 20 : 2), honest_.size(),
               "isolation", due);
    print_problem("isolation: crash, abort, hang, writes", tally_.complaints().size() - complaints, start);
  }

  void print_problem(const std::string& problem, size_t complaints, double start) {
    const std::string outcome = complaints == 0 ? "all caught" : fmt::format("{} WRONG", complaints);
    fmt::print(out_, "  {:<44}{:<12}{:6.1f} s\n", problem, outcome, seconds() - start);
    std::fflush(out_);
  }

  // A line a fault, a cell a block size and context, a mark a type.
  void print_table() {
    std::string blocks, contexts;
    for (const int64_t block_size : block_sizes_) {
      blocks += fmt::format("{:<{}}", fmt::format("block_size {}", block_size), 8 * contexts_.size());
      for (const int64_t context : contexts_) contexts += fmt::format("{:<8}", context);
    }
    fmt::print(out_, "\n{:<26}{}\n{:<26}{}\n", "", blocks, "fault", contexts);
    for (const Implementation* fault : faults()) {
      std::string cells;
      const std::string& marks = tally_.marks(fault->name);
      for (size_t i = 0; i < block_sizes_.size() * contexts_.size(); ++i) {
        cells += fmt::format("{:<8}", marks.substr(i * std::size(kDTypes), std::size(kDTypes)));
      }
      fmt::print(out_, "{:<26}{}\n", fault->name, cells);
    }
    fmt::print(out_, "a mark each for fp32, fp16, bf16:  + caught   - n/a   ! MISSED\n\n");
  }

  SelfTestOptions options_;
  std::FILE* out_;
  const JobEvents& events_;
  std::vector<int64_t> block_sizes_, contexts_;
  std::vector<std::string> honest_ = honest_names();
  Tally tally_;
};

}  // namespace

int run_self_test(const SelfTestOptions& options, std::FILE* out, const JobEvents& events) {
  return SelfTest(options, out, events).run();
}

}  // namespace quire::bench
