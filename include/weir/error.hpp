// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_ERROR_HPP
#define WEIR_ERROR_HPP

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <optional>
#include <ostream>
#include <type_traits>

namespace weir {

using error_code = boost::system::error_code;

/// Every way in which weir says no. The comment on a value is the advice to its caller.
///
/// Cancellation that the caller itself asked for is not here: it is
/// `boost::asio::error::operation_aborted`, as everywhere in Asio.
enum class errc {
  /// The pool takes no more work. Stop submitting; another instance may take it.
  pool_closed = 1,
  /// This user holds as many slots as one user may. Wait for one of its own tasks to end.
  user_limit_reached,
  /// The queue has no room. Shed the work, or retry after a while with backoff.
  queue_full,
  /// The task waited in the queue longer than it was worth. It never ran: retry if still wanted.
  queue_wait_expired,
  /// The task outlived its run deadline. It may have had effects: retry only what is idempotent.
  task_timed_out,
  /// A shutdown ended the task. Submit it again elsewhere, or after the restart.
  shutdown_cancelled,
  /// The group runs as many members as it may. Wait for room with the `async_` form.
  group_limit,
  /// The rate is used up. Try again when `retry_after` says so.
  rate_limited,
  /// The breaker is open: the dependency is failing. Use a fallback; do not retry at once.
  breaker_open,
  /// Each attempt failed. The last cause is in the nested exception; give up or escalate.
  retry_exhausted,
  /// The lease has gone to somebody else. Drop the result: it is no longer yours to report.
  lease_lost,
  /// The call can never succeed as written. Correct the call.
  invalid_argument,
  /// The semaphore takes no more requests. Stop; what it guarded is going away.
  semaphore_closed,
  /// The rate limiter takes no more requests. Stop; what it guarded is going away.
  rate_limiter_closed,
  /// The queue takes no more items, and none is left in it. Stop.
  queue_closed,
  /// The group takes no more members: it has failed, is cancelled, or has ended. Stop spawning;
  /// `async_wait` says why.
  group_closed,
  /// The operation was not done by its deadline. It may have had effects: retry only what is
  /// idempotent.
  deadline_exceeded,
  /// This lane has as many tasks as one lane may have. Wait for one of its own tasks to end.
  lane_limit_reached,
  /// This user has as many tasks in the queue as one user may. Wait for one of its own to start.
  user_queue_full,
  /// The users of this tenant hold as many slots as one tenant may. Wait for one of their tasks to
  /// end.
  tenant_limit_reached,
};

/// The category of `errc`, named "weir".
///
/// A shared object: safe from any thread.
const boost::system::error_category& weir_category() noexcept;

/// Makes `errc` convertible to `error_code`; found by argument-dependent lookup.
error_code make_error_code(errc e) noexcept;

/// Prints as the error code does: "weir:3".
template <typename Char, typename Traits>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, errc e) {
  return out << make_error_code(e);
}

/// The HTTP status that tells a client of `ec`: 200 for success, 429 and 503 for limits and
/// overload, 504 for deadlines, 400 for `invalid_argument`, 499 for a caller that has gone,
/// 500 for any error that weir does not know.
int http_status(const error_code& ec) noexcept;

/// The hint that belongs in a `Retry-After` header beside `http_status(ec)`, in whole seconds;
/// empty where a retry cannot help.
std::optional<std::chrono::seconds> retry_after(const error_code& ec) noexcept;

}  // namespace weir

template <>
struct boost::system::is_error_code_enum<weir::errc> : std::true_type {};

#endif  // WEIR_ERROR_HPP
