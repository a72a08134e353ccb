// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A value that is written to five replicas and counts as written when three have it. You will see
// that the slow ones are not waited for, that two which are down do no harm, that with three down
// it fails as soon as that is known, and that all the outcomes are there to be looked at.

// expect: ^all well: written after 3 ms \(3 acknowledged, 0 failed, 2 cancelled\)$
// expect: ^two down: written after 5 ms \(3 acknowledged, 2 failed, 0 cancelled\)$
// expect: ^three down: replica 1 is down, known after 3 ms \(0 acknowledged, 3 failed, 2 cancelled\)$
// expect: ^audit of three down: down down down cancelled cancelled$

#include <weir/task_group.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The n-th replica answers after n milliseconds.
asio::awaitable<void> write_to(int replica, bool down) {
  weir::steady_timer network(co_await asio::this_coro::executor, replica * 1ms);
  co_await network.async_wait(asio::deferred);
  if (down) throw std::runtime_error("replica " + std::to_string(replica) + " is down");
}

asio::awaitable<void> write_to_all(const char* title, int down, bool audit,
                                   const weir::test::virtual_time& time) {
  const auto executor = co_await asio::this_coro::executor;
  weir::task_group group(executor, {.limit = 5, .on_error = weir::quorum(3), .name = "replicas"});
  for (int replica = 1; replica <= 5; ++replica) {
    auto member = [replica, down] { return write_to(replica, replica <= down); };
    co_await group.async_spawn(std::move(member), asio::use_awaitable);
  }
  const auto [error, result] = co_await group.async_wait(asio::as_tuple(asio::use_awaitable));
  std::cout << title << ": ";
  try {
    if (error) std::rethrow_exception(error);
    std::cout << "written";
  } catch (const std::runtime_error& e) {
    std::cout << e.what() << ", known";
  }
  std::cout << " after " << time.elapsed() / 1ms << " ms (" << result.succeeded << " acknowledged, "
            << result.failed << " failed, " << result.cancelled << " cancelled)\n";
  if (!audit) co_return;
  std::cout << "audit of " << title << ':';
  for (const auto& o : result.outcomes)
    std::cout << (o.has_value() ? " written" : o.cancelled() ? " cancelled" : " down");
  std::cout << '\n';
}

void write(const char* title, int down, bool audit = false) {
  // Virtual time, so that the example takes none. A program has an executor of its own here.
  weir::test::virtual_time time;
  time.spawn(write_to_all(title, down, audit, time));
  time.run();
}

}  // namespace

int main() {
  write("all well", 0);
  write("two down", 2);
  write("three down", 3, true);
}
