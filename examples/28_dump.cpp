// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// At three in the morning: the pool is full and nothing moves. You will see a dump tell what each
// task is at, which of them ignores its deadline, and which wait for the one connection to a
// database; and the difference of two dumps name the line from which the tasks come that never end.
// A server would print both when it is sent SIGUSR1, from a handler of `asio::signal_set`.

// expect: pool 'requests': 4 tasks
// expect:   stuck    'export' of 'ada', priority 0, age [0-9.]+s, .*asked to stop: timeout, from 28_dump.cpp:[0-9]+
// expect:   running  'report' of 'grace', .*waits for semaphore acquire of 'database'
// expect:   running  'page' of 'linus', .*waits for semaphore acquire of 'database'
// expect:   queued   'page 2' of 'linus', priority 0, age
// expect: grown: \+2 tasks from 28_dump.cpp:[0-9]+

#include <weir/semaphore.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Does not listen when it is told to stop.
asio::awaitable<void> export_all(weir::task_context&) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  weir::steady_timer timer(co_await asio::this_coro::executor, 300ms);
  co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace

int main() {
  asio::io_context context(1);
  weir::worker_pool pool(context.get_executor(),
                         {.workers = 3, .task_timeout = 10s, .grace = 20ms, .name = "requests"});
  weir::semaphore database(context.get_executor(), 1, "database");
  const weir::permit forgotten = database.try_acquire();
  const auto query = [&database](weir::task_context&) -> asio::awaitable<void> {
    const weir::permit connection = co_await database.async_acquire(asio::use_awaitable);
  };
  const auto hand_over = [&](const char* id, const char* user) {
    if (pool.submit({.id = id, .user = user, .fn = query})) std::cout << id << " was refused\n";
  };

  pool.submit({.id = "export", .user = "ada", .fn = export_all, .timeout = 10ms});
  context.run_for(10ms);
  hand_over("report", "grace");
  context.run_for(30ms);
  const weir::task_dump before = pool.dump();
  hand_over("page", "linus");
  hand_over("page 2", "linus");
  context.run_for(10ms);

  const weir::task_dump after = pool.dump();
  std::cout << after;
  for (const weir::task_growth& line : growth(before, after))
    std::cout << "grown: +" << line.change << " tasks from "
              << std::filesystem::path(line.spawned.file_name()).filename().string() << ':'
              << line.spawned.line() << '\n';
}
