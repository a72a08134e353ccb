// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// What a full queue does to whoever brings more work. `submit` never waits: you will see it refuse
// the fourth job of a pool that has one worker and room for two. `async_submit` waits: you will see
// a producer come to a halt, and go on as the worker makes room, so that it hands over everything
// and never has more than two jobs waiting.

// expect: job 1: accepted
// expect: job 2: accepted
// expect: job 3: accepted
// expect: job 4: 503, the queue is full
// expect: job 5: 503, the queue is full
// expect: the producer waits: yes
// expect: item 1: handed over
// expect: item 2: handed over
// expect: item 3: handed over
// expect: item 4: handed over
// expect: 7 completed, 2 refused, never more than 2 queued

#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <future>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Brings jobs one by one, each only when the pool has room for it.
asio::awaitable<void> produce(weir::worker_pool& pool) {
  for (int i = 1; i <= 4; ++i) {
    weir::task item{.fn = [](weir::task_context&) {}};
    auto handed_over = pool.async_submit(std::move(item), asio::use_awaitable);
    co_await std::move(handed_over);
    std::cout << "item " << i << ": handed over\n";
  }
  co_await pool.async_shutdown({.deadline = 30s}, asio::use_awaitable);
}

}  // namespace

int main() {
  std::promise<void> started;
  std::promise<void> gate;
  asio::io_context context;
  weir::worker_pool pool({.workers = 1, .queue_size = 2, .max_per_user = 0});

  // The first job keeps the only worker busy until the gate opens.
  const auto first = [&](weir::task_context&) {
    started.set_value();
    gate.get_future().wait();
  };
  for (int i = 1; i <= 5; ++i) {
    weir::task job{.id = "job-" + std::to_string(i), .fn = [](weir::task_context&) {}};
    if (i == 1) job.fn = first;
    const weir::error_code ec = pool.submit(std::move(job));
    std::cout << "job " << i << ": ";
    if (ec)
      std::cout << weir::http_status(ec) << ", " << ec.message() << '\n';
    else
      std::cout << "accepted\n";
    if (i == 1) started.get_future().wait();  // so that it no longer takes up room in the queue
  }

  auto produced = asio::co_spawn(context, produce(pool), asio::use_future);
  context.poll();
  std::cout << "the producer waits: " << (pool.metrics().waiting == 1 ? "yes" : "no") << '\n';

  gate.set_value();
  context.run();
  produced.get();
  const weir::pool_metrics m = pool.metrics();
  std::cout << m.completed << " completed, " << m.rejected.queue_full
            << " refused, never more than " << m.queued_max << " queued\n";
}
