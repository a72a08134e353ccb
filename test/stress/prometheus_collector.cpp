// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Scrapes while a pool runs and while what is scraped comes and goes, for the sanitizers.

#include "pool_fixture.hpp"

#include <weir/prometheus.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(prometheus_collector_stress)

BOOST_AUTO_TEST_CASE(an_object_may_go_once_it_is_taken_out_whoever_scrapes) {
  weir::prometheus_collector collector;
  weir::worker_pool pool{{.workers = 2, .queue_size = 1000}};
  const auto shown = collector.add(pool, "lasting");
  std::atomic<bool> stop{false};
  std::atomic<int> scrapes{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        (void)prometheus_text(collector);
        ++scrapes;
      }
    });
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&collector, i] {
      for (int n = 0; n < 300; ++n) {
        weir::semaphore passing(boost::asio::system_executor(), 1);
        const auto passing_shown = collector.add(passing, "passing " + std::to_string(i));
        const auto held = passing.try_acquire();
        std::this_thread::yield();
      }
    });
  for (int i = 0; i < 3000; ++i)
    (void)pool.submit(weir_test::task_of("anna", weir_test::nothing()));
  threads[2].join();
  threads[3].join();
  while (scrapes < 20) std::this_thread::yield();
  stop = true;
  threads[0].join();
  threads[1].join();
  BOOST_TEST(collector.Collect().front().name == "weir_pool_active");
}

BOOST_AUTO_TEST_SUITE_END()
