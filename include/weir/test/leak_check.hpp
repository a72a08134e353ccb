// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_LEAK_CHECK_HPP
#define WEIR_TEST_LEAK_CHECK_HPP

#include <weir/test/driver.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>

namespace weir::test {

/// Thrown by `leak_check`; `what()` names everything that was left, a line each.
class leak_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A scope that fails when something which was started in it outlives it: a coroutine of
/// `driver::spawn`, a task, slot or permit of an object of weir, a waiter on one, a timer.
///
/// What was there before the scope began, and still is, is not its concern.
///
/// The kit depends on no test framework: a leak is an exception, out of `verify` or out of the
/// destructor, which Boost.Test, GoogleTest and Catch2 all report.
///
/// Thread safety: one thread.
class leak_check {
 public:
  explicit leak_check(driver& d);
  leak_check(const leak_check&) = delete;
  leak_check& operator=(const leak_check&) = delete;

  /// Calls `verify`, unless that has been done or the scope is left by an exception.
  ~leak_check() noexcept(false);

  /// Lets what is ready settle, without moving the clock, then looks. The scope ends here.
  ///
  /// \throws leak_error
  void verify();

 private:
  struct state;

  driver& driver_;
  int exceptions_;
  std::unique_ptr<const state> before_;  ///< null once verified
};

}  // namespace weir::test

#endif  // WEIR_TEST_LEAK_CHECK_HPP
