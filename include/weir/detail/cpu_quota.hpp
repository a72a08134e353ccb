// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_CPU_QUOTA_HPP
#define WEIR_DETAIL_CPU_QUOTA_HPP

#include <filesystem>
#include <optional>

namespace weir::detail {

/// CPUs that the cgroups of this process allow it, rounded up: the least over its cgroup and all
/// above it; empty without a quota. `root` is "/", or a tree that looks like it, in a test.
std::optional<int> cpu_quota(const std::filesystem::path& root);

}  // namespace weir::detail

#endif  // WEIR_DETAIL_CPU_QUOTA_HPP
