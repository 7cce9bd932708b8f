// The built `quire` tool as a user meets it: arguments in, exit code, stdout and stderr out, files in a directory of
// its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/bench/scratch_directory.h"

namespace quire::bench {

struct Outcome {
  int exit_code = -1;  // 128 + signal where one ended it
  std::string out, err;
};

/// A running tool, in a working directory of the test's. HOME is elsewhere.
class Tool {
 public:
  /// Runs a line of shell, in which "$QUIRE" is the tool.
  Tool(const ScratchDirectory& directory, const std::string& line);
  ~Tool();
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  /// Waits until stdout holds `text`; false where it ended or a minute passed before.
  bool wait_for_output(const std::string& text);
  void signal(int number);
  /// Waits for the end; kills after two minutes, and fails the test.
  Outcome wait();

 private:
  bool ended();

  std::string out_, err_;  // files that hold what it wrote
  pid_t process_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

/// Runs "quire ARGUMENTS" to its end.
Outcome run_tool(const ScratchDirectory& directory, const std::string& arguments);

/// The same with stdin, stdout and stderr on one terminal of this width; all output is in `out`.
Outcome run_on_terminal(const ScratchDirectory& directory, const std::string& arguments, unsigned short width,
                        const std::vector<std::string>& environment = {});

}  // namespace quire::bench
