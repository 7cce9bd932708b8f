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

using Print = std::function<void(const std::string& text)>;

constexpr DType kDTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
// Above this the honest rows are fewer and checked as at a bench point, or they would take most of the time.
constexpr int64_t kLongContext = 10'000;
constexpr double kTimeoutS = 60;  // of a call where nothing should hang
constexpr double kHangS = 2;      // where something must
constexpr double kReducedHangS = 20;

// Faults that break more than their result, and what each must come to.
struct Breakage {
  const char* fault;
  const char* verdict;
};
constexpr Breakage kBreakages[] = {{"null-read", "CRASH"},    {"abort", "CRASH"},      {"endless-loop", "TIMEOUT"},
                                   {"dead-slots-read", "NO"}, {"input-written", "NO"}, {"first-result-replayed", "NO"}};

// What the row of an implementation or a fault must say.
std::string_view verdict_due(const std::string& name) {
  if (find_implementation(name) != nullptr) return "yes";
  for (const Breakage& breakage : kBreakages) {
    if (name == breakage.fault) return breakage.verdict;
  }
  return "NO";
}

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

// The honest implementations to check beside the faults; at long contexts none that pads each sequence to the longest.
std::vector<std::string> honest_names(int64_t context) {
  std::vector<std::string> names;
  for (const Implementation* implementation : implementations()) {
    if (implementation->backend != DeviceKind::kCpu) continue;
    if (context <= kLongContext || implementation->flags.bounded_workspace) names.emplace_back(implementation->name);
  }
  return names;
}

// What became of faults and honest implementations so far.
class Tally {
 public:
  void add(const std::vector<Row>& rows, const std::string& problem) {
    int64_t right = 0;
    for (const Row& row : rows) {
      const std::string_view due = verdict_due(row.implementation);
      const char mark = row.verdict == due ? '+' : row.verdict == "SKIP" ? '-' : '!';
      if (mark == '!') {
        complaints_.push_back(
            fmt::format("{}: {} is {}, must be {}: {}", problem, row.implementation, row.verdict, due, row.reason));
      }
      if (due == "yes") {
        right += mark == '+' ? 1 : 0;
        continue;
      }
      if (mark == '-') not_applicable_.insert(row.implementation + ": " + row.reason);
      marks_[row.implementation] += mark;
    }
    if (right == 0) complaints_.push_back(problem + ": no honest implementation came out right");
  }

  const std::vector<std::string>& complaints() const { return complaints_; }
  const std::set<std::string>& not_applicable() const { return not_applicable_; }
  const std::string& marks(const std::string& fault) const { return marks_.at(fault); }

  // Faults that some problem showed and none missed.
  int64_t caught() const {
    return std::count_if(marks_.begin(), marks_.end(), [](const auto& entry) {
      return entry.second.find('!') == std::string::npos && entry.second.find('+') != std::string::npos;
    });
  }
  int64_t faults() const { return static_cast<int64_t>(marks_.size()); }

 private:
  std::map<std::string, std::string> marks_;  // fault -> a character a problem: '+' caught, '-' n/a, '!' missed
  std::vector<std::string> complaints_;
  std::set<std::string> not_applicable_;
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class SelfTest {
 public:
  SelfTest(const SelfTestOptions& options, const Print& print, const JobEvents& events)
      : options_(options), print_(print), events_(events) {
    block_sizes_ = options.reduced ? std::vector<int64_t>{16} : std::vector<int64_t>{1, 16};
    contexts_ = options.reduced ? std::vector<int64_t>{17, 2'048} : std::vector<int64_t>{17, 2'048, 32'768, 131'072};
  }

  int run() {
    const double start = seconds();
    print_(
        "Planted faults against the checker. 4/2 heads, head_dim 64, three sequences: one of the context given, one of "
        "at\n"
        "most 1900 tokens, one empty.\n");
    std::vector<std::string> names;
    for (const Implementation* fault : faults()) names.emplace_back(fault->name);
    for (const int64_t block_size : block_sizes_) {
      for (const int64_t context : contexts_) {
        for (const DType dtype : kDTypes) {
          const std::string title = fmt::format("block_size {}, context {}, {}", block_size, context, name_of(dtype));
          run_problem(title, workload_of(dtype, block_size, context), names, kTimeoutS);
        }
      }
    }
    names.clear();
    for (const Breakage& breakage : kBreakages) names.emplace_back(breakage.fault);
    run_problem("isolation: crash, abort, hang, writes", workload_of(DType::kF16, 16, 1'001), names,
                options_.reduced ? kReducedHangS : kHangS);
    if (interrupted()) return 130;
    return report(seconds() - start);
  }

 private:
  void run_problem(const std::string& title, const Workload& workload, const std::vector<std::string>& faults,
                   double timeout_s) {
    if (interrupted()) return;
    const double start = seconds();
    const size_t complaints = tally_.complaints().size();
    Job job;
    job.workload = workload;
    job.implementations = honest_names(workload.seq_len);
    job.implementations.insert(job.implementations.end(), faults.begin(), faults.end());
    job.depth = workload.seq_len <= kLongContext ? CheckDepth::kFull : CheckDepth::kPoint;
    job.threads = options_.threads;
    job.with_faults = true;
    const std::vector<Row> rows = run_job(job, timeout_s, events_);
    if (interrupted()) return;
    tally_.add(rows, title);
    const size_t wrong = tally_.complaints().size() - complaints;
    const std::string outcome = wrong == 0 ? "all caught" : fmt::format("{} WRONG", wrong);
    print_(fmt::format("  {:<44}{:<12}{:6.1f} s\n", title, outcome, seconds() - start));
  }

  int report(double elapsed_s) {
    print_table();
    for (const std::string& reason : tally_.not_applicable()) print_(fmt::format("  n/a  {}\n", reason));
    for (const std::string& complaint : tally_.complaints()) print_(fmt::format("  {}\n", complaint));
    const bool passed = tally_.complaints().empty() && tally_.caught() == tally_.faults();
    print_(fmt::format("self-test: {} of {} faults caught, {} ({:.0f} s)\n", tally_.caught(), tally_.faults(),
                       passed ? "honest implementations right everywhere" : "FAILED: see above", elapsed_s));
    return passed ? 0 : 2;
  }

  // A line a fault, a cell a block size and context, a mark a type.
  void print_table() {
    std::string blocks, contexts;
    for (const int64_t block_size : block_sizes_) {
      blocks += fmt::format("{:<{}}", fmt::format("block_size {}", block_size), 8 * contexts_.size());
      for (const int64_t context : contexts_) contexts += fmt::format("{:<8}", context);
    }
    print_(fmt::format("\n{:<26}{}\n{:<26}{}\n", "", blocks, "fault", contexts));
    for (const Implementation* fault : faults()) {
      std::string cells;
      const std::string& marks = tally_.marks(fault->name);
      for (size_t i = 0; i < block_sizes_.size() * contexts_.size(); ++i) {
        cells += fmt::format("{:<8}", marks.substr(i * std::size(kDTypes), std::size(kDTypes)));
      }
      print_(fmt::format("{:<26}{}\n", fault->name, cells));
    }
    print_("a mark each for fp32, fp16, bf16:  + caught   - n/a   ! MISSED\n\n");
  }

  SelfTestOptions options_;
  const Print& print_;
  const JobEvents& events_;
  std::vector<int64_t> block_sizes_, contexts_;
  Tally tally_;
};

}  // namespace

int run_self_test(const SelfTestOptions& options, const Print& print, const JobEvents& events) {
  return SelfTest(options, print, events).run();
}

}  // namespace quire::bench
