// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A pool with room for two is offered six tasks before its context runs, and shown to Prometheus
// under the name "accounts". You will see the body of `GET /metrics`, which a server of yours would
// send: one task completed, one failed, and four turned down since the queue was full.

// expect: ^weir_pool_rejected_total\{pool="accounts",cause="queue_full"\} 4$
// expect: ^weir_pool_run_seconds_count\{pool="accounts"\} 2$
// expect: ^weir_pool_tasks_total\{pool="accounts",outcome="completed"\} 1$
// expect: ^weir_pool_tasks_total\{pool="accounts",outcome="failed"\} 1$
// expect: ^weir_pool_workers\{pool="accounts"\} 1$
// expect: ^weir_semaphore_in_use\{semaphore="connections"\} 1$

#include <weir/prometheus.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int main() {
  asio::io_context context;
  weir::semaphore connections(context.get_executor(), 4);
  weir::worker_pool pool(context.get_executor(),
                         {.workers = 1, .queue_size = 2, .max_per_user = 6});

  // After what they show, so that they go first. With an exposer of prometheus-cpp: a shared_ptr
  // to the collector, and exposer.RegisterCollectable(collector).
  weir::prometheus_collector collector;
  const auto pool_shown = collector.add(pool, "accounts");
  const auto connections_shown = collector.add(connections, "connections");

  for (int i = 0; i < 6; ++i) {
    weir::task work{.user = "anna", .fn = [i](weir::task_context&) -> asio::awaitable<void> {
                      weir::steady_timer timer(co_await asio::this_coro::executor, 5ms);
                      co_await timer.async_wait(asio::use_awaitable);
                      if (i == 1) throw std::runtime_error("no such account");
                    }};
    (void)pool.submit(std::move(work));  // an error says which limit it was; it is counted too
  }
  context.run();

  const weir::permit connection = connections.try_acquire();
  std::cout << prometheus_text(collector);
}
