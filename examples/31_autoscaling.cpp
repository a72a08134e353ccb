// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Load comes and goes, and the workers of a pool with it. You will see the pool grow in steps while
// tasks wait for longer than they should, stop at the most that it may have, and shrink later than
// it grew, a little at a time, once the peak is over. The clock is that of the test kit, so ten
// minutes take no time; a server has only the two lines that make the pool and its autoscaler.

// expect: 0s: 1 -> 2, queue wait
// expect: [0-9]s: [0-9]+ -> 12, queue wait
// expect: peak served by 12 workers, at most 12 at once
// expect: [0-9]+s: 12 -> [0-9]+, utilisation
// expect: [0-9]+s: 2 -> 1, utilisation
// expect: at rest with 1 worker, 1000 tasks done

#include <weir/autoscaler.hpp>
#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Calls another service, say.
asio::awaitable<void> request(weir::task_context&) {
  weir::steady_timer timer(co_await asio::this_coro::executor, 100ms);
  co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace

int main() {
  weir::test::virtual_time time;
  const auto began = time.now();
  weir::worker_pool pool(time.get_executor(),
                         {.workers = 1, .queue_size = 1000, .max_per_user = 0});
  weir::autoscaler scaler(
      pool, {.scale = {.min = 1, .max = 12, .target = 20ms, .shrink_after = 10s},
             .on_change = [&](const weir::scale_change& c) {
               const auto at = std::chrono::duration_cast<std::chrono::seconds>(time.now() - began);
               std::cout << at.count() << "s: " << c.from << " -> " << c.to << ", "
                         << to_string(c.why) << '\n';
             }});

  std::size_t most = 0;
  for (int i = 0; i < 100; ++i) {  // ten seconds of a hundred requests each
    for (int n = 0; n < 10; ++n)
      if (pool.submit({.fn = request})) std::cout << "refused\n";
    time.run_for(100ms);
    most = std::max(most, pool.metrics().active);
  }
  std::cout << "peak served by " << pool.metrics().workers << " workers, at most " << most
            << " at once\n";

  time.run_for(10min);
  std::cout << "at rest with " << pool.metrics().workers << " worker, " << pool.metrics().completed
            << " tasks done\n";
}
