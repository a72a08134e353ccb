// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// One tenant hands over two hundred tasks at once, and nine others one each, a moment later. First
// come, first served, the nine wait for all of the two hundred. You will see a fair pool let each
// of them in after one task of each other; and a pool with a limit on the wait shed what nobody
// waits for any more. The clock is virtual, so the figures are exact.

// expect: fifo: the nine waited 518 ms at most, the greedy one 495 ms
// expect: fair: the nine waited 23 ms at most, the greedy one 520 ms
// expect: no longer than 100 ms: 40 ran, 169 were shed, none waited longer

#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// The longest wait of the greedy tenant, and of all others.
struct waits : weir::pool_observer {
  weir::duration greedy{};
  weir::duration others{};

  void on_task_started(const weir::task_event& task) noexcept override {
    weir::duration& longest = task.user == "greedy" ? greedy : others;
    longest = std::max(longest, task.waited);
  }
};

auto milliseconds(weir::duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

asio::awaitable<void> five_milliseconds(weir::task_context&) {
  weir::steady_timer timer(co_await asio::this_coro::executor, 5ms);
  co_await timer.async_wait(asio::use_awaitable);
}

struct outcome {
  weir::duration greedy;
  weir::duration others;
  weir::pool_metrics metrics;
};

outcome serve(weir::pool_options options) {
  const auto longest = std::make_shared<waits>();
  options.workers = 2;
  options.queue_size = 300;
  options.max_per_user = 0;
  options.observer = longest;
  weir::test::virtual_time time;
  weir::worker_pool pool(time.get_executor(), options);
  const auto hand_over = [&pool](std::string user) {
    weir::task t{.user = std::move(user), .fn = five_milliseconds};
    if (const auto ec = pool.submit(std::move(t))) throw boost::system::system_error(ec);
  };
  for (int i = 0; i < 200; ++i) hand_over("greedy");
  time.run_for(2ms);
  for (int i = 1; i <= 9; ++i) hand_over("tenant " + std::to_string(i));
  time.run();
  return {longest->greedy, longest->others, pool.metrics()};
}

}  // namespace

int main() {
  const outcome fifo = serve({});
  std::cout << "fifo: the nine waited " << milliseconds(fifo.others)
            << " ms at most, the greedy one " << milliseconds(fifo.greedy) << " ms\n";

  const outcome fair = serve({.discipline = weir::discipline::fair});
  std::cout << "fair: the nine waited " << milliseconds(fair.others)
            << " ms at most, the greedy one " << milliseconds(fair.greedy) << " ms\n";

  const outcome shed = serve({.max_queue_wait = 100ms, .discipline = weir::discipline::fair});
  std::cout << "no longer than 100 ms: " << shed.metrics.completed << " ran, " << shed.metrics.shed
            << " were shed, " << (shed.metrics.queue_wait.max() <= 100ms ? "none" : "some")
            << " waited longer\n";
}
