// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_VIRTUAL_TIME_HPP
#define WEIR_TEST_VIRTUAL_TIME_HPP

#include <weir/clock.hpp>

#include <boost/asio/io_context.hpp>

#include <optional>
#include <stdexcept>

namespace weir::test {

/// Thrown by `virtual_time` when work remains and nothing can ever end it; `what()` is a report.
class deadlock_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Time that moves only when there is nothing else to do.
///
/// While one exists, `weir::steady_clock` is paused. Its `io_context` is run until nothing is
/// ready, then the clock is moved to the earliest expiry of a `weir::steady_timer` on it, and so
/// on: a program that would take a day takes milliseconds, and takes them the same way each time.
///
/// At most one exists at a time. Thread safety: one thread.
class virtual_time : private detail::virtual_clock {
 public:
  using executor_type = boost::asio::io_context::executor_type;

  /// Pauses the clock. \throws std::logic_error if it is paused already.
  virtual_time();
  virtual_time(const virtual_time&) = delete;
  virtual_time& operator=(const virtual_time&) = delete;

  /// Destroys what is left in the context, then lets the clock go on.
  ~virtual_time();

  /// Where the program under test runs. Call neither its `run` nor its `poll`.
  boost::asio::io_context& context() noexcept { return *context_; }
  executor_type get_executor() noexcept { return context_->get_executor(); }

  /// The virtual time.
  time_point now() const noexcept override { return now_; }

  /// Runs until no work is left.
  ///
  /// \throws deadlock_error when work is left, nothing is ready and no timer is pending.
  void run();

  /// Runs for `d` of virtual time: everything due by then has settled when it returns, and the
  /// clock stands at `now() + d`, also where the work ended earlier.
  void run_for(duration d);

  /// Runs what is ready and leaves the clock alone. \returns the number of handlers run.
  std::size_t settle();

 private:
  void note_expiry(time_point expiry) noexcept override;

  std::optional<boost::asio::io_context> context_;
  time_point now_;
  time_point started_ = now_;
  std::optional<time_point> next_expiry_;
};

}  // namespace weir::test

#endif  // WEIR_TEST_VIRTUAL_TIME_HPP
