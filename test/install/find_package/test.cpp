// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Runs one task that takes an hour, on the virtual time of the installed test kit.

#include <weir/clock.hpp>
#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int main() {
  weir::test::virtual_time time;
  weir::worker_pool pool(time.get_executor(), {.task_timeout = 2h});
  const auto start = time.now();
  const auto error =
      pool.submit({.user = "me", .fn = [](weir::task_context&) -> asio::awaitable<void> {
                     weir::steady_timer timer(co_await asio::this_coro::executor, 1h);
                     co_await timer.async_wait(asio::use_awaitable);
                   }});
  if (error) return 1;
  time.run();
  std::cout << "completed: " << pool.metrics().completed << '\n';
  return pool.metrics().completed == 1 && time.now() - start == 1h ? 0 : 1;
}
