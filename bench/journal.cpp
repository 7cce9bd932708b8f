#include "bench/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "bench/job_json.h"

namespace quire::bench {
namespace {

using nlohmann::json;

constexpr const char* kSignature = "quire_journal";

Status refused(const std::string& path, const std::string& why) {
  return {StatusCode::kInvalidArgument, "--journal: '" + path + "' " + why};
}

std::string header_line(const JournalKey& key) {
  nlohmann::ordered_json run = nlohmann::ordered_json::object();
  for (const auto& [name, value] : key) run[name] = value;
  const nlohmann::ordered_json header = {{kSignature, 1}, {"run", run}};
  return header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// True for a journal, for one that was cut within its first line, and for an empty file.
bool begins_like_journal(const std::string& text) {
  const std::string signature = std::string("{\"") + kSignature + '"';
  const size_t length = std::min(text.size(), signature.size());
  return text.compare(0, length, signature, 0, length) == 0;
}

std::string read_all(const FileDescriptor& file) {
  std::string text;
  char buffer[65536];
  for (ssize_t count = 0; (count = read(file.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

// The first name whose value differs between the run of a journal and this one, in words; "" where all agree.
std::string difference(const json& run, const JournalKey& key) {
  std::map<std::string, std::string> ours(key.begin(), key.end());
  for (const auto& [name, value] : run.items()) ours.try_emplace(name);
  for (const auto& [name, value] : ours) {
    const json theirs = run.contains(name) ? run.at(name) : json("");
    if (theirs != json(value)) return name + " was " + theirs.dump() + " and is " + json(value).dump();
  }
  return "";
}

// Opened for one run at a time.
Result<FileDescriptor> open_locked(const std::string& path, int flags) {
  FileDescriptor file(open(path.c_str(), flags | O_RDWR | O_APPEND | O_CLOEXEC, 0666));
  if (!file.is_open()) return refused(path, "cannot be opened: " + std::generic_category().message(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return refused(path, "is in use by another run");
  return Result<FileDescriptor>(std::move(file));
}

}  // namespace

Result<Journal> Journal::begin(const std::string& path, const JournalKey& key) {
  Result<FileDescriptor> file = open_locked(path, O_CREAT);
  if (!file.ok()) return file.status();
  if (!begins_like_journal(read_all(*file))) return refused(path, "exists and is not a journal of quire");
  Journal journal(path, std::move(*file));
  if (Status s = journal.cut(0); !s.ok()) return s;
  if (Status s = journal.append_line(header_line(key)); !s.ok()) return s;
  return Result<Journal>(std::move(journal));
}

Result<Journal> Journal::resume(const std::string& path, const JournalKey& key, size_t rows_per_point,
                                std::vector<Row>& rows) {
  Result<FileDescriptor> file = open_locked(path, 0);
  if (!file.ok()) return file.status();
  const std::string text = read_all(*file);
  if (!begins_like_journal(text)) return refused(path, "is not a journal of quire");
  Journal journal(path, std::move(*file));
  rows.clear();
  size_t kept = 0;  // bytes of the header and of finished points
  for (size_t first = 0, end = 0; (end = text.find('\n', first)) != std::string::npos; first = end + 1) {
    const json line = json::parse(text.substr(first, end - first), nullptr, false);
    if (first == 0) {
      if (!line.is_object() || !line.contains("run")) return refused(path, "has no header");
      if (const std::string d = difference(line["run"], key); !d.empty())
        return refused(path, "is of another run: " + d);
    } else {
      Result<Row> row = row_from_json(line);
      if (!row.ok()) return refused(path, "has a line that is no row: " + row.status().message());
      rows.push_back(std::move(*row));
    }
    if (rows.size() % rows_per_point == 0) kept = end + 1;
  }
  rows.resize(rows.size() / rows_per_point * rows_per_point);
  if (Status s = journal.cut(kept); !s.ok()) return s;
  if (kept == 0) {
    if (Status s = journal.append_line(header_line(key)); !s.ok()) return s;
  }
  return Result<Journal>(std::move(journal));
}

Status Journal::cut(size_t bytes) {
  if (ftruncate(file_.get(), static_cast<off_t>(bytes)) == 0) return {};
  return refused(path_, "cannot be shortened: " + std::generic_category().message(errno));
}

Status Journal::append(const Row& row) {
  return append_line(to_json(row).dump(-1, ' ', false, json::error_handler_t::replace));
}

Status Journal::append_line(const std::string& line) {
  if (Status s = write_all(file_, line + '\n'); !s.ok()) return refused(path_, "cannot be written: " + s.message());
  return {};
}

void Journal::remove() { unlink(path_.c_str()); }

std::string default_journal_path(const std::string& json_path) {
  if (!json_path.empty()) return json_path + ".journal";
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  std::string state = variable("XDG_STATE_HOME");
  if (state.empty() && !variable("HOME").empty()) state = variable("HOME") + "/.local/state";
  if (state.empty()) return "";
  std::error_code error;
  std::filesystem::create_directories(state + "/quire", error);
  return error ? "" : state + "/quire/last.journal";
}

}  // namespace quire::bench
