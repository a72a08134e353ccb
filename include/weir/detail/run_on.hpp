// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_RUN_ON_HPP
#define WEIR_DETAIL_RUN_ON_HPP

#include <weir/detail/child.hpp>
#include <weir/detail/fault_point.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include <memory>
#include <utility>

namespace weir::detail {

/// Runs `work` on a strand of its own on `ex` and waits for its end, whatever is asked meanwhile:
/// the caller's cancellation is passed on.
///
/// `boost::asio::co_spawn` was turned down: its cancellation reaches for a signal that may be gone
/// where the two coroutines run on different executors.
///
/// \param what the wait, as reports call it
template <typename T>
boost::asio::awaitable<T> run_on(boost::asio::any_io_executor ex, boost::asio::awaitable<T> work,
                                 launch how, const char* what) {
  namespace this_coro = boost::asio::this_coro;

  fault_point();
  const auto watch = std::make_shared<child_watch>(std::move(ex), what);
  const auto run = std::make_shared<child<T>>(watch);
  const bool throws = co_await this_coro::throw_if_cancelled();
  co_await this_coro::throw_if_cancelled(false);
  const boost::asio::cancellation_state state = co_await this_coro::cancellation_state;
  auto seen = state.cancelled();
  run->start(std::move(work), how);
  while (!run->ended()) {
    auto wait = watch->async_wait(time_point::max(), boost::asio::as_tuple(boost::asio::deferred));
    const auto [ec] = co_await std::move(wait);
    const auto type = state.cancelled();
    if (ec == boost::asio::error::operation_aborted || type != seen) {
      seen = type;
      run->cancel(type);
    }
  }
  co_await this_coro::throw_if_cancelled(throws);
  co_return std::move(run->result()).get();
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_RUN_ON_HPP
