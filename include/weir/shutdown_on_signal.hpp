// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SHUTDOWN_ON_SIGNAL_HPP
#define WEIR_SHUTDOWN_ON_SIGNAL_HPP

#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>

namespace weir {

/// Something that brings work to a pool and can be told to stop: an acceptor, a consumer.
/// `async_stop(use_awaitable)` ends when it brings no more.
template <typename T>
concept work_source = requires(T& source) {
  { source.async_stop(boost::asio::use_awaitable) } -> std::same_as<boost::asio::awaitable<void>>;
};

/// Waits for SIGINT or SIGTERM, then shuts the pool down within `deadline`. A second signal
/// abandons what is left at once.
///
/// \returns the report of the shutdown.
///
/// Cancellation: before a signal, terminal cancellation ends the wait with `operation_aborted`
/// and the pool goes on. Executor: the awaiting coroutine's, on which the signals are received.
/// Lifetime: the pool outlives the coroutine.
/// \code
/// asio::co_spawn(ctx, weir::shutdown_on_signal(pool, 30s), asio::detached);
/// \endcode
boost::asio::awaitable<shutdown_report> shutdown_on_signal(
    worker_pool& pool, duration deadline = std::chrono::seconds(30));

/// The same with what feeds the pool: the source is stopped first, so that nothing is offered to
/// a pool that is closing. Its stopping counts towards the deadline: one that has not stopped by
/// then is cancelled, and not waited for. What `async_stop` throws is rethrown when the pool has
/// been shut down. The source outlives its stopping.
template <work_source Source>
boost::asio::awaitable<shutdown_report> shutdown_on_signal(
    worker_pool& pool, Source& source, duration deadline = std::chrono::seconds(30));

}  // namespace weir

#include <weir/impl/shutdown_on_signal.hpp>

#endif  // WEIR_SHUTDOWN_ON_SIGNAL_HPP
