// Files that are whole or not there: descriptors that close themselves, and reports that appear by rename.
#pragma once

#include <string>
#include <utility>

#include "quire/status.h"

namespace quire::bench {

/// An open file descriptor; owned, move-only.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileDescriptor();

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// The path without links and detours, so that two names of one file compare equal; the path itself where it has none.
std::string resolved_path(const std::string& path);

/// Writes all of `text`. The message is the system's.
Status write_all(const FileDescriptor& file, const std::string& text);

/// A report that is written once, at the end. A regular file is replaced by rename, so that a reader sees the old one
/// or the whole new one; anything else (/dev/stdout, a pipe) is written to.
class OutputFile {
 public:
  /// Tries whether `path` can be written, and leaves it and its directory as they were. `flag` names it in messages.
  static Result<OutputFile> prepare(const std::string& flag, const std::string& path);

  Status write(const std::string& text) const;

  /// resolved_path() of the file.
  const std::string& target() const { return target_; }

 private:
  std::string flag_;
  std::string path_;    // as given
  std::string target_;  // resolved
  bool replace_ = true;
};

}  // namespace quire::bench
