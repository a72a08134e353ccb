// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "pool_fixture.hpp"

#include <weir/autoscaler.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using namespace weir_test;

BOOST_FIXTURE_TEST_SUITE(autoscaler_suite, virtual_pool)

namespace {

/// So many tasks of 100 ms come each 100 ms, for so many times.
void load(virtual_pool& f, int tasks, int times) {
  for (int i = 0; i < times; ++i) {
    for (int t = 0; t < tasks; ++t) BOOST_TEST(!f.pool->submit(task_of("", sleeper(100ms))));
    f.time.run_for(100ms);
  }
}

weir::pool_options roomy(int workers) {
  return {.workers = workers, .queue_size = 10'000, .max_per_user = 0, .task_timeout = {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_oldest_wait_is_the_age_of_who_has_waited_longest) {
  auto& p = make(roomy(1));
  BOOST_TEST((p.metrics().oldest_wait == 0ms));
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(!p.submit(task_of("", sleeper(25ms))));
    time.run_for(10ms);
  }
  BOOST_TEST((p.metrics().oldest_wait == 10ms), "of the third, which came at 20 ms");
}

BOOST_AUTO_TEST_CASE(workers_come_with_the_load_and_go_after_it) {
  auto& p = make(roomy(1));
  std::vector<weir::scale_change> changes;
  weir::autoscaler scaler(p, {.scale = {.min = 1, .max = 40},
                              .every = 100ms,
                              .on_change = [&](const auto& c) { changes.push_back(c); }});
  load(*this, 10, 200);
  BOOST_TEST(p.metrics().workers >= 10);
  BOOST_TEST(p.metrics().queued == 0U);
  BOOST_REQUIRE(!changes.empty());
  BOOST_TEST((changes.front() == weir::scale_change{1, 2, weir::scale_reason::queue_wait}));
  time.run_for(15min);
  BOOST_TEST(p.metrics().workers == 1);
  BOOST_TEST((changes.back().why == weir::scale_reason::utilisation));
  for (std::size_t i = 1; i < changes.size(); ++i) BOOST_TEST(changes[i].from == changes[i - 1].to);
}

BOOST_AUTO_TEST_CASE(it_never_passes_the_cap_and_shrinking_ends_no_task) {
  auto& p = make(roomy(1));
  int most = 0;
  weir::autoscaler scaler(p, {.scale = {.min = 1, .max = 5, .shrink_after = 1s, .shrinkage = 1},
                              .on_change = [&](const auto& c) { most = std::max(most, c.to); }});
  load(*this, 20, 50);
  BOOST_TEST(most == 5);
  time.run_for(2min);
  BOOST_TEST(p.metrics().workers == 1);
  BOOST_TEST(p.metrics().completed == 1000U);
}

BOOST_AUTO_TEST_CASE(paused_it_changes_nothing_and_lets_the_context_run_out_of_work) {
  auto& p = make(roomy(1));
  weir::autoscaler scaler(p, {.scale = {.min = 1, .max = 40}});
  scaler.pause();
  BOOST_TEST(scaler.paused());
  load(*this, 10, 20);
  BOOST_TEST(p.metrics().workers == 1);
  time.run();
  scaler.resume();
  BOOST_TEST(!scaler.paused());
  load(*this, 10, 20);
  BOOST_TEST(p.metrics().workers > 1);
  scaler.pause();
}

BOOST_AUTO_TEST_CASE(it_ends_with_a_pool_that_is_shut_down) {
  auto& p = make(roomy(2));
  weir::autoscaler scaler(p);
  BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
  time.run_for(500ms);
  p.async_shutdown({.deadline = 1h}, asio::detached);
  time.run();
  BOOST_TEST(scaler.paused());
  BOOST_TEST(p.metrics().completed == 1U);
}

BOOST_AUTO_TEST_CASE(the_pool_may_go_before_it) {
  auto& p = make(roomy(2));
  weir::autoscaler scaler(p);
  time.run_for(500ms);
  pool.reset();
  time.run();
  BOOST_TEST(scaler.paused());
  scaler.resume();
  time.run();
}

BOOST_AUTO_TEST_CASE(it_may_be_destroyed_by_what_it_calls) {
  auto& p = make(roomy(1));
  std::optional<weir::autoscaler> scaler;
  int calls = 0;
  scaler.emplace(p,
                 weir::autoscaler_options{.scale = {.min = 3, .max = 9}, .on_change = [&](auto&) {
                                            ++calls;
                                            scaler.reset();
                                          }});
  time.run();
  BOOST_TEST(calls == 1);
  BOOST_TEST(p.metrics().workers == 3);
}

BOOST_AUTO_TEST_CASE(the_context_may_go_before_both) {
  std::optional<asio::io_context> context(std::in_place);
  weir::worker_pool p(context->get_executor(), roomy(1));
  weir::autoscaler scaler(p);
  context.reset();
  BOOST_TEST(scaler.paused());
}

BOOST_AUTO_TEST_CASE(a_pool_with_threads_of_its_own_may_go_before_it_or_after_it) {
  weir::scale_options eager{.min = 4, .max = 8};
  for (const bool pool_first : {false, true}) {
    // Not `time`, whose clock stands still: these threads have none to move it.
    std::optional<weir::worker_pool> p(std::in_place, roomy(1));
    std::optional<weir::autoscaler> scaler(std::in_place, *p,
                                           weir::autoscaler_options{.scale = eager, .every = 1ms});
    if (pool_first) p.reset();
    scaler.reset();
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(autoscaler_threads)

BOOST_AUTO_TEST_CASE(tasks_that_block_get_the_workers_and_the_threads_that_they_need) {
  weir::worker_pool p{
      {.workers = 1, .threads = 4, .queue_size = 100, .max_per_user = 0, .task_timeout = {}}};
  std::atomic<int> told{0};
  std::optional<weir::autoscaler> scaler(
      std::in_place, p,
      weir::autoscaler_options{.scale = {.min = 1, .max = 4, .target = 1ms, .grow_after = 1ms},
                               .every = 1ms,
                               .on_change = [&](const auto&) { ++told; }});
  std::atomic<int> inside{0};
  for (int i = 0; i < 4; ++i)
    BOOST_TEST(!p.submit(task_of("", [&](task_context&) -> asio::awaitable<void> {
      // Each waits for the others: they end only if all four are given a thread.
      ++inside;
      while (inside < 4) std::this_thread::yield();
      co_return;
    })));
  while (p.metrics().completed < 4) std::this_thread::yield();
  scaler.reset();
  const int before = told;
  BOOST_TEST(before >= 1);
  BOOST_TEST(p.metrics().workers == 4);
}

BOOST_AUTO_TEST_SUITE_END()
