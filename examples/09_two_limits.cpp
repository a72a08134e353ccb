// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A client of a service that bears 50 requests a second and 4 at once, which are two limits: the
// first is kept by a rate_limiter, the second by a semaphore. You will see that with either alone
// the other is broken as soon as the service answers faster or slower than was thought, and that
// with both neither is, at no cost while it is as fast as was thought.

// expect: ^ *service takes  limits +most at once +requests a second$
// expect: ^ *20 ms +rate +1 +50$
// expect: ^ *500 ms +rate +25 +[0-9]+$
// expect: ^ *20 ms +slots +4 +200$
// expect: ^ *500 ms +slots +4 +8$
// expect: ^ *20 ms +both +1 +50$
// expect: ^ *500 ms +both +4 +8$

#include <weir/rate_limiter.hpp>
#include <weir/semaphore.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// A service that counts how it is treated.
struct service {
  std::chrono::milliseconds takes;
  int inside = 0;
  int most = 0;

  asio::awaitable<void> serve() {
    most = std::max(most, ++inside);
    weir::steady_timer work(co_await asio::this_coro::executor, takes);
    co_await work.async_wait(asio::deferred);
    --inside;
  }
};

constexpr int requests = 400;

void measure(std::chrono::milliseconds takes, bool by_rate, bool by_slots) {
  // Virtual time, so that the example takes none. A program has an executor of its own here.
  weir::test::virtual_time time;
  const auto executor = time.get_executor();
  weir::rate_limiter rate(executor, {.rate = 50, .per = 1s, .burst = 1}, "requests to the service");
  weir::semaphore slots(executor, 4, "connections to the service");
  service s{takes};
  for (int i = 0; i < requests; ++i)
    time.spawn([&]() -> asio::awaitable<void> {
      // The slot first: a token that waits for a slot would be spent in a bunch later on.
      weir::permit slot;
      if (by_slots) slot = co_await slots.async_acquire(asio::use_awaitable);
      if (by_rate) co_await rate.async_acquire(asio::use_awaitable);
      co_await s.serve();
    });
  time.run();
  const double seconds = std::chrono::duration<double>(time.elapsed()).count();
  std::printf("%9d ms  %-6s %13d %21.0f\n", static_cast<int>(takes.count()),
              by_rate && by_slots ? "both"
              : by_rate           ? "rate"
                                  : "slots",
              s.most, requests / seconds);
}

}  // namespace

int main() {
  std::printf("service takes  limits  most at once  requests a second\n");
  for (const auto& [by_rate, by_slots] : {std::pair{true, false}, {false, true}, {true, true}})
    for (const auto takes : {20ms, 500ms}) measure(takes, by_rate, by_slots);
}
