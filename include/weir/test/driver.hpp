// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_DRIVER_HPP
#define WEIR_TEST_DRIVER_HPP

#include <weir/clock.hpp>
#include <weir/test/tagged_executor.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weir::test {

/// Thrown when work remains and nothing can ever end it. `what()` is a report that names who waits,
/// on what, since when, and where it was spawned.
class deadlock_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs a program on a clock that moves only when there is nothing else to do. What is ready runs
/// first, then the clock is moved to the next event, and so on: a program that would take a
/// day takes milliseconds, and takes them the same way each time.
///
/// This is what `virtual_time` and `simulation` have in common; they differ in where the program
/// runs and in which order.
///
/// While one exists `weir::steady_clock` is paused in the whole process. One may be made inside
/// another, in a handler that the outer one runs: until the inner one is destroyed the outer one
/// stands still, and then goes on at the time where the inner one ended.
///
/// Thread safety: one thread.
class driver : private weir::detail::virtual_clock {
 public:
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  /// The virtual time.
  time_point now() const noexcept override { return now_; }

  /// Virtual time since the start.
  duration elapsed() const noexcept { return now_ - started_; }

  /// Runs until no work is left. What a handler or a spawned coroutine throws comes out of here,
  /// and the call can be repeated.
  ///
  /// \throws deadlock_error when work is left, nothing is ready and no timer is pending.
  void run();

  /// Runs for `d` of virtual time: everything due by then has settled when it returns, and the
  /// clock stands at `now() + d`, also where the work ended earlier. May be called from a
  /// handler.
  void run_for(duration d);

  /// Moves time on under a program: `run_for` by the name that reads better in a test.
  void advance(duration d) { run_for(d); }

  /// Runs what is ready and leaves the clock alone. \returns the number of handlers run.
  std::size_t settle();

  /// Starts a coroutine that reports know by name and by this line.
  ///
  /// \param f an awaitable, or a callable without parameters that returns one; the callable
  /// lives until the coroutine has ended.
  ///
  /// An exception that leaves it comes out of `run`, unless the kit itself has cancelled it.
  template <typename F>
  void spawn(std::string name, F&& f,
             std::source_location where = std::source_location::current()) {
    const auto made = enter(std::move(name), where);
    auto on_end = [made](const std::exception_ptr& e, auto&&...) { ended(*made, e); };
    if (cancels())
      boost::asio::co_spawn(
          made->executor, std::forward<F>(f),
          boost::asio::bind_cancellation_slot(made->signal.slot(), std::move(on_end)));
    else
      boost::asio::co_spawn(made->executor, std::forward<F>(f), std::move(on_end));
  }
  template <typename F>
  requires(!std::convertible_to<F, std::string>) void spawn(
      F&& f, std::source_location where = std::source_location::current()) {
    spawn(std::string(), std::forward<F>(f), where);
  }

  /// Coroutines of `spawn` that have not ended.
  std::vector<tag_pointer> alive() const;

  /// When the next thing happens by itself, as of the last `settle`; empty if nothing does.
  std::optional<time_point> next_event() const noexcept { return next_event_; }

 protected:
  /// Where the clock of a program starts that has nothing to do with real time.
  static constexpr time_point start_of_time{std::chrono::hours(24)};

  explicit driver(time_point start);
  ~driver();

  /// A coroutine that was spawned.
  struct spawned {
    tag_pointer tag;
    boost::asio::any_io_executor executor;
    boost::asio::cancellation_signal signal;
    bool cancelled = false;  ///< by the kit
    bool ended = false;
  };
  const std::vector<std::shared_ptr<spawned>>& coroutines() const noexcept { return coroutines_; }

  void forget_coroutines() noexcept { coroutines_.clear(); }

  /// Whether coroutines are to be cancellable by their signals.
  virtual bool cancels() const noexcept { return false; }

  /// Runs what is ready, which includes timers that are known to be due. \returns the number run.
  virtual std::size_t run_ready() = 0;

  /// Asks all timers anew: those that are due run or become ready, and `next_event_` is then
  /// exact. \returns how many they were.
  virtual std::size_t look_again() = 0;

  virtual boost::asio::any_io_executor base() = 0;
  virtual bool work_left() const = 0;

  /// What is known of work that does not run on this clock, for the report; a line each.
  virtual std::string outside() const { return {}; }

  /// Asio is to look at its timers when one is due, and when a `bell` tells it to.
  duration note_expiry(time_point expiry) noexcept override;

  /// Never later than the next event; earlier where a timer was cancelled since it was noted.
  std::optional<time_point> next_event_;

 private:
  std::shared_ptr<spawned> enter(std::string name, std::source_location where);
  static void ended(spawned& s, const std::exception_ptr& e);
  void try_next_event();

  driver* outer_ = nullptr;
  time_point now_;
  time_point started_;
  std::uint64_t spawned_count_ = 0;
  std::vector<std::shared_ptr<spawned>> coroutines_;
};

}  // namespace weir::test

#endif  // WEIR_TEST_DRIVER_HPP
