// One worker: this tool run again by exec, with a job on its standard input and rows coming back.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "bench/call_monitor.h"
#include "bench/file.h"
#include "quire/status.h"

namespace quire::bench {

/// File descriptors of a worker besides its standard input (the job).
inline constexpr int kWorkerResults = 3;  // where it writes rows, a line of JSON each
inline constexpr int kWorkerMonitor = 4;  // the CallMonitor's memory

class WorkerProcess {
 public:
  /// Starts a worker with this job, in its own process group, its output captured.
  static Result<WorkerProcess> start(const std::string& job);

  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  /// Kills the worker where it still runs.
  ~WorkerProcess();

  /// Waits up to so long for the next complete line of results. Nothing: no line yet, or ended().
  std::optional<std::string> read_line(int milliseconds);

  /// True once the worker has closed its results and all lines were read.
  bool ended() const { return results_closed_ && lines_.find('\n') == std::string::npos; }

  void kill();

  struct Death {
    std::string cause;  // such as "SIGSEGV (bad memory access)" or "exit code 1", and the last line written to stderr
    bool from_outside = false;  // by a signal that a process gets from others
  };
  /// Waits for the end of a worker that has ended() or was killed.
  Death wait_for_death();

  const CallMonitor& monitor() const { return *monitor_; }

 private:
  WorkerProcess() = default;
  void read_available(const FileDescriptor& from, std::string& into, bool& closed);

  pid_t pid_ = -1;
  FileDescriptor results_, errors_;
  bool results_closed_ = false, errors_closed_ = false;
  std::string lines_, last_words_;
  CallMonitor* monitor_ = nullptr;
};

}  // namespace quire::bench
