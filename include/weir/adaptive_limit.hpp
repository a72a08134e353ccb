// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_ADAPTIVE_LIMIT_HPP
#define WEIR_ADAPTIVE_LIMIT_HPP

#include <weir/adaptive_metrics.hpp>
#include <weir/aimd_limit.hpp>
#include <weir/error.hpp>
#include <weir/gradient_limit.hpp>
#include <weir/limited_call.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <functional>
#include <memory>
#include <string>

namespace weir {

namespace detail {
class adaptive_limit_state;
}  // namespace detail

/// So many at once as the other side can bear: a semaphore that finds its limit from how the calls
/// under it go. Waiters are served first come, first served.
///
/// \code
/// weir::limited_call call = co_await limit.async_acquire(boost::asio::use_awaitable);
/// const reply r = co_await service.ask(question);  // throws: ignored
/// if (r.overloaded) call.dropped(); else call.success();
/// \endcode
///
/// It can find the limit of something else instead, such as a worker pool: see `drive` and
/// `measure`.
///
/// Destroying it closes it. Calls may be reported later.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
class adaptive_limit {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// From how long calls take; the choice where nothing is known of the other side.
  ///
  /// \param ex where handlers run that have no executor of their own
  /// \param name what reports call it
  /// \throws system_error with `invalid_argument` if `options` are not valid.
  adaptive_limit(boost::asio::any_io_executor ex, const gradient_options& options,
                 std::string name = {});

  /// From refusals, for a server that refuses early and cheaply.
  adaptive_limit(boost::asio::any_io_executor ex, const aimd_options& options,
                 std::string name = {});
  adaptive_limit(const adaptive_limit&) = delete;
  adaptive_limit& operator=(const adaptive_limit&) = delete;
  ~adaptive_limit();

  executor_type get_executor() const noexcept;

  /// A place for a call that begins now; empty if none is free, somebody waits, or it is closed.
  /// Never waits.
  limited_call try_acquire();

  /// A call that begins now, and that something else has admitted. It counts as in flight, and how
  /// it goes is a sample, but it takes no place here.
  limited_call measure();

  /// Has `target` told of the limit: now, and whenever it changes.
  ///
  /// \code
  /// limit.drive([&pool](int n) { pool.resize(n); });
  /// \endcode
  ///
  /// It is called from the threads that report calls, by one at a time, without a lock; the last
  /// limit of which it is told is the one in force. It may use this object. It does not throw. One
  /// target at a time; an empty one ends it, and so does the destructor.
  ///
  /// Lifetime: a thread that reports a call meanwhile may be inside it still when this returns. Let
  /// it own what it uses, or end the calls first.
  void drive(std::function<void(int)> target);

  /// Turns waiters and later requests away with `semaphore_closed`. Final; calls are still
  /// measured.
  void close();

  int limit() const;

  adaptive_metrics metrics() const;

  /// Waits for a place; the call begins when the handler is called.
  ///
  /// Completion signature: `void(error_code, limited_call)`.
  ///
  /// Errors: `semaphore_closed`, at once.
  ///
  /// Cancellation: all three types, with `operation_aborted`. A place that was granted to a waiter
  /// which is cancelled before its handler runs goes to the next.
  ///
  /// Executor: completes by way of the handler's executor, else this object's; never inside this
  /// call.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, limited_call)) Token>
  auto async_acquire(Token&& token);

 private:
  std::shared_ptr<detail::adaptive_limit_state> state_;
};

}  // namespace weir

#include <weir/impl/adaptive_limit.hpp>

#endif  // WEIR_ADAPTIVE_LIMIT_HPP
