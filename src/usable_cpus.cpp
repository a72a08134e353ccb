// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/cpu_quota.hpp>
#include <weir/usable_cpus.hpp>

#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace weir {

int usable_cpus() {
  int cpus = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) cpus = CPU_COUNT(&mask);
  if (const auto quota = detail::cpu_quota("/")) cpus = std::min(cpus, *quota);
#endif
  return std::max(cpus, 1);
}

}  // namespace weir
