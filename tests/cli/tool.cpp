#include "tests/cli/tool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace quire::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Homes and captured output, outside the directories that tests look into.
const ScratchDirectory& private_files() {
  static const ScratchDirectory directory;
  return directory;
}

int exit_code_of_status(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

void enter(const ScratchDirectory& directory, const std::vector<std::string>& environment) {
  if (chdir(directory.path().c_str()) != 0) _exit(127);
  setenv("HOME", private_files().path().c_str(), 1);
  unsetenv("XDG_STATE_HOME");
  setenv("QUIRE", QUIRE_TOOL, 1);
  unsetenv("NO_COLOR");
  setenv("TERM", "xterm", 1);
  for (const std::string& assignment : environment) putenv(const_cast<char*>(assignment.c_str()));
}

void run_shell(const std::string& command) {
  execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

Tool::Tool(const ScratchDirectory& directory, const std::string& line) {
  static int count = 0;
  const std::string number = std::to_string(++count);
  out_ = private_files().file(number + ".out");
  err_ = private_files().file(number + ".err");
  process_ = fork();
  if (process_ != 0) return;
  setpgid(0, 0);
  enter(directory, {});
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
  for (const int descriptor : {in, out, err}) {
    if (descriptor > 2) close(descriptor);
  }
  run_shell(line);
}

Tool::~Tool() {
  if (!ended_) wait();
}

bool Tool::ended() {
  if (!ended_) ended_ = waitpid(process_, &status_, WNOHANG) == process_;
  return ended_;
}

bool Tool::wait_for_output(const std::string& text) {
  const Clock::time_point end = Clock::now() + std::chrono::minutes(1);
  while (read_file(out_).find(text) == std::string::npos) {
    if (ended() || Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void Tool::signal(int number) { kill(process_, number); }

Outcome Tool::wait() {
  const Clock::time_point end = Clock::now() + std::chrono::minutes(2);
  while (!ended()) {
    if (Clock::now() > end) {
      ADD_FAILURE() << "the tool did not end";
      kill(-process_, SIGKILL);
      waitpid(process_, &status_, 0);
      ended_ = true;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {exit_code_of_status(status_), read_file(out_), read_file(err_)};
}

Outcome run_tool(const ScratchDirectory& directory, const std::string& arguments) {
  return Tool(directory, "exec \"$QUIRE\" " + arguments).wait();
}

Outcome run_on_terminal(const ScratchDirectory& directory, const std::string& arguments, unsigned short width,
                        const std::vector<std::string>& environment) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return {};
  const winsize size = {.ws_row = 24, .ws_col = width, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(terminal, TIOCSWINSZ, &size);
  const std::string name = ptsname(terminal);
  const pid_t process = fork();
  if (process == 0) {
    setsid();
    enter(directory, environment);
    const int user = open(name.c_str(), O_RDWR);
    if (dup2(user, 0) < 0 || dup2(user, 1) < 0 || dup2(user, 2) < 0) _exit(127);
    run_shell("exec \"$QUIRE\" " + arguments);
  }
  Outcome outcome;
  char buffer[4096];
  // A read fails once the last user of the terminal has closed it.
  for (bool open = true; open;) {
    pollfd polled = {terminal, POLLIN, 0};
    if (poll(&polled, 1, 120'000) <= 0) {
      ADD_FAILURE() << "the tool did not end";
      kill(-process, SIGKILL);
      break;
    }
    const ssize_t count = read(terminal, buffer, sizeof buffer);
    open = count > 0;
    if (open) outcome.out.append(buffer, static_cast<size_t>(count));
  }
  int status = 0;
  waitpid(process, &status, 0);
  close(terminal);
  outcome.exit_code = exit_code_of_status(status);
  return outcome;
}

}  // namespace quire::bench
