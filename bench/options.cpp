// The flags of the smaller commands.
#include "bench/options.h"

#include "bench/check_matrix.h"
#include "bench/fields.h"
#include "bench/option_readers.h"
#include "bench/suggest.h"

namespace quire::bench {
namespace {

// Parses, and leaves only the reading of values to the command: `read` is not called where help was asked for.
template <typename Options>
Result<Parsed<Options>> parse_into(FlagParser& parser, const std::vector<std::string>& args, Parsed<Options>& parsed,
                                   const std::function<Status()>& read) {
  if (Status s = parser.parse(args); !s.ok()) return s;
  if (parser.help_wanted())
    parsed.help = parser.help();
  else if (Status s = read(); !s.ok())
    return s;
  return parsed;
}

Status read_dtypes(std::vector<std::string> names, std::vector<DType>& dtypes) {
  if (names.empty()) names = {"fp16", "bf16", "fp32"};
  for (const std::string& name : names) {
    Workload scratch;
    if (Status s = set_field(*find_field("dtype"), scratch, name); !s.ok()) return with_flag("--dtype", s);
    dtypes.push_back(scratch.dtype);
  }
  return {};
}

Status read_case(const std::optional<std::string>& text, std::string& case_name) {
  if (!text) return {};
  std::vector<std::string> names;
  for (const NamedWorkload& named : check_matrix(0)) {
    if (named.name.find(*text) != std::string::npos) {
      case_name = *text;
      return {};
    }
    names.push_back(named.name);
  }
  return usage_error("--case: '" + *text + "' is in no case's name" + did_you_mean(*text, names));
}

}  // namespace

Result<Parsed<ListOptions>> parse_list_options(const std::vector<std::string>& args) {
  FlagParser parser("quire list", "Shows devices and implementations, what they take, and why one is not available.",
                    "");
  Parsed<ListOptions> parsed;
  return parse_into(parser, args, parsed, [] { return Status(); });
}

Result<Parsed<CheckOptions>> parse_check_options(const std::vector<std::string>& args) {
  FlagParser parser("quire check",
                    "Runs implementations on a matrix of small, awkward problems (ragged, unmapped, empty, shared,\n"
                    "strided, odd shapes) and says of each whether the result is right. Nothing is timed.",
                    "Examples:\n"
                    "  quire check --impl cpu-chunked --dtype bf16\n"
                    "  quire check --case head_dim");
  Parsed<CheckOptions> parsed;
  RunFlags run;
  std::vector<std::string> dtypes;
  std::optional<std::string> case_name;
  run.add_implementations(parser, "implementations; default: all");
  parser.add_list("--dtype", {kWhatRuns, "NAME...", "element types: fp16, bf16, fp32; default: all"}, dtypes);
  parser.add_value("--case", {kWhatRuns, "TEXT", "only cases with this in their name"}, case_name);
  run.add_device(parser);
  run.add_threads(parser);
  run.add_timeout(parser);
  run.add_quiet(parser);
  return parse_into(parser, args, parsed, [&] {
    return first_error({
        [&] { return run.read_into(parsed.options); },
        [&] { return read_dtypes(dtypes, parsed.options.dtypes); },
        [&] { return read_case(case_name, parsed.options.case_name); },
    });
  });
}

Result<Parsed<SelfTestCommand>> parse_self_test_options(const std::vector<std::string>& args) {
  FlagParser parser("quire self-test",
                    "Plants faults, one at a time, in real implementations and sees that the checker finds each, and\n"
                    "that a crash or a hang costs its own row alone.",
                    "");
  Parsed<SelfTestCommand> parsed;
  RunFlags run;
  run.add_threads(parser);
  parser.add_switch("--reduced", {kWhatRuns, "", "two contexts and one block size: for slow builds"},
                    parsed.options.test.reduced);
  run.add_quiet(parser);
  return parse_into(parser, args, parsed, [&] {
    parsed.options.quiet = run.quiet;
    return run.read_threads(parsed.options.test.threads);
  });
}

Result<Parsed<CalibrateOptions>> parse_calibrate_options(const std::vector<std::string>& args) {
  FlagParser parser(
      "quire calibrate",
      "Measures what no implementation can beat: how fast this machine reads memory, by size and by read\n"
      "kernel, and how fast it multiplies and adds.",
      "");
  Parsed<CalibrateOptions> parsed;
  RunFlags run;
  run.add_threads(parser);
  run.add_quiet(parser);
  return parse_into(parser, args, parsed, [&] {
    parsed.options.quiet = run.quiet;
    return run.read_threads(parsed.options.threads);
  });
}

}  // namespace quire::bench
