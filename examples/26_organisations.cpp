// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Limits within limits: a user may hold three slots, all users of an organisation five, and of each
// user's tasks two may wait. You will see who is refused by which of them, that a script which
// sends too fast leaves the queue to the others, and that the answer says what to wait for.

// expect: acme/ann: taken taken taken, "the user holds as many slots as one user may"
// expect: acme/bob: taken taken, "the tenant holds as many slots as one tenant may"
// expect: initech/script: taken taken, "the user has as many tasks in the queue as one user may"
// expect: initech/cat: taken
// expect: when all have ended: 8 completed, 0 organisations hold a slot

#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> request(weir::task_context&) {
  weir::steady_timer timer(co_await asio::this_coro::executor, 10ms);
  co_await timer.async_wait(asio::use_awaitable);
}

/// Hands over `n` requests of one user, each when the one before it has found its worker, if there
/// is one for it.
void send(weir::test::virtual_time& time, weir::worker_pool& pool, const std::string& user, int n) {
  std::cout << user << ':';
  for (int i = 0; i < n; ++i) {
    const auto ec = pool.submit({.user = user, .fn = request});
    std::cout << (ec ? ", \"" + ec.message() + '"' : " taken");
    time.settle();
  }
  std::cout << '\n';
}

}  // namespace

int main() {
  weir::test::virtual_time time;
  // Organisation and user are one name, "acme/ann"; `tenant_of` would tell them apart otherwise.
  weir::worker_pool pool(time.get_executor(), {.workers = 5,
                                               .queue_size = 20,
                                               .max_per_user = 3,
                                               .max_queued_per_user = 2,
                                               .max_per_tenant = 5});
  send(time, pool, "acme/ann", 4);
  send(time, pool, "acme/bob", 3);
  send(time, pool, "initech/script", 3);
  send(time, pool, "initech/cat", 1);
  time.run();
  std::cout << "when all have ended: " << pool.metrics().completed << " completed, "
            << pool.metrics().tenants << " organisations hold a slot\n";
}
