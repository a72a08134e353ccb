// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_TEST_WAIT_REPORT_HPP
#define WEIR_SRC_TEST_WAIT_REPORT_HPP

#include <weir/detail/inspection.hpp>
#include <weir/test/driver.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace weir::test {

/// A wait, as the registered objects tell of it.
struct seen_wait {
  const void* object;
  std::string name;
  std::string what;
  time_point since;
  const coroutine_tag* tag;  ///< null if it is no coroutine of `spawn`
  std::string who;

  /// `[semaphore acquire] of 'a'`.
  std::string text() const;
};

/// Something that is held, as the registered objects tell of it.
struct seen_hold {
  const void* object;
  std::string name;
  std::string what;
  std::size_t count;

  std::string text() const;
};

/// All that the registered objects have to tell at one time, in order of time and then of name.
class sighting final : public weir::detail::inspector {
 public:
  sighting();

  const std::vector<seen_wait>& waits() const noexcept { return waits_; }
  const std::vector<seen_hold>& holds() const noexcept { return holds_; }

 private:
  void on_wait(const void* object, std::string_view name, std::string_view what, time_point since,
               const boost::asio::any_io_executor& waiter) override;
  void on_hold(const void* object, std::string_view name, std::string_view what,
               std::size_t count) override;

  std::vector<seen_wait> waits_;
  std::vector<seen_hold> holds_;
};

/// `+1,500 ms`, of a time after the start of a driver.
std::string time_text(const driver& d, time_point t);

/// What a `deadlock_error` says. `outside` is added at its end.
std::string deadlock_report(const driver& d, const std::string& outside);

/// What this process waits for in the real world, as far as the kernel tells: sockets that are
/// watched, timers on the real clock, threads. Empty where there is nothing, or no such kernel.
std::string real_waits();

}  // namespace weir::test

#endif  // WEIR_SRC_TEST_WAIT_REPORT_HPP
