// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_BELL_HPP
#define WEIR_TEST_BELL_HPP

#include <weir/clock.hpp>

#include <boost/asio/io_context.hpp>

#include <cstddef>

namespace weir::test {

/// Makes an `io_context` look at its timers on the paused clock. Part of the kit's machinery.
///
/// Asio looks only when the kernel tells it that a timer is due, and when it has looked it asks how
/// long to wait for the earliest of the rest, which the clock hears. On a paused clock the kernel
/// knows nothing; to have it always say "due" was measured at three system calls for each look,
/// most of the time of a test.
class bell {
 public:
  explicit bell(boost::asio::io_context& context) : context_(context), timer_(context) {}

  boost::asio::io_context& context() const noexcept { return context_; }

  /// Runs what is ready and hands out every timer that is due, and runs that.
  ///
  /// \returns the number of handlers run.
  std::size_t ring();

  /// Runs what is ready. \returns the number of handlers run.
  std::size_t poll();

 private:
  boost::asio::io_context& context_;
  steady_timer timer_;
};

}  // namespace weir::test

#endif  // WEIR_TEST_BELL_HPP
