// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/cpu_quota.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <system_error>

namespace weir::detail {

namespace fs = std::filesystem;

namespace {

using quota = std::optional<int>;

quota rounded_up(long long runtime, long long period) {
  if (runtime <= 0 || period <= 0) return std::nullopt;
  const long long cpus = runtime / period + (runtime % period != 0 ? 1 : 0);
  return static_cast<int>(std::min(cpus, 1LL << 20));
}

quota least(quota a, quota b) {
  if (!a || !b) return a ? a : b;
  return std::min(a, b);
}

/// Version 2 keeps both numbers in one file: "200000 100000", or "max 100000".
quota read_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  std::string word;
  long long period = 0;
  if (!(file >> word >> period)) return std::nullopt;
  long long runtime = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), runtime);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;  // "max", too
  return rounded_up(runtime, period);
}

/// Version 1 keeps them in two; -1 is none.
quota read_v1(const fs::path& group) {
  long long runtime = 0;
  long long period = 0;
  if (!(std::ifstream(group / "cpu.cfs_quota_us") >> runtime) ||
      !(std::ifstream(group / "cpu.cfs_period_us") >> period))
    return std::nullopt;
  return rounded_up(runtime, period);
}

/// A group is held by its own limit and by that of each group above it.
template <typename Read>
quota least_upwards(const fs::path& mount, fs::path group, Read read) {
  quota result = read(mount);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path())
    result = least(result, read(mount / group));
  return result;
}

}  // namespace

quota cpu_quota(const fs::path& root) {
  std::ifstream groups(root / "proc/self/cgroup");
  const fs::path mounts = root / "sys/fs/cgroup";
  quota result;
  // Each line is "id:controllers:path"; version 2 has the one without controllers.
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path path = line.substr(second + 1);
    if (controllers == ",,")
      result = least(result, least_upwards(mounts, path, read_v2));
    else if (controllers.find(",cpu,") != std::string::npos)
      result = least(result, least_upwards(mounts / "cpu", path, read_v1));
  }
  return result;
}

}  // namespace weir::detail
