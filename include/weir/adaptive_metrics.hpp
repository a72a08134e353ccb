// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_ADAPTIVE_METRICS_HPP
#define WEIR_ADAPTIVE_METRICS_HPP

#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>

namespace weir {

/// A snapshot of an `adaptive_limit`.
struct adaptive_metrics {
  int limit = 0;              ///< the one in force
  int in_flight = 0;          ///< calls that have begun and are not reported yet
  std::size_t waiting = 0;    ///< those who wait for a place
  std::uint64_t samples = 0;  ///< calls reported as successes or drops
  std::uint64_t dropped = 0;  ///< of these, drops
  std::uint64_t ignored = 0;  ///< calls that did not count
  duration time{};            ///< `gradient_limit::time`; zero with AIMD, which looks at none
  duration unloaded_time{};   ///< `gradient_limit::unloaded_time`; likewise
};

}  // namespace weir

#endif  // WEIR_ADAPTIVE_METRICS_HPP
