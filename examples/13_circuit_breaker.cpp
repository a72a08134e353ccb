// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Ten requests a second, each of which asks a service that answers in 20 ms. From the tenth to the
// thirtieth second the service hangs, and whoever asks hears of it after a second. You will see
// that without a breaker every request of that time waits for its second and the sick service gets
// them all; and that with one the service gets a few, users hear no at once, with a time at which
// to come again, and all is as before soon after the service is.

// expect: ^without a breaker: 200 calls of the sick service, a request that failed took 1000 ms$
// expect: ^\+12\.[0-9] s: closed -> open$
// expect: ^\+17\.[0-9] s: open -> half_open$
// expect: ^\+18\.[0-9] s: half_open -> open$
// expect: ^\+35\.[0-9] s: half_open -> closed$
// expect: ^with a breaker: 32 calls of the sick service, a request that failed took 124 ms$
// expect: ^told to come again in 5\.0 s or less, 227 times$

#include <weir/circuit_breaker.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

double seconds(weir::duration d) { return std::chrono::duration<double>(d).count(); }

asio::awaitable<void> sleep_for(weir::duration d) {
  weir::steady_timer timer(co_await asio::this_coro::executor, d);
  co_await timer.async_wait(asio::deferred);
}

// Virtual time, so that the example takes none.
void measure(bool by_breaker) {
  weir::test::virtual_time time;
  int calls_while_sick = 0;
  int failed = 0;
  int told = 0;
  weir::duration waited{};
  weir::duration longest_hint{};

  const auto ask = [&]() -> asio::awaitable<void> {
    if (time.elapsed() < 10s || time.elapsed() >= 30s) {
      co_await sleep_for(20ms);
    } else {
      ++calls_while_sick;
      co_await sleep_for(1s);
      throw boost::system::system_error(weir::errc::deadline_exceeded);
    }
  };

  weir::breaker_hooks hooks;
  hooks.on_change = [&](const weir::breaker_change& c) {
    std::printf("+%.1f s: %s -> %s\n", seconds(time.elapsed()), to_string(c.from), to_string(c.to));
  };
  weir::circuit_breaker breaker({.window_time = 5s, .minimum_calls = 5, .open_for = 5s}, hooks);

  const auto request = [&]() -> asio::awaitable<void> {
    const auto began = time.elapsed();
    try {
      if (by_breaker)
        co_await breaker.run(ask);
      else
        co_await ask();
    } catch (const boost::system::system_error& e) {
      ++failed;
      waited += time.elapsed() - began;
      if (e.code() == weir::errc::breaker_open) {
        ++told;
        longest_hint = std::max(longest_hint, breaker.retry_at() - time.now());
      }
    }
  };
  time.spawn([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 500; ++i) {
      time.spawn(request);
      co_await sleep_for(100ms);
    }
  });
  time.run();
  std::printf("%s a breaker: %d calls of the sick service, a request that failed took %.0f ms\n",
              by_breaker ? "with" : "without", calls_while_sick, seconds(waited / failed) * 1000);
  if (told != 0)
    std::printf("told to come again in %.1f s or less, %d times\n", seconds(longest_hint), told);
}

}  // namespace

int main() {
  measure(false);
  measure(true);
}
