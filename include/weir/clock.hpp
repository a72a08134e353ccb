// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_CLOCK_HPP
#define WEIR_CLOCK_HPP

#include <boost/asio/basic_waitable_timer.hpp>

#include <atomic>
#include <chrono>

namespace weir {

namespace detail {

/// What a paused clock shows and hears; installed by the test kit, null in production.
class virtual_clock {
 public:
  virtual std::chrono::steady_clock::time_point now() const noexcept = 0;

  /// Told of the earliest expiry of a timer queue each time Asio asks how long to wait for it.
  /// \returns the answer, in real time.
  virtual std::chrono::steady_clock::duration note_expiry(
      std::chrono::steady_clock::time_point expiry) noexcept = 0;

 protected:
  ~virtual_clock() = default;
};

// One load in production. A link-time switch was turned down: a user's tests should link the
// very library that ships.
inline std::atomic<virtual_clock*> installed_clock{nullptr};

}  // namespace detail

/// The clock of every deadline in weir: `std::chrono::steady_clock`, unless a test has paused it.
///
/// Its time points are those of `std::chrono::steady_clock`, so that the two mix.
///
/// Thread safety: all members may be called from any thread. The clock is paused and resumed
/// only while no timer on it is pending.
struct steady_clock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr bool is_steady = true;

  /// The current time, virtual where a test has paused the clock.
  static time_point now() noexcept {
    if (auto* clock = detail::installed_clock.load(std::memory_order_acquire)) [[unlikely]]
      return clock->now();
    return std::chrono::steady_clock::now();
  }
};

using duration = steady_clock::duration;
using time_point = steady_clock::time_point;

/// `t + d`, but never past `time_point::max()`. `t` is not before the clock's epoch.
constexpr time_point saturating_add(time_point t, duration d) noexcept {
  return d > time_point::max() - t ? time_point::max() : t + d;
}

/// Answers Asio's question how long to wait for a timer of `steady_clock`.
///
/// On a paused clock the expiry is noted, which is how the test kit learns where to move the clock,
/// and the kit answers.
struct steady_wait_traits {
  static duration to_wait_duration(const duration& d) {
    if (auto* clock = detail::installed_clock.load(std::memory_order_acquire)) [[unlikely]]
      return clock->note_expiry(saturating_add(clock->now(), d));
    return d;
  }

  static duration to_wait_duration(const time_point& t) {
    return to_wait_duration(t == time_point::max() ? duration::max() : t - steady_clock::now());
  }
};

/// A timer on `weir::steady_clock`: `boost::asio::steady_timer`, but a test can stop its clock.
using steady_timer = boost::asio::basic_waitable_timer<steady_clock, steady_wait_traits>;

}  // namespace weir

#endif  // WEIR_CLOCK_HPP
