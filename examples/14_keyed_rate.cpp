// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A service allows each of its users 5 requests a second, and 10 at once after a pause. You will
// see that a user who sends 100 a second gets its 5 and a hint when to come again, and that the
// others do not notice; that a batch job which waits for its turn is served at the rate; and that
// somebody who makes up a new name for each request gets no more than a table of a fixed size.

// expect: ^ann: 20 of 20 requests$
// expect: ^bob: 59 of 1000 requests; come again in 0\.01 s$
// expect: ^batch: 40 requests in 6\.0 s$
// expect: ^made-up names: 99 of 2000 requests; 100 keys in the table, 1901 refused for want of a place$
// expect: ^a minute later: carl is let in$

#include <weir/keyed_rate_limiter.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int main() {
  // Virtual time, so that the example takes none.
  weir::test::virtual_time time;
  weir::keyed_rate_limiter<std::string> users(time.get_executor(),
                                              {.rate = 5, .per = 1s, .burst = 10}, 100, "users");
  const auto seconds = [](weir::duration d) { return std::chrono::duration<double>(d).count(); };

  // A request that does not wait: it is let in, or answered with a hint. A view finds its user.
  int ann = 0;
  int bob = 0;
  for (int ms = 0; ms < 10'000; ms += 10) {
    if (ms % 500 == 0) ann += users.try_acquire("ann");
    bob += users.try_acquire("bob");
    if (ms != 9990) time.advance(10ms);
  }
  std::printf("ann: %d of 20 requests\n", ann);
  std::printf("bob: %d of 1000 requests; come again in %.2f s\n", bob,
              seconds(users.when("bob") - time.now()));

  // Work that can wait: it is served in order, and cancelling it gives its tokens back.
  const auto began = time.elapsed();
  time.spawn("batch", [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 40; ++i) co_await users.async_acquire("batch", asio::use_awaitable);
  });
  time.run();
  std::printf("batch: 40 requests in %.1f s\n", seconds(time.elapsed() - began));

  // A bucket that is not full is not forgotten, or its owner would have a full one again. So the
  // table fills, and then new users are refused rather than old ones forgotten.
  int made_up = 0;
  for (int i = 0; i < 2000; ++i) {
    made_up += users.try_acquire("user " + std::to_string(i));
    time.advance(100us);
  }
  const auto m = users.metrics();
  std::printf(
      "made-up names: %d of 2000 requests; %zu keys in the table, %llu refused for want of a "
      "place\n",
      made_up, m.keys, static_cast<unsigned long long>(m.no_place));

  time.advance(1min);
  std::printf("a minute later: carl is %s\n", users.try_acquire("carl") ? "let in" : "refused");
}
