// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// What browser.py looks at: a pool with tasks in every state, users with hostile names, and work
// that comes and goes. Prints its port and runs until its standard input ends.

#include <weir/admin.hpp>
#include <weir/error.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> sleep(weir::duration d) {
  weir::steady_timer timer(co_await asio::this_coro::executor, d);
  co_await timer.async_wait(asio::use_awaitable);
}

void submit(weir::worker_pool& pool, std::string user, std::string id, weir::duration d) {
  // Turned down is what some of them are meant to be.
  static_cast<void>(pool.submit({.id = std::move(id),
                                 .user = std::move(user),
                                 .fn = [d](weir::task_context&) { return sleep(d); }}));
}

/// A task that does not end when it is told to.
void submit_stuck(weir::worker_pool& pool) {
  auto sleep_on = [](weir::task_context&) { std::this_thread::sleep_for(4s); };
  static_cast<void>(pool.submit({.id = "stuck", .user = "deaf", .fn = sleep_on, .timeout = 1ms}));
}

asio::awaitable<void> churn(weir::worker_pool& pool) {
  for (int i = 0;; ++i) {
    submit(pool, i % 3 == 0 ? "ada" : "ben", "short " + std::to_string(i),
           std::chrono::milliseconds(40 + i % 7 * 60));
    for (int n = 0; i % 20 < 3 && n < 6; ++n) submit(pool, "ada", {}, 50ms);
    if (i % 50 == 0) submit_stuck(pool);
    co_await sleep(90ms);
  }
}

}  // namespace

int main(int argc, char**) {
  asio::io_context io(1);
  weir::worker_pool pool(
      {.workers = 6, .queue_size = 24, .max_per_user = 12, .grace = 100ms, .name = "uploads"});
  for (int i = 0; i < 3; ++i) submit(pool, "cyd", "long " + std::to_string(i), 1h);
  weir::worker_pool full({.workers = 1, .name = "<img src=x onerror=alert(1)>"});
  submit(full, "<script>document.title='broken'</script>", "hostile", 1h);
  submit(full,
         "\xe2\x80\xae"
         "desrever \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
         "right to left", 1h);
  submit(full, std::string(10'000, 'W'), std::string(10'000, 'i'), 1h);

  weir::admin_options what{.pools = {&pool, &full}, .interval = 250ms};
  if (argc > 1) {  // any argument: nobody is let in
    what.authorize = [](const weir::admin_request&) { return false; };
    what.challenge = "Basic realm=\"weir\"";
  }
  weir::admin_server server(io.get_executor(), std::move(what));
  std::cout << server.local_endpoint().port() << std::endl;
  asio::co_spawn(io, churn(pool), asio::detached);
  std::thread waiter([&] {
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    io.stop();
  });
  io.run();
  waiter.join();
  server.stop();
}
