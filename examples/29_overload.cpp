// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A pool that can do four hundred tasks in a second is offered eight hundred. First come, first
// served, all wait for as long as the queue is. You will see CoDel with adaptive LIFO do as much
// work, all of it fresh: who has waited for longer than the target is told at once that it waits in
// vain. The clock is virtual, so the figures are exact.

// expect: without: 99 of 100 waited up to [0-9][0-9][0-9] ms, [0-9]+ ran, 0 shed, [0-9]+ refused
// expect: with:    99 of 100 waited up to [0-9] ms, [0-9]+ ran, [0-9]+ shed, 0 refused, overloaded

#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> five_milliseconds(weir::task_context&) {
  weir::steady_timer timer(co_await asio::this_coro::executor, 5ms);
  co_await timer.async_wait(asio::use_awaitable);
}

void serve(const char* name, weir::codel_options codel) {
  weir::test::virtual_time time;
  weir::worker_pool pool(time.get_executor(),
                         {.workers = 2, .queue_size = 100, .max_per_user = 0, .codel = codel});
  for (int i = 0; i < 16'000; ++i) {
    // What does not fit is refused, and counted.
    pool.submit(weir::task{.fn = five_milliseconds});
    time.run_for(1250us);
  }
  const weir::pool_metrics m = pool.metrics();
  time.run();
  std::cout << name << "99 of 100 waited up to " << m.queue_wait.quantile(0.99) / 1ms << " ms, "
            << m.completed << " ran, " << m.shed_codel << " shed, " << m.rejected.queue_full
            << " refused" << (m.overloaded ? ", overloaded\n" : "\n");
}

}  // namespace

int main() {
  serve("without: ", {});
  serve("with:    ", {.target = 10ms, .interval = 100ms});
}
