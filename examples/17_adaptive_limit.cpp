// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A service that serves 16 calls at once, then 4, then 32, and a client with 200 callers that knows
// none of it. You will see that a fixed limit of 64 lets calls wait at the service, up to sixteen
// times as long as they take, while an adaptive_limit finds where the service is full, each time,
// and the service stays as busy. Then a worker pool is kept at a size that is found in the same
// way.

// expect: ^ *serves  limit    is at  calls a second  slowest call$
// expect: ^ *16  fixed +64 +1600 +40 ms$
// expect: ^ *4  fixed +64 +400 +160 ms$
// expect: ^ *16  adaptive +(1[6-9]|2[0-9]|3[0-4]) +1[56][0-9][0-9] +[23]0 ms$
// expect: ^ *4  adaptive +([4-9]|1[01]) +(3[5-9][0-9]|4[0-9][0-9]) +[23]0 ms$
// expect: ^ *32  adaptive +(3[2-9]|[45][0-9]|6[0-5]) +(29|3[0-2])[0-9][0-9] +[23]0 ms$
// expect: ^pool: ([89]|1[0-9]) workers for a service that serves 8$

#include <weir/adaptive_limit.hpp>
#include <weir/semaphore.hpp>
#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Takes 10 ms for a call; the others wait for a turn, which the client cannot see.
struct service {
  explicit service(const asio::any_io_executor& ex, int serves) : turns(ex, serves) {}
  weir::semaphore turns;
  int calls = 0;
  weir::duration slowest{};

  asio::awaitable<void> call() {
    const auto began = weir::steady_clock::now();
    const weir::permit turn = co_await turns.async_acquire(asio::use_awaitable);
    weir::steady_timer work(co_await asio::this_coro::executor, 10ms);
    co_await work.async_wait(asio::deferred);
    ++calls;
    slowest = std::max(slowest, weir::steady_clock::now() - began);
  }
};

void client(const char* name, const weir::gradient_options& options) {
  weir::test::virtual_time time;
  service s(time.get_executor(), 16);
  weir::adaptive_limit limit(time.get_executor(), options);
  bool open = true;
  for (int i = 0; i < 200; ++i)
    time.spawn([&]() -> asio::awaitable<void> {
      while (open) {
        weir::limited_call call = co_await limit.async_acquire(asio::use_awaitable);
        co_await s.call();
        call.success();
      }
    });
  for (const int serves : {16, 4, 32}) {
    s.turns.resize(serves);
    time.run_for(10s);  // to find out
    s.calls = 0;
    s.slowest = {};
    time.run_for(10s);
    std::printf("%6d  %-8s %6d  %14d  %9d ms\n", serves, name, limit.limit(), s.calls / 10,
                static_cast<int>(s.slowest / 1ms));
  }
  open = false;
  time.run();
}

void pool_of_the_right_size() {
  weir::test::virtual_time time;
  service s(time.get_executor(), 8);
  weir::worker_pool pool(time.get_executor(), {.workers = 100, .max_per_user = 0});
  weir::adaptive_limit limit(time.get_executor(), weir::gradient_options{.initial = 100});
  limit.drive([&pool](int workers) { pool.resize(workers); });
  const auto task = [&](weir::task_context&) -> asio::awaitable<void> {
    weir::limited_call call = limit.measure();  // the pool has admitted it
    co_await s.call();
    call.success();
  };
  time.spawn([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 10'000; ++i) {
      auto op = pool.async_submit({.id = {}, .user = {}, .fn = task}, asio::use_awaitable);
      co_await std::move(op);
    }
  });
  time.run();
  std::printf("pool: %d workers for a service that serves 8\n", pool.metrics().workers);
}

}  // namespace

int main() {
  std::printf("serves  limit    is at  calls a second  slowest call\n");
  client("fixed", {.initial = 64, .min = 64, .max = 64});
  client("adaptive", {.initial = 64});
  pool_of_the_right_size();
}
