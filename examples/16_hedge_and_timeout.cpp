// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Two replicas that answer in 5 ms, but one time in twenty need a second. You will see what that
// does to the slowest calls, that a deadline turns them into errors, and that a hedge, which asks
// the other replica when the first has not answered in 10 ms, makes nearly all of them fast for 5%
// more requests.

// expect: ^ *way +p50 +p99 +errors +requests +left behind$
// expect: ^ *as they are +5 ms +1000 ms +0 +1000 +0$
// expect: ^ *with_timeout, 50 ms +5 ms +50 ms +[3-7][0-9] +1000 +0$
// expect: ^ *hedge, after 10 ms +5 ms +15 ms +0 +10[0-9][0-9] +0$
// expect: ^ *both +5 ms +15 ms +[0-9] +10[0-9][0-9] +0$

#include <weir/hedge.hpp>
#include <weir/test/random.hpp>
#include <weir/test/virtual_time.hpp>
#include <weir/with_timeout.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct replicas {
  weir::test::random chance{1};
  int requests = 0;
  int inside = 0;

  asio::awaitable<int> ask() {
    ++requests;
    const struct scope {
      int& n;
      explicit scope(int& count) : n(count) { ++n; }
      ~scope() { --n; }  // also where it is cancelled
    } within(inside);
    weir::steady_timer work(co_await asio::this_coro::executor, chance.chance(0.05) ? 1000ms : 5ms);
    co_await work.async_wait(asio::deferred);
    co_return 42;
  }
};

template <typename Way>
void measure(const char* name, Way way) {
  // Virtual time, so that the example takes none. A program has an executor of its own here.
  weir::test::virtual_time time;
  replicas r;
  std::vector<weir::duration> took;
  int errors = 0;
  int left_behind = 0;
  time.spawn([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 1000; ++i) {
      const auto begin = weir::steady_clock::now();
      try {
        co_await way(r);
      } catch (const boost::system::system_error&) {
        ++errors;
      }
      took.push_back(weir::steady_clock::now() - begin);
      left_behind += r.inside;
    }
  });
  time.run();
  std::sort(took.begin(), took.end());
  std::printf("%20s %4d ms %5d ms %6d %9d %12d\n", name, static_cast<int>(took[500] / 1ms),
              static_cast<int>(took[990] / 1ms), errors, r.requests, left_behind);
}

}  // namespace

int main() {
  const auto bare = [](replicas& r) { return r.ask(); };
  const auto timed = [](replicas& r) { return weir::with_timeout(r.ask(), 50ms); };
  const auto hedged = [](replicas& r) {
    return weir::hedge([&r] { return r.ask(); }, {.after = 10ms});
  };
  const auto both = [](replicas& r) {
    return weir::with_timeout(weir::hedge([&r] { return r.ask(); }, {.after = 10ms}), 50ms);
  };
  std::printf("%20s %7s %8s %6s %9s %12s\n", "way", "p50", "p99", "errors", "requests",
              "left behind");
  measure("as they are", bare);
  measure("with_timeout, 50 ms", timed);
  measure("hedge, after 10 ms", hedged);
  measure("both", both);
}
