// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Workers that stand in for those whose tasks are stuck.

#include "pool_fixture.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <vector>

using namespace weir_test;

BOOST_AUTO_TEST_SUITE(worker_pool_stuck_alone)

BOOST_AUTO_TEST_CASE(a_task_that_blocks_the_only_thread_has_another_stand_in) {
  weir::worker_pool p{{.workers = 1,
                       .threads = 1,
                       .max_per_user = 0,
                       .task_timeout = 1ms,
                       .grace = 1ms,
                       .stuck_replacements = 1}};
  std::promise<void> release;
  auto blocked = co_spawn(
      p, {}, [&](task_context&) { release.get_future().wait(); }, asio::use_future);
  // Runs while the other is still there, and lets it end.
  auto next = co_spawn(
      p, {.timeout = 1min}, [&](task_context&) { release.set_value(); }, asio::use_future);
  BOOST_TEST((next.wait_for(1min) == std::future_status::ready));
  next.get();
  BOOST_CHECK_THROW(blocked.get(), boost::system::system_error);
  p.async_shutdown({}, asio::use_future).get();
  BOOST_TEST(p.metrics().stand_ins == 0U);
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(an_owning_pool_is_destroyed_while_one_blocks_and_one_stands_in) {
  std::promise<void> release;
  std::future<void> blocked, stands_in;
  {
    weir::worker_pool p{{.workers = 1,
                         .max_per_user = 0,
                         .task_timeout = 1ms,
                         .grace = 1ms,
                         .stuck_replacements = 1}};
    blocked = co_spawn(
        p, {}, [&](task_context&) { release.get_future().wait(); }, asio::use_future);
    std::promise<void> began;
    const auto suspended = [&began](task_context&) -> asio::awaitable<void> {
      began.set_value();
      return sleep_for(1h);
    };
    stands_in = co_spawn(p, {.timeout = 1h}, suspended, asio::use_future);
    began.get_future().wait();
    release.set_value();
  }
  BOOST_CHECK_THROW(blocked.get(), boost::system::system_error);
  BOOST_CHECK_THROW(stands_in.get(), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(pool_or_context_is_destroyed_while_one_is_stuck_and_one_stands_in) {
  for (const bool context_first : {false, true}) {
    auto time = std::make_unique<weir::test::virtual_time>();
    auto p = std::make_unique<weir::worker_pool>(
        time->get_executor(),
        weir::pool_options{
            .workers = 1, .max_per_user = 0, .grace = 10ms, .stuck_replacements = 1});
    const auto holds = [c = counted()](task_context&) -> asio::awaitable<void> {
      const counted local;
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      co_await sleep_for(1h);
    };
    for (int i = 0; i < 3; ++i) p->submit(task_of("", holds, i == 0 ? 1ms : 1h));
    time->run_for(20ms);
    BOOST_TEST(p->metrics().stand_ins == 1U);
    BOOST_TEST(p->metrics().active == 2U);
    BOOST_TEST(p->metrics().queued == 1U);
    if (context_first) {
      time.reset();
      BOOST_TEST(p->metrics().stand_ins == 0U);
    }
    p.reset();
    time.reset();
    BOOST_TEST(counted::alive == 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(worker_pool_stuck, virtual_pool)

namespace {

auto deaf(weir::duration length) {
  return [length](task_context&) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(length);
  };
}

/// Cancelled at once, stuck 10 ms later.
weir::pool_options options(int workers, int stand_ins) {
  return {.workers = workers,
          .queue_size = 50,
          .max_per_user = 0,
          .task_timeout = 1h,
          .grace = 10ms,
          .stuck_replacements = stand_ins};
}

weir::task stuck_for(weir::duration length) { return task_of("", deaf(length), 1ns); }

}  // namespace

BOOST_AUTO_TEST_CASE(one_stands_in_from_the_end_of_the_grace_to_the_end_of_the_stuck_task) {
  auto& p = make(options(1, 1));
  p.submit(stuck_for(100ms));
  for (int i = 0; i < 6; ++i) p.submit(task_of("", sleeper(30ms)));
  time.run_for(10ms);
  BOOST_TEST(p.metrics().active == 1U);
  BOOST_TEST(p.metrics().stand_ins == 0U);
  time.run_for(1ms);
  BOOST_TEST(p.metrics().active == 2U);
  BOOST_TEST(p.metrics().stand_ins == 1U);
  BOOST_TEST(p.metrics().workers == 1);
  time.run_for(85ms);  // 96 ms: the third of them runs
  BOOST_TEST(p.metrics().active == 2U);
  BOOST_TEST(p.metrics().queued == 3U);
  time.run_for(5ms);  // both have ended, and one has begun
  BOOST_TEST(p.metrics().stand_ins == 0U);
  BOOST_TEST(p.metrics().stuck == 0U);
  BOOST_TEST(p.metrics().active == 1U);
  BOOST_TEST(p.metrics().queued == 2U);
  const auto before = time.now();
  time.run();
  BOOST_TEST((time.now() - before > 88ms));  // one at a time again
}

BOOST_AUTO_TEST_CASE(nobody_stands_in_unless_asked_for) {
  BOOST_TEST(weir::pool_options().stuck_replacements == 0);
  auto& p = make(options(1, -3));
  BOOST_TEST(p.options().stuck_replacements == 0);
  p.submit(stuck_for(100ms));
  p.submit(task_of("", nothing()));
  time.run_for(99ms);
  BOOST_TEST(p.metrics().stuck == 1U);
  BOOST_TEST(p.metrics().stand_ins == 0U);
  BOOST_TEST(p.metrics().queued == 1U);
}

BOOST_AUTO_TEST_CASE(no_more_stand_in_than_the_option_says_nor_than_are_stuck) {
  auto& p = make(options(3, 2));
  for (const auto length : {50ms, 100ms, 150ms}) p.submit(stuck_for(length));
  for (int i = 0; i < 10; ++i) p.submit(task_of("", sleeper(1s)));
  time.run_for(20ms);
  BOOST_TEST(p.metrics().stuck == 3U);
  BOOST_TEST(p.metrics().stand_ins == 2U);
  BOOST_TEST(p.metrics().active == 5U);
  time.run_for(40ms);  // the first has ended, and the other two are still stood in for
  BOOST_TEST(p.metrics().stuck == 2U);
  BOOST_TEST(p.metrics().stand_ins == 2U);
  BOOST_TEST(p.metrics().active == 5U);
  time.run_for(50ms);
  BOOST_TEST(p.metrics().stand_ins == 1U);
  BOOST_TEST(p.metrics().active == 4U);
  time.run_for(50ms);
  BOOST_TEST(p.metrics().stand_ins == 0U);
  BOOST_TEST(p.metrics().active == 3U);
}

BOOST_AUTO_TEST_CASE(one_that_stands_in_may_be_stuck_as_well) {
  auto& p = make(options(1, 2));
  for (int i = 0; i < 4; ++i) p.submit(stuck_for(1s));
  time.run_for(15ms);
  BOOST_TEST(p.metrics().active == 2U);
  time.run_for(15ms);
  BOOST_TEST(p.metrics().active == 3U);
  time.run_for(100ms);
  BOOST_TEST(p.metrics().stuck == 3U);
  BOOST_TEST(p.metrics().active == 3U);
  BOOST_TEST(p.metrics().queued == 1U);
  BOOST_TEST(p.metrics().stand_ins == 2U);
}

BOOST_AUTO_TEST_CASE(a_task_that_ends_within_the_grace_is_not_stood_in_for) {
  auto& p = make(options(1, 1));
  std::size_t most = 0;
  const auto watch = [&](task_context&) { most = std::max(most, p.metrics().active); };
  for (int i = 0; i < 5; ++i) {
    p.submit(stuck_for(10ms));  // to the tick
    p.submit(task_of("", watch));
  }
  time.run();
  BOOST_TEST(most == 1U);
}

BOOST_AUTO_TEST_CASE(slot_and_lane_of_a_stuck_task_are_held_though_one_stands_in) {
  weir::pool_options o = options(1, 1);
  o.max_per_user = 1;
  auto& p = make(o);
  p.submit({.user = "ann", .fn = deaf(100ms), .timeout = 1ns, .lane = "x"});
  time.settle();
  bool ran = false, ran_in_lane = false;
  p.submit({.user = "bob", .fn = [&](task_context&) { ran_in_lane = true; }, .lane = "x"});
  p.submit({.user = "cat", .fn = [&](task_context&) { ran = true; }});
  time.run_for(50ms);
  BOOST_TEST(ran);
  BOOST_TEST(!ran_in_lane);
  BOOST_TEST(p.submit({.user = "ann", .fn = nothing()}) == errc::user_limit_reached);
  time.run_for(51ms);
  BOOST_TEST(ran_in_lane);
  BOOST_TEST(!p.submit({.user = "ann", .fn = nothing()}));
}

BOOST_AUTO_TEST_CASE(stand_ins_come_on_top_of_whatever_the_pool_is_resized_to) {
  auto& p = make(options(1, 1));
  p.submit(stuck_for(200ms));
  for (int i = 0; i < 20; ++i) p.submit(task_of("", sleeper(20ms)));
  time.run_for(15ms);
  BOOST_TEST(p.metrics().active == 2U);
  p.resize(3);
  time.settle();
  BOOST_TEST(p.metrics().active == 4U);
  BOOST_TEST(p.metrics().workers == 3);
  p.resize(1);
  time.run_for(50ms);
  BOOST_TEST(p.metrics().active == 2U);
  BOOST_TEST(p.metrics().stand_ins == 1U);
  time.run_for(150ms);
  BOOST_TEST(p.metrics().active == 1U);
}

BOOST_AUTO_TEST_CASE(a_pool_drains_by_way_of_those_who_stand_in) {
  auto& p = make(options(1, 1));
  p.submit(task_of("", deaf(500ms), 1ns));
  std::vector<int> order;
  for (int i = 0; i < 3; ++i)
    p.submit(task_of("", [&order, i](task_context&) { order.push_back(i); }));
  std::optional<weir::shutdown_report> report;
  p.async_shutdown({.deadline = 100ms, .grace = 50ms},
                   [&](error_code, weir::shutdown_report r) { report = std::move(r); });
  time.run_for(99ms);
  BOOST_TEST(order.size() == 3U);
  BOOST_TEST(!report);
  time.run_for(52ms);
  BOOST_REQUIRE(report);
  BOOST_TEST(!report->drained);
  BOOST_TEST(report->stuck.size() == 1U);
  BOOST_TEST(report->abandoned.empty());
  BOOST_TEST(p.metrics().stand_ins == 1U);  // for nothing: the pool takes no more
  time.run();
  BOOST_TEST(p.metrics().stand_ins == 0U);
}

BOOST_AUTO_TEST_CASE(a_task_that_a_shutdown_leaves_stuck_starts_nothing_more) {
  auto& p = make(options(1, 1));
  p.submit(task_of("", deaf(500ms)));
  time.settle();
  int ran = 0;
  p.submit(task_of("", [&ran](task_context&) { ++ran; }));
  p.async_shutdown({.deadline = 0s}, asio::detached);
  time.run();
  BOOST_TEST(ran == 0);
  BOOST_TEST(p.metrics().stand_ins == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
