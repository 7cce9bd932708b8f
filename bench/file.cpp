#include "bench/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace quire::bench {
namespace {

std::string system_message(int error) { return std::generic_category().message(error); }

Status cannot_write(const std::string& flag, const std::string& path, const std::string& why) {
  return {StatusCode::kInvalidArgument, flag + ": cannot write '" + path + "': " + why};
}

// Beside the target, for rename() does not cross file systems.
std::string temporary_name(const std::string& target) { return target + ".tmp." + std::to_string(getpid()); }

FileDescriptor create(const std::string& path) {
  return FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (is_open()) close(descriptor_);
}

std::string resolved_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path resolved = std::filesystem::absolute(path, error);
  if (!error) resolved = std::filesystem::weakly_canonical(resolved, error);
  return error ? path : resolved.string();
}

Status write_all(const FileDescriptor& file, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {StatusCode::kInternal, system_message(errno)};
    written += static_cast<size_t>(count);
  }
  return {};
}

Result<OutputFile> OutputFile::prepare(const std::string& flag, const std::string& path) {
  OutputFile output;
  output.flag_ = flag;
  output.path_ = path;
  output.target_ = resolved_path(path);
  struct stat status{};
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return cannot_write(flag, path, system_message(EISDIR));
    output.replace_ = S_ISREG(status.st_mode);
    // Replaced, the file behind /dev/stdout would lose the table that is written into it.
    struct stat table{};
    if (output.replace_ && fstat(STDOUT_FILENO, &table) == 0 && table.st_dev == status.st_dev &&
        table.st_ino == status.st_ino) {
      return cannot_write(flag, path, "standard output goes there");
    }
    if (access(path.c_str(), W_OK) != 0) return cannot_write(flag, path, system_message(errno));
  }
  if (!output.replace_) return output;
  const std::string trial = temporary_name(output.target_);
  if (!create(trial).is_open()) return cannot_write(flag, path, system_message(errno));
  unlink(trial.c_str());
  return output;
}

Status OutputFile::write(const std::string& text) const {
  const std::string name = replace_ ? temporary_name(target_) : path_;
  const FileDescriptor file = replace_ ? create(name) : FileDescriptor(open(name.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return cannot_write(flag_, path_, system_message(errno));
  Status status = write_all(file, text);
  if (replace_ && status.ok() && (fsync(file.get()) != 0 || std::rename(name.c_str(), target_.c_str()) != 0)) {
    status = {StatusCode::kInternal, system_message(errno)};
  }
  if (status.ok()) return {};
  if (replace_) unlink(name.c_str());
  return cannot_write(flag_, path_, status.message());
}

}  // namespace quire::bench
