// How many threads this process may run: its affinity mask and its cgroups' CPU quotas.
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "cpu/cgroup_quota.h"
#include "quire/executor.h"

namespace quire {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

// A small file's text; empty where it cannot be read.
std::string read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return {};
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

double parse_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? static_cast<double>(value) : -1;
}

// "max 100000" or "150000 100000" -> processors, or a negative number for no limit.
double quota_v2(const std::string& directory) {
  const std::string text = read_text(directory + "/cpu.max");
  const size_t space = text.find(' ');
  if (space == std::string::npos) return -1;
  const double quota = parse_number(std::string_view(text).substr(0, space));
  const double period = parse_number(std::string_view(text).substr(space + 1));
  return quota > 0 && period > 0 ? quota / period : -1;
}

double quota_v1(const std::string& directory) {
  const double quota = parse_number(read_text(directory + "/cpu.cfs_quota_us"));
  const double period = parse_number(read_text(directory + "/cpu.cfs_period_us"));
  return quota > 0 && period > 0 ? quota / period : -1;
}

// The tightest quota on the way from a cgroup to its root.
template <typename Quota>
double tightest_quota(const std::string& mount, std::string group, Quota&& quota, double limit) {
  while (true) {
    const double here = quota(mount + group);
    if (here > 0) limit = std::min(limit, here);
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos || group == "/" || group.empty()) return limit;
    group.resize(slash);
  }
}

int processors_in_affinity_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask);
  return static_cast<int>(std::thread::hardware_concurrency());  // more than 1024 processors, or not Linux
}

}  // namespace

// Lines of the membership file read "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1).
double cgroup_quota(const std::string& membership_file, const std::string& mount, double limit) {
  const std::string text = read_text(membership_file);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const std::string group(line.substr(second + 1));
    if (controllers == ",,") limit = tightest_quota(mount, group, quota_v2, limit);
    if (controllers.find(",cpu,") != std::string::npos) {
      limit = tightest_quota(mount + "/cpu", group, quota_v1, limit);
    }
  }
  return limit;
}

int available_threads() noexcept {
  const int processors = std::max(1, processors_in_affinity_mask());
  try {
    const double quota = cgroup_quota("/proc/self/cgroup", "/sys/fs/cgroup", processors);
    return std::clamp(static_cast<int>(std::ceil(quota)), 1, processors);
  } catch (const std::exception&) {
    return processors;  // no memory to read the quota with
  }
}

}  // namespace quire
