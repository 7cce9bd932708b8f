#include "bench/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "bench/suggest.h"
#include "quire/version.h"

namespace quire::bench {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& args);
};

constexpr Command kCommands[] = {
    {"bench", "prove each implementation right, then time it, at every point of a grid", run_bench},
    {"list", "devices and implementations, what they take, and why one is not available", run_list},
    {"check", "run each implementation on awkward problems; nothing is timed", run_check},
    {"self-test", "plant faults and see that the checker finds each of them", run_self_test_command},
    {"calibrate", "how fast this machine reads memory and multiplies: the limits of every row", run_calibrate},
};

std::string help_text() {
  std::string text =
      "quire: paged-attention decode, proven right before it is timed.\n"
      "\n"
      "Usage: quire COMMAND [FLAGS]\n"
      "\n"
      "Commands:\n";
  for (const Command& command : kCommands) text += fmt::format("  {:<11}{}\n", command.name, command.summary);
  return text +
         "\n"
         "Examples:\n"
         "  quire bench                                     the default grid, every implementation\n"
         "  quire bench --batch-sizes 8 --seq-lens 128:32k:x2 --dtype bf16 --json results.json\n"
         "  quire check --impl cpu-chunked\n"
         "\n"
         "quire COMMAND --help shows a command's flags; quire --version the version.\n";
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

int unknown_command(const std::string& word) {
  std::vector<std::string> names = {"--help", "--version"};
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const char* kind = word.rfind('-', 0) == 0 ? "flag" : "command";
  const std::string hint = did_you_mean(word, names);
  return fail("quire", {StatusCode::kInvalidArgument, fmt::format("unknown {} '{}'{}", kind, word,
                                                                  hint.empty() ? "; quire --help lists all" : hint)});
}

}  // namespace

int run_command_line(const std::vector<std::string>& args) {
  // A reader that goes away is an error of a write, to be met in an orderly way.
  std::signal(SIGPIPE, SIG_IGN);
  if (args.empty() || is_one_of(args[0], {"--help", "-h", "help"}))
    return print_out(help_text()) ? kExitOk : kExitUsage;
  if (is_one_of(args[0], {"--version", "-V"}))
    return print_out(fmt::format("quire {}\n", kVersion)) ? kExitOk : kExitUsage;
  for (const Command& command : kCommands) {
    if (args[0] == command.name) return command.run({args.begin() + 1, args.end()});
  }
  return unknown_command(args[0]);
}

int exit_code_of(const std::vector<Row>& rows) {
  const auto any = [&](std::initializer_list<const char*> verdicts) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return is_one_of(row.verdict, verdicts); });
  };
  if (any({"CRASH", "TIMEOUT"})) return kExitCrash;
  if (any({"NO"})) return kExitWrong;
  return any({"yes"}) ? kExitOk : kExitUsage;
}

int fail(const std::string& command, const Status& status) {
  std::string line = command + ": " + status.message();
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  fmt::print(stderr, "{}\n", line);
  return kExitUsage;
}

bool print_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace quire::bench
