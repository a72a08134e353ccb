// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_VIRTUAL_TIME_HPP
#define WEIR_TEST_VIRTUAL_TIME_HPP

#include <weir/test/bell.hpp>
#include <weir/test/driver.hpp>

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace weir::test {

/// Virtual time for programs on `io_context`s: handlers run in the order in which Asio runs them.
///
/// Sockets, threads and timers on the real clock are not waited for. A program that depends on
/// one ends in a `deadlock_error` that says so.
///
/// Thread safety: one thread.
class virtual_time final : public driver {
 public:
  using executor_type = boost::asio::io_context::executor_type;

  /// Pauses the clock, at the same time in each run, so that runs are alike to the tick.
  virtual_time();

  /// Destroys what is left in its own contexts, then lets the clock go on.
  ~virtual_time();

  /// Where the program under test runs. Call neither its `run` nor its `poll`.
  boost::asio::io_context& context() noexcept { return own_.front(); }
  executor_type get_executor() noexcept { return context().get_executor(); }

  /// One more context on the same clock. Lives as long as this object.
  boost::asio::io_context& make_context();

  /// Runs a context of the program's own on this clock. Lifetime: it outlives this object, or is
  /// let go first.
  void adopt(boost::asio::io_context& context);
  void let_go(boost::asio::io_context& context);

 private:
  std::size_t run_ready() override;
  std::size_t look_again() override;
  boost::asio::any_io_executor base() override { return get_executor(); }
  bool work_left() const override;
  std::string outside() const override;

  std::list<boost::asio::io_context> own_;
  std::vector<std::unique_ptr<bell>> bells_;  ///< one for each context
};

}  // namespace weir::test

#endif  // WEIR_TEST_VIRTUAL_TIME_HPP
