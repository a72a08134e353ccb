// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_SLEEP_FOR_HPP
#define WEIR_TEST_SLEEP_FOR_HPP

#include <weir/clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir_test {

/// Waits on weir's clock, which most tests have stopped; cancellable.
inline boost::asio::awaitable<void> sleep_for(weir::duration d) {
  weir::steady_timer timer(co_await boost::asio::this_coro::executor, d);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

}  // namespace weir_test

#endif  // WEIR_TEST_SLEEP_FOR_HPP
