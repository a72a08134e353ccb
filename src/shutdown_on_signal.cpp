// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/shutdown_on_signal.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>

#include <csignal>
#include <exception>
#include <memory>
#include <utility>

namespace weir {

namespace asio = boost::asio;

namespace {

/// The stopping of a source, which may outlive the patience for it.
struct stopping {
  explicit stopping(const asio::any_io_executor& ex, time_point limit) : done(ex, limit) {}
  steady_timer done;  ///< expires at the limit, is cancelled when the source has stopped
  asio::cancellation_signal signal;
  std::exception_ptr failure;
  bool ended = false;
};

asio::awaitable<std::exception_ptr> stop_by(time_point limit,
                                            std::function<asio::awaitable<void>()> stop_source) {
  const auto executor = co_await asio::this_coro::executor;
  const auto state = std::make_shared<stopping>(executor, limit);
  auto on_stopped = [state](std::exception_ptr e) {
    state->failure = std::move(e);
    state->ended = true;
    state->done.cancel();
  };
  asio::co_spawn(executor, std::move(stop_source),
                 asio::bind_cancellation_slot(state->signal.slot(), std::move(on_stopped)));
  if (!state->ended) {
    error_code cancelled;
    co_await state->done.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  if (!state->ended) state->signal.emit(asio::cancellation_type::terminal);
  co_return state->failure;
}

}  // namespace

asio::awaitable<shutdown_report> detail::shutdown_on_signal(
    worker_pool& pool, duration deadline, std::function<asio::awaitable<void>()> stop_source) {
  asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM);
  co_await signals.async_wait(asio::use_awaitable);
  const time_point limit = saturating_add(steady_clock::now(), deadline);
  // Whoever asks a second time is not willing to wait. The handler runs on this coroutine's
  // executor, and `signals` cancels it before the pool may go.
  signals.async_wait([&pool](const error_code& ec, int) {
    if (!ec) pool.async_shutdown({.deadline = duration::zero(), .abandon = true}, asio::detached);
  });
  std::exception_ptr failure;
  if (stop_source) failure = co_await stop_by(limit, std::move(stop_source));
  auto report =
      co_await pool.async_shutdown({.deadline = limit - steady_clock::now()}, asio::use_awaitable);
  if (failure) std::rethrow_exception(failure);
  co_return report;
}

asio::awaitable<shutdown_report> shutdown_on_signal(worker_pool& pool, duration deadline) {
  return detail::shutdown_on_signal(pool, deadline, nullptr);
}

}  // namespace weir
