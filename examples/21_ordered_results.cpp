// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The ordered worker pool in one expression: workers take jobs as they come, and results leave in
// the order of the jobs. You will see that the first job, which is slow, holds back at most a
// window of results; that one which is later than its deadline is left out and those behind it go
// on; and that a consumer which has enough ends everything above it.

// expect: ^as they are done: 1 2 3 0
// expect: ^as they came: 0 1 2 3
// expect: ^behind a slow one there are never more than 4
// expect: ^without the one that was late: 1 2 3
// expect: ^the first of endlessly many over 20: 21, found when [0-9]+ had been started

#include <weir/pipeline.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <ranges>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

int started = 0;

/// A job. The first takes its time.
asio::awaitable<int> work(int i) {
  ++started;
  weir::steady_timer timer(co_await asio::this_coro::executor, i == 0 ? 100ms : i * 10ms);
  co_await timer.async_wait(asio::deferred);
  co_return i;
}

void print(const char* what, const std::vector<int>& results) {
  std::cout << what;
  for (const int i : results) std::cout << ' ' << i;
  std::cout << '\n';
}

asio::awaitable<void> run() {
  const auto jobs = std::views::iota(0, 4);
  print("as they are done:",
        co_await (weir::from(jobs) | weir::map(work, {.concurrency = 4}) | weir::collect()));

  print("as they came:",
        co_await (weir::from(jobs) |
                  weir::map(work, {.concurrency = 4, .order = weir::input_order(4)}) |
                  weir::collect()));

  int in = 0;
  int out = 0;
  int most = 0;
  co_await (weir::from(std::views::iota(0, 100)) |
            weir::tap([&](int) { most = std::max(most, ++in - out); }) |
            weir::map(work, {.concurrency = 2, .order = weir::input_order(4)}) |
            weir::for_each([&](int) { ++out; }));
  std::cout << "behind a slow one there are never more than " << most << '\n';

  print("without the one that was late:",
        co_await (
            weir::from(jobs) |
            weir::map(work, {.concurrency = 2, .order = weir::input_order(4, 50ms, weir::skip)}) |
            weir::collect()));

  started = 0;
  const auto found = co_await (weir::from(std::views::iota(1)) |
                               weir::map(work, {.concurrency = 4, .order = weir::input_order(8)}) |
                               weir::filter([](int i) { return i > 20; }) | weir::first());
  std::cout << "the first of endlessly many over 20: " << *found << ", found when " << started
            << " had been started\n";
}

}  // namespace

int main() {
  weir::test::virtual_time time;  // so that the example takes none
  time.spawn(run());
  time.run();
}
