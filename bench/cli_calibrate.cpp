// `quire calibrate`: the limits of this machine as a table.
#include <fmt/format.h>

#include "bench/calibrate.h"
#include "bench/cli.h"
#include "bench/environment.h"
#include "bench/numbers.h"
#include "bench/options.h"
#include "bench/progress.h"

namespace quire::bench {
namespace {

constexpr size_t kColumnWidth = 13;

std::string header(const Calibration& calibration) {
  std::string text = fmt::format("{}\n\nReading contiguous memory, median GB/s\n\n{:<10}{:<6}",
                                 machine_line(read_environment(), calibration.threads), "size", "");
  const size_t indent = text.size() - text.rfind('\n') - 1;
  size_t width = indent;
  for (const auto& [name, series] : calibration.reads.front().reads) {
    text += fmt::format("{:>{}}", name, kColumnWidth);
    width += kColumnWidth;
  }
  return text + '\n' + std::string(width, '-') + '\n';
}

// GB/s of each kernel; the fastest carries a star.
std::string line(const ReadCalibration& reads) {
  std::string text =
      fmt::format("{:<10}{:<6}", byte_text(static_cast<double>(reads.bytes)), reads.cold ? "cold" : "hot");
  for (const auto& [name, series] : reads.reads) {
    const double gb_per_s = static_cast<double>(reads.bytes) / series.us.median / 1e3;
    text += fmt::format("{:>{}}", fmt::format("{:.1f}{}", gb_per_s, name == reads.best ? "*" : " "), kColumnWidth);
  }
  return text + '\n';
}

std::string interval_line(const char* what, const Interval& us) {
  return fmt::format("{:<46}{:>10.2f} us ({:.2f}..{:.2f})\n", what, us.median, us.low, us.high);
}

}  // namespace

int run_calibrate(const std::vector<std::string>& args) {
  const Result<Parsed<CalibrateOptions>> parsed = parse_calibrate_options(args);
  if (!parsed.ok()) return fail("quire calibrate", parsed.status());
  if (!parsed->help.empty()) return print_out(parsed->help) ? kExitOk : kExitUsage;
  catch_interrupts();
  ProgressLine progress(!parsed->options.quiet, {1.0});
  progress.begin(0, "calibrate");
  const JobEvents events = progress.events();
  const Calibration calibration = calibrate(parsed->options.threads, events.progress);
  progress.clear();
  if (interrupted()) return kExitInterrupted;
  if (calibration.reads.empty()) {
    return fail("quire calibrate", {StatusCode::kInternal, "too little memory is available to read from"});
  }
  std::string text = header(calibration);
  for (const ReadCalibration& reads : calibration.reads) text += line(reads);
  text += fmt::format(
      "\n* the fastest: the floor of a row is the best read of as many bytes.\n"
      "Cold: evicted by {} before each read. Hot: read once before.\n\n",
      calibration.eviction_method);
  text += fmt::format("{:<46}{:>10.1f} G/s\n", "single-precision multiply-adds, in registers",
                      calibration.multiply_adds_per_us / 1e3);
  text += interval_line("handing a task to all threads, awake", calibration.handover_us);
  text += interval_line("handing a task to all threads, asleep", calibration.wake_us);
  text += fmt::format("{:<46}{:>10.3f} us\n", "reading the clock twice", calibration.clock_us);
  return print_out(text) ? kExitOk : kExitUsage;
}

}  // namespace quire::bench
