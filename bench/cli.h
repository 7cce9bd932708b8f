// The command line of the `quire` tool: one function a command, its exit code the function's result.
#pragma once

#include <string>
#include <vector>

#include "bench/job.h"
#include "quire/status.h"

namespace quire::bench {

enum ExitCode : int {
  kExitOk = 0,
  kExitUsage = 1,  // wrong usage, or nothing ran: every row is SKIP
  kExitWrong = 2,  // an implementation was found wrong
  kExitCrash = 3,  // an implementation crashed or hung, and was isolated
  kExitInterrupted = 130,
};

/// Runs the command that `args` (without the program's name) begins with.
int run_command_line(const std::vector<std::string>& args);

/// Each takes the arguments behind its name.
int run_bench(const std::vector<std::string>& args);
int run_list(const std::vector<std::string>& args);
int run_check(const std::vector<std::string>& args);
int run_self_test_command(const std::vector<std::string>& args);
int run_calibrate(const std::vector<std::string>& args);

/// The code that says the worst of all rows: a crash before a wrong result before nothing but SKIP.
int exit_code_of(const std::vector<Row>& rows);

/// Prints one line on stderr, whatever the message holds, and returns kExitUsage.
int fail(const std::string& command, const Status& status);

/// Writes to stdout at once. False where nobody reads it any more, or the disk is full.
bool print_out(const std::string& text);

}  // namespace quire::bench
