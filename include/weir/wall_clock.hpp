// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_WALL_CLOCK_HPP
#define WEIR_WALL_CLOCK_HPP

#include <weir/clock.hpp>

#include <atomic>
#include <chrono>

namespace weir {

namespace detail {

// By how much a test has set the time of day ahead or back; zero in production.
inline std::atomic<std::chrono::system_clock::rep> wall_clock_step{0};

}  // namespace detail

/// The time of day, for what outlives a process: `std::chrono::system_clock`, unless a test has
/// paused `steady_clock`; it then follows that one.
///
/// It may be set ahead and back at any time. Nothing in weir measures a span with it; it says only
/// from when a job may run and until when something is kept.
///
/// Thread safety: may be called from any thread.
struct wall_clock {
  using duration = std::chrono::system_clock::duration;
  using time_point = std::chrono::system_clock::time_point;

  static time_point now() noexcept {
    const duration step(detail::wall_clock_step.load(std::memory_order_relaxed));
    if (detail::installed_clock.load(std::memory_order_acquire)) [[unlikely]]
      return time_point(
                 std::chrono::duration_cast<duration>(steady_clock::now().time_since_epoch())) +
             paused_at + step;
    return std::chrono::system_clock::now() + step;
  }

 private:
  static constexpr duration paused_at = std::chrono::hours(24 * 365 * 55);
};

using wall_time = wall_clock::time_point;

/// `t + d`, but never past `wall_time::max()`. `t` is not before the clock's epoch.
constexpr wall_time saturating_add(wall_time t, duration d) noexcept {
  return d > wall_time::max() - t ? wall_time::max()
                                  : t + std::chrono::duration_cast<wall_clock::duration>(d);
}

}  // namespace weir

#endif  // WEIR_WALL_CLOCK_HPP
