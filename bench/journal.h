// The rows of a run as they finish, one JSON line each, so that a run that was cut short goes on where it stopped. The
// first line says which run: its options, quire and processor. Points follow each other in the order of the run, each
// with all its rows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/file.h"
#include "bench/job.h"

namespace quire::bench {

/// What must agree between a journal and the run that goes on with it: names, as messages call them, and values.
using JournalKey = std::vector<std::pair<std::string, std::string>>;

class Journal {
 public:
  /// Begins an empty journal. Refuses to overwrite what is not a journal, or is in use by another run.
  static Result<Journal> begin(const std::string& path, const JournalKey& key);

  /// Opens the journal of an earlier run and reads the rows of its finished points. A cut last line, and rows of a
  /// point that lacks others, are dropped. Refuses a journal of another key, naming what differs.
  static Result<Journal> resume(const std::string& path, const JournalKey& key, size_t rows_per_point,
                                std::vector<Row>& rows);

  /// Adds a row, which is in the file when this returns.
  Status append(const Row& row);

  /// Deletes the file.
  void remove();

  const std::string& path() const { return path_; }

 private:
  Journal(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Status cut(size_t bytes);
  Status append_line(const std::string& line);

  std::string path_;
  FileDescriptor file_;
};

/// Where a journal lies by default: beside the JSON report, else in the user's state directory, which is made.
std::string default_journal_path(const std::string& json_path);

}  // namespace quire::bench
