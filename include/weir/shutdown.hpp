// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SHUTDOWN_HPP
#define WEIR_SHUTDOWN_HPP

#include <weir/clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace weir {

/// How a pool is to end.
struct shutdown_options {
  /// How long accepted tasks may go on; then what is queued is abandoned and what runs is
  /// cancelled. Zero or less: at once.
  duration deadline = std::chrono::seconds(30);

  /// Drop what is queued at the start instead of running it.
  bool abandon = false;

  /// How long cancelled tasks have to end before they are reported as stuck; empty: the pool's.
  std::optional<duration> grace = {};
};

static_assert(std::is_trivially_destructible_v<shutdown_options>);

/// How a pool has ended.
struct shutdown_report {
  bool drained = false;                ///< every accepted task ended and none was cut short
  std::uint64_t completed = 0;         ///< tasks that ended by returning since the shutdown began
  std::vector<std::string> abandoned;  ///< ids of the tasks that never ran, in queue order
  std::vector<std::string> stuck;      ///< ids of the tasks still running when the grace was over
  duration took{};                     ///< from the first call to this report
};

}  // namespace weir

#endif  // WEIR_SHUTDOWN_HPP
