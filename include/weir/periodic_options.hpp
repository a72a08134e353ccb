// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PERIODIC_OPTIONS_HPP
#define WEIR_PERIODIC_OPTIONS_HPP

#include <weir/backoff.hpp>
#include <weir/clock.hpp>
#include <weir/error.hpp>
#include <weir/job.hpp>
#include <weir/wall_clock.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weir {

/// What became of a firing.
struct periodic_firing {
  std::string_view name = {};  ///< of its entry
  wall_time at = {};           ///< when it was due
  error_code error = {};       ///< why it could not be enqueued; it is tried again
  enqueued job = {};           ///< `duplicate`: another process was first
};

struct periodic_options {
  /// Hears of each attempt to enqueue a job. Called by a thread of the queue's executor, with no
  /// lock held; perhaps once more while a cancellation ends the run. Must not throw.
  std::function<void(const periodic_firing&)> on_firing = {};

  /// By how much the clocks of the processes may differ, or one of them be set back, with a time
  /// of day still fired once. Not below zero.
  duration clock_difference = std::chrono::hours(1);

  /// How long to wait after an error of the queue.
  backoff_options backoff = {.base = std::chrono::milliseconds(200),
                             .cap = std::chrono::seconds(30),
                             .floor = std::chrono::milliseconds(100)};

  std::uint64_t seed = 0;  ///< of what the backoff draws; zero: another for each object
  std::string name = {};   ///< what reports call it
};

}  // namespace weir

#endif  // WEIR_PERIODIC_OPTIONS_HPP
