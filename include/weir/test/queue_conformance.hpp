// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_QUEUE_CONFORMANCE_HPP
#define WEIR_TEST_QUEUE_CONFORMANCE_HPP

#include <weir/clock.hpp>
#include <weir/task_queue.hpp>

#include <boost/asio/awaitable.hpp>

#include <span>
#include <stdexcept>
#include <string_view>

namespace weir::test {

/// Thrown by a case; `what()` says which promise was broken, and at which line.
class conformance_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One promise of `task_queue`.
struct queue_case {
  std::string_view name;  ///< the promise, in snake_case

  /// \param queue a queue that is empty, and for this case alone
  /// \param unit the shortest span that the case tells from none. On virtual time a second; against
  /// a server with a clock of its own as short as its answers allow, such as 100 ms. A case takes
  /// up to twenty units.
  boost::asio::awaitable<void> (*run)(task_queue& queue, duration unit);
};

/// Everything that a queue has to keep, whoever made it.
///
/// \code
/// for (const weir::test::queue_case& c : weir::test::queue_cases()) {
///   weir::test::virtual_time time;
///   my_queue queue(time.get_executor());
///   time.spawn(std::string(c.name), c.run(queue, 1s));
///   time.run();
/// }
/// \endcode
std::span<const queue_case> queue_cases() noexcept;

}  // namespace weir::test

#endif  // WEIR_TEST_QUEUE_CONFORMANCE_HPP
