// The CPU quota of the cgroups that this process is in.
#pragma once

#include <string>

namespace quire {

/// Processors' worth of time per second that the process may use: the tightest quota on the way from its cgroups, named
/// by `membership_file` (/proc/self/cgroup), to their roots under `mount` (/sys/fs/cgroup); `limit` where there is
/// none. Knows cgroups v1 and v2.
double cgroup_quota(const std::string& membership_file, const std::string& mount, double limit);

}  // namespace quire
