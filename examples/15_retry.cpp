// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A service that a hundred clients call fails for two seconds, and each client tries again. You
// will see that clients which wait the same time come back together, a hundred at once, that jitter
// spreads them, and that a budget which they share keeps the load near to what it was when nothing
// failed, at the price of calls that are given up.

// expect: ^ *retries +requests +most in 10 ms +calls that failed$
// expect: ^ *fixed delays +600 +100 +0$
// expect: ^ *full jitter +[0-9]+ +[1-9][0-9]? +[0-9]+$
// expect: ^ *with a budget +1[0-9][0-9] +[1-9][0-9]? +[0-9]+$

#include <weir/retry.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr int clients = 100;

/// Refuses for two seconds, then answers; counts how it is treated.
struct service {
  weir::time_point start = weir::steady_clock::now();
  int requests = 0;
  std::map<std::int64_t, int> in;  // each 10 ms, but for those in which all begin

  asio::awaitable<void> ask() {
    const weir::duration since = weir::steady_clock::now() - start;
    ++requests;
    if (since > 0ms) ++in[since / 10ms];
    if (since < 2s) throw boost::system::system_error(asio::error::connection_refused);
    co_return;
  }
};

void measure(const char* name, weir::jitter jitter, weir::retry_budget* budget) {
  // Virtual time, so that the example takes none. A program has an executor of its own here.
  weir::test::virtual_time time;
  service s;
  int failed = 0;
  for (int i = 0; i < clients; ++i)
    time.spawn([&, i]() -> asio::awaitable<void> {
      const weir::retry_options options{
          .max_attempts = 8,
          .total = 10s,
          .backoff = {.base = 100ms, .factor = 2, .cap = 2s, .jitter = jitter},
          .budget = budget,
          .seed = static_cast<std::uint64_t>(i) + 1};  // for the same output each time
      try {
        co_await weir::retry([&] { return s.ask(); }, options);
      } catch (const weir::retry_error&) {
        ++failed;
      }
    });
  time.run();
  const auto most = std::max_element(s.in.begin(), s.in.end(), [](const auto& a, const auto& b) {
                      return a.second < b.second;
                    })->second;
  std::printf("%14s %9d %15d %18d\n", name, s.requests, most, failed);
}

}  // namespace

int main() {
  std::printf("%14s %9s %15s %18s\n", "retries", "requests", "most in 10 ms", "calls that failed");
  measure("fixed delays", weir::jitter::none, nullptr);
  measure("full jitter", weir::jitter::full, nullptr);
  weir::retry_budget budget({.ratio = 0.2, .min_per_second = 1});
  measure("with a budget", weir::jitter::full, &budget);
}
