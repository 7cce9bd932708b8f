#include "bench/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <new>
#include <string_view>
#include <vector>

namespace quire::bench {
namespace {

Status system_error(const char* call, int error) {
  return {StatusCode::kInternal, std::string(call) + ": " + std::strerror(error)};
}

constexpr int kWorkerDescriptors = 5;  // the standard ones and two more

// The parent's ends of everything; the worker gets copies under fixed numbers.
struct Channels {
  FileDescriptor job, results_read, results_write, errors_read, errors_write, monitor;
};

// The same file under a number that no descriptor of a worker has, so that no copy made for one overwrites another's
// source.
FileDescriptor out_of_the_way(FileDescriptor file) {
  return FileDescriptor(fcntl(file.get(), F_DUPFD_CLOEXEC, kWorkerDescriptors));
}

Status open_pipe(FileDescriptor& read_end, FileDescriptor& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe2", errno);
  read_end = FileDescriptor(ends[0]);
  write_end = out_of_the_way(FileDescriptor(ends[1]));
  if (!write_end.is_open()) return system_error("fcntl", errno);
  // The parent polls; it must never wait inside read().
  if (fcntl(read_end.get(), F_SETFL, O_NONBLOCK) != 0) return system_error("fcntl", errno);
  return {};
}

Status open_channels(const std::string& job, Channels& channels) {
  channels.job = out_of_the_way(FileDescriptor(memfd_create("quire-job", MFD_CLOEXEC)));
  channels.monitor = out_of_the_way(FileDescriptor(memfd_create("quire-monitor", MFD_CLOEXEC)));
  if (!channels.job.is_open() || !channels.monitor.is_open()) return system_error("memfd_create", errno);
  if (Status s = write_all(channels.job, job); !s.ok()) return s;
  if (lseek(channels.job.get(), 0, SEEK_SET) != 0) return system_error("lseek", errno);
  if (ftruncate(channels.monitor.get(), sizeof(CallMonitor)) != 0) return system_error("ftruncate", errno);
  if (Status s = open_pipe(channels.results_read, channels.results_write); !s.ok()) return s;
  return open_pipe(channels.errors_read, channels.errors_write);
}

// The parent's environment, but a BLAS, whichever it is, keeps to one thread: the threads are the worker's.
std::vector<std::string> worker_environment() {
  constexpr std::string_view kThreadLimits[] = {
      "OPENBLAS_NUM_THREADS=", "OMP_NUM_THREADS=", "MKL_NUM_THREADS=", "BLIS_NUM_THREADS="};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool is_limit = std::any_of(std::begin(kThreadLimits), std::end(kThreadLimits), [&](std::string_view limit) {
      return std::string_view(*variable).starts_with(limit);
    });
    if (!is_limit) variables.emplace_back(*variable);
  }
  for (const std::string_view limit : kThreadLimits) variables.push_back(std::string(limit) + '1');
  return variables;
}

Result<pid_t> spawn(const Channels& channels) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  const int sources[kWorkerDescriptors] = {channels.job.get(), channels.errors_write.get(), channels.errors_write.get(),
                                           channels.results_write.get(), channels.monitor.get()};
  static_assert(kWorkerResults == 3 && kWorkerMonitor == 4);
  for (int i = 0; i < kWorkerDescriptors; ++i) posix_spawn_file_actions_adddup2(&actions, sources[i], i);
  // A group of its own: Ctrl-C reaches the parent alone, which then ends its worker.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> variables = worker_environment();
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string name = "quire", command = "worker";
  char* arguments[] = {name.data(), command.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return system_error("posix_spawn", error);
  return pid;
}

std::string signal_text(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV (bad memory access)";
    case SIGBUS: return "SIGBUS (bad memory access)";
    case SIGABRT: return "SIGABRT (abort)";
    case SIGFPE: return "SIGFPE (arithmetic)";
    case SIGILL: return "SIGILL (illegal instruction)";
    case SIGKILL: return "SIGKILL (killed from outside; out of memory?)";
    default: return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const size_t newline = text.rfind('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(const std::string& job) {
  Channels channels;
  if (Status s = open_channels(job, channels); !s.ok()) return s;
  WorkerProcess worker;
  worker.monitor_ = CallMonitor::map(channels.monitor.get());
  if (worker.monitor_ == nullptr) return system_error("mmap", errno);
  new (worker.monitor_) CallMonitor(getpid());
  const Result<pid_t> pid = spawn(channels);
  if (!pid.ok()) return pid.status();
  worker.pid_ = *pid;
  worker.results_ = std::move(channels.results_read);
  worker.errors_ = std::move(channels.errors_read);
  return worker;
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      results_(std::move(other.results_)),
      errors_(std::move(other.errors_)),
      results_closed_(other.results_closed_),
      errors_closed_(other.errors_closed_),
      lines_(std::move(other.lines_)),
      last_words_(std::move(other.last_words_)),
      monitor_(std::exchange(other.monitor_, nullptr)) {}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) {
    kill();
    (void)wait_for_death();
  }
  if (monitor_ != nullptr) munmap(monitor_, sizeof(CallMonitor));
}

// Stops after a while although there is more: a worker that writes without end must not keep its parent here.
void WorkerProcess::read_available(const FileDescriptor& from, std::string& into, bool& closed) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  char buffer[65536];
  for (size_t total = 0; !closed && total < kMostBytes;) {
    const ssize_t got = read(from.get(), buffer, sizeof buffer);
    if (got > 0) {
      into.append(buffer, static_cast<size_t>(got));
      total += static_cast<size_t>(got);
    } else if (got == 0) {
      closed = true;
    } else if (errno != EINTR) {
      closed = errno != EAGAIN;
      return;
    }
  }
}

std::optional<std::string> WorkerProcess::read_line(int milliseconds) {
  constexpr size_t kLastWordsBytes = 8192;
  if (lines_.find('\n') == std::string::npos && !results_closed_) {
    pollfd polled[] = {{results_.get(), POLLIN, 0}, {errors_closed_ ? -1 : errors_.get(), POLLIN, 0}};
    if (poll(polled, 2, milliseconds) > 0) {
      if (polled[0].revents != 0) read_available(results_, lines_, results_closed_);
      if (polled[1].revents != 0) read_available(errors_, last_words_, errors_closed_);
    }
    if (last_words_.size() > kLastWordsBytes) last_words_.erase(0, last_words_.size() - kLastWordsBytes);
  }
  const size_t newline = lines_.find('\n');
  if (newline == std::string::npos) return std::nullopt;
  std::string line = lines_.substr(0, newline);
  lines_.erase(0, newline + 1);
  return line;
}

void WorkerProcess::kill() { ::kill(-pid_, SIGKILL); }

WorkerProcess::Death WorkerProcess::wait_for_death() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  read_available(errors_, last_words_, errors_closed_);
  Death death;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    death.cause = signal_text(signal);
    death.from_outside = signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
  } else {
    death.cause = "exit code " + std::to_string(WEXITSTATUS(status));
  }
  if (const std::string words = last_line(last_words_); !words.empty()) death.cause += ": " + words;
  return death;
}

}  // namespace quire::bench
