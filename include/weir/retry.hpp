// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_RETRY_HPP
#define WEIR_RETRY_HPP

#include <weir/backoff.hpp>
#include <weir/clock.hpp>
#include <weir/detail/attempts.hpp>
#include <weir/error.hpp>
#include <weir/retry_budget.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <cstdint>
#include <exception>

namespace weir {

/// What an attempt is told of itself.
struct attempt {
  int number = 1;                           ///< the first is 1
  time_point deadline = time_point::max();  ///< when it will be cancelled
};

/// How often, how long and how fast to try again. Trivially destructible, so that it may be written
/// inside a `co_await` with g++ 12.
struct retry_options {
  int max_attempts = 3;  ///< the first one included; at least 1
  duration total{};      ///< for all attempts and waits, from the start; zero: no limit
  time_point deadline = time_point::max();  ///< the same as a time; the earlier of the two holds
  duration attempt_timeout{};  ///< for each attempt, which is then cancelled; zero: no limit
  backoff_options backoff{};
  retry_budget* budget = nullptr;  ///< shared by the callers of one service; outlives them
  std::uint64_t seed = 0;          ///< of what the backoff draws; zero: another for each call
};

/// What to do about an attempt that failed.
struct retry_advice {
  bool retry = false;
  duration at_least{};  ///< no sooner than this; the delay of the backoff is added, for the many
                        ///< who are told the same are not to come back together
};

/// Thrown by an attempt: try again, but not before `wait` has passed. What `Retry-After` says.
class retry_after_error : public boost::system::system_error {
 public:
  retry_after_error(const error_code& ec, duration wait)
      : system_error(ec, "retry after a while"), wait_(wait) {}
  duration wait() const noexcept { return wait_; }

 private:
  duration wait_;
};

/// What is worth another attempt where nothing else is said:
///
/// - a `retry_after_error`, after its wait;
/// - of weir's codes: `queue_full`, `user_limit_reached`, `user_queue_full`,
///   `tenant_limit_reached`, `lane_limit_reached`, `queue_wait_expired`, `group_limit`,
///   `rate_limited`, after `weir::retry_after` of them, and `deadline_exceeded`, `task_timed_out`;
/// - of other codes: connection refused, reset, aborted or lost, broken pipe, end of file, timed
///   out, try again, host or network unreachable or down, name not resolved for now.
///
/// Nothing else: not `operation_aborted`, `invalid_argument`, `breaker_open`, `retry_exhausted`,
/// nor exceptions without a code, which may well be errors of the program. What passes through is
/// seen at the first test; what was repeated and should not have been is seen in production.
retry_advice default_retry_advice(const std::exception_ptr& error) noexcept;

/// An attempt failed and will be followed by another, after `delay`.
struct retry_event {
  int attempt;  ///< that failed; the first is 1
  std::exception_ptr error;
  duration delay;
};

/// Why no further attempt was made.
enum class give_up : std::uint8_t {
  attempts,  ///< there were as many as there may be
  time,      ///< the next would have come too late
  budget,    ///< others have used up the budget
};

/// Each attempt failed. `code()` is `retry_exhausted`; the last attempt's exception is nested:
///
/// \code
/// catch (const weir::retry_error& e) {
///   try {
///     e.rethrow_nested();
///   } catch (const boost::system::system_error& cause) {
///     log(e.attempts(), cause.code());
///   }
/// }
/// \endcode
class retry_error : public boost::system::system_error, public std::nested_exception {
 public:
  /// Nests the exception that is being handled.
  retry_error(int attempts, give_up reason);

  int attempts() const noexcept { return attempts_; }
  give_up reason() const noexcept { return reason_; }

 private:
  int attempts_;
  give_up reason_;
};

/// Runs `f` until it succeeds, waiting longer and longer in between.
///
/// \param f `awaitable<T>()` or `awaitable<T>(const attempt&)`, called once for each attempt. It
/// must be idempotent: an attempt that failed may have had its effect. \param advise
/// `retry_advice(const std::exception_ptr&)`, or `bool`: whether an error is worth another attempt.
/// \param on_retry `void(const retry_event&)`: called before each wait.
///
/// Errors: `deadline_exceeded` at once, and no attempt, where the deadline has passed already.
/// `retry_error` with `retry_exhausted` when it gives up: after `max_attempts`; when the
/// next attempt would begin at or after the deadline, at once and without waiting in vain; when the
/// budget is used up. An error that is not worth another attempt passes through as it is. What
/// `f`, `advise` or `on_retry` throw by being called passes through, but for `f`, whose call counts
/// as a part of the attempt. system_error with `invalid_argument` if `options` are not valid.
///
/// An attempt that runs at the deadline, or beyond `attempt_timeout`, is cancelled as by
/// `with_deadline`, and awaited; its error is `deadline_exceeded`. A result that comes in spite of
/// it is a success.
///
/// Cancellation: the types that the caller's coroutine accepts, at any await: `operation_aborted`,
/// and no further attempt. An attempt that succeeds in spite of it is a success.
///
/// Executor: the caller's; attempts with a deadline run as `with_deadline` says.
///
/// \code
/// const auto fetch_page = [&](const weir::attempt&) { return fetch(url); };
/// const std::string page = co_await weir::retry(fetch_page, {.max_attempts = 5, .total = 10s});
/// \endcode
template <typename F, typename Advise = detail::default_advice,
          typename OnRetry = detail::ignore_event>
boost::asio::awaitable<detail::attempt_result_t<F>> retry(F f, retry_options options = {},
                                                          Advise advise = {},
                                                          OnRetry on_retry = {});

}  // namespace weir

#include <weir/impl/retry.hpp>

#endif  // WEIR_RETRY_HPP
