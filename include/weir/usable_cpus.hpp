// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_USABLE_CPUS_HPP
#define WEIR_USABLE_CPUS_HPP

namespace weir {

/// How many CPUs this process may use: the least of the machine's, its affinity mask and its
/// cgroup quota (versions 1 and 2, rounded up); at least 1.
///
/// `std::thread::hardware_concurrency` knows of the mask only, so a container with a quota of
/// two on a machine of 64 would start 256 workers.
///
/// Reads a few files of `/proc` and `/sys` at each call. Thread safety: any thread.
int usable_cpus();

}  // namespace weir

#endif  // WEIR_USABLE_CPUS_HPP
