// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_WITH_TIMEOUT_HPP
#define WEIR_WITH_TIMEOUT_HPP

#include <weir/clock.hpp>
#include <weir/error.hpp>

#include <boost/asio/awaitable.hpp>

namespace weir {

/// How long a caller waits for work that has been cancelled and has not ended.
struct timeout_options {
  duration answer_after{};  ///< from the cancellation to the answer; below zero counts as zero
};

/// Gives `work` until `deadline`, then cancels it.
///
/// The caller is answered when the frame of the work has ended, however long it takes to heed the
/// cancellation: what it holds, such as a permit, has been given back by then. For an answer that
/// does not wait, see the form with `timeout_options`.
///
/// A result that is there in spite of the deadline is delivered, not thrown away.
///
/// Errors: system_error with `deadline_exceeded` where the work threw after it had been cancelled
/// at the deadline. What it threw is the nested exception (`std::rethrow_if_nested`), unless that
/// is only `operation_aborted`. The same at once where the deadline has passed already: the work
/// never starts. Whatever the work throws by itself passes through.
///
/// Cancellation: all types that the caller's coroutine accepts reach the work as they are. One that
/// comes before the deadline wins: what the work then throws passes through. The caller is answered
/// when the work has ended, too.
///
/// Executor: the work runs on a strand of its own over the caller's executor, and everything that
/// it awaits comes back there, so that neither needs a strand on a pool of threads. It must not go
/// over to another executor for good: it could not be cancelled safely there.
///
/// Lifetime: the work may refer to what the caller's coroutine holds.
///
/// \code
/// const std::string page = co_await weir::with_timeout(fetch(url), 5s);
/// \endcode
template <typename T>
boost::asio::awaitable<T> with_deadline(boost::asio::awaitable<T> work, time_point deadline);

/// The same, for so long from this call on. Zero or less has passed already;
/// `duration::max()` is no deadline.
template <typename T>
boost::asio::awaitable<T> with_timeout(boost::asio::awaitable<T> work, duration timeout);

/// Gives `work` until `deadline`, then cancels it, and answers the caller `answer_after` later at
/// the latest, though the work may go on: for callers who must not wait for what ignores
/// cancellation. The time counts from a cancellation by the caller as well.
///
/// \param on_end `void(std::exception_ptr, std::optional<T>)`, or `void(std::exception_ptr)` where
/// `T` is void. It is told how the work ended if the caller was answered before, once, on the
/// strand of the work when its frame has ended; never if the caller got the result. It is a
/// parameter, not an option, since without it what the work came to would be lost. A handle to
/// await the end with was turned down, for one that is dropped loses it too.
///
/// An exception that leaves `on_end` comes out of the `run` of the context.
///
/// Errors: as above, and for a caller who cancelled and is answered early `operation_aborted`.
///
/// Lifetime: the work outlives the caller: it owns all that it uses. What it holds stays with it
/// until it ends.
///
/// \code
/// auto late = [](std::exception_ptr error) { log_late(error); };
/// co_await weir::with_timeout(write(file), 5s, {.answer_after = 100ms}, std::move(late));
/// \endcode
template <typename T, typename OnEnd>
boost::asio::awaitable<T> with_deadline(boost::asio::awaitable<T> work, time_point deadline,
                                        timeout_options options, OnEnd on_end);

/// The same, for so long from this call on.
template <typename T, typename OnEnd>
boost::asio::awaitable<T> with_timeout(boost::asio::awaitable<T> work, duration timeout,
                                       timeout_options options, OnEnd on_end);

}  // namespace weir

#include <weir/impl/with_timeout.hpp>

#endif  // WEIR_WITH_TIMEOUT_HPP
