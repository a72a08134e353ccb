// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/lag_probe.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <latch>
#include <optional>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(lag_probe_suite)

namespace {

/// A context that nobody runs but the case, and ticks on virtual time.
struct probed {
  weir::test::virtual_time time;
  std::optional<asio::io_context> context{std::in_place};
  std::optional<weir::lag_probe> probe;

  weir::lag_probe& start(weir::duration every = 100ms) {
    return probe.emplace(context->get_executor(), time.get_executor(),
                         weir::lag_probe_options{.every = every});
  }
  void run_probed() {
    context->restart();
    context->poll();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_probe_is_posted_at_each_tick_and_comes_back_at_once_where_all_is_well,
                        probed) {
  start();
  for (int i = 0; i < 10; ++i) {
    time.run_for(100ms);
    run_probed();
  }
  const auto s = probe->snapshot();
  BOOST_TEST(s.lag.count() == 10U);
  BOOST_TEST((s.lag.max() == 0ms));
  BOOST_TEST((s.now == 0ms));
}

BOOST_FIXTURE_TEST_CASE(one_that_has_not_come_back_counts_its_age_so_far, probed) {
  start();
  time.run_for(99ms);
  BOOST_TEST((probe->snapshot().now == 0ms));
  time.run_for(31ms);
  BOOST_TEST((probe->snapshot().now == 30ms));
  BOOST_TEST(probe->snapshot().lag.count() == 0U);
  run_probed();
  BOOST_TEST((probe->snapshot().now == 30ms));
  BOOST_TEST((probe->snapshot().lag.max() == 30ms));
}

BOOST_FIXTURE_TEST_CASE(at_most_one_is_out, probed) {
  start();
  time.run_for(10s);
  context->restart();
  BOOST_TEST(context->poll() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_stall_counts_once_for_each_tick_that_it_held_back, probed) {
  start();
  for (int i = 0; i < 90; ++i) {
    time.run_for(100ms);
    run_probed();
  }
  time.run_for(1100ms);  // a tick, and one second more
  run_probed();
  const auto lag = probe->snapshot().lag;
  BOOST_TEST(lag.count() == 100U);
  BOOST_TEST(lag.at_most(0ms) == 90U);
  BOOST_TEST((lag.max() == 1s));
  BOOST_TEST((lag.sum() == 5500ms), "1.0 s, 0.9 s, ... 0.1 s");
  BOOST_TEST((lag.quantile(0.95) >= 500ms), "one sample of ten would be below the 95th percentile");
}

BOOST_FIXTURE_TEST_CASE(a_tick_that_comes_late_does_not_move_those_after_it, probed) {
  start();
  time.run_for(250ms);
  run_probed();  // posted at 100 ms
  time.run_for(49ms);
  context->restart();
  BOOST_TEST(context->poll() == 0U);
  time.run_for(1ms);
  context->restart();
  BOOST_TEST(context->poll() == 1U);
}

BOOST_FIXTURE_TEST_CASE(an_idle_context_runs_out_of_work, probed) {
  start();
  context->restart();
  BOOST_TEST(context->run() == 0U);
  time.run_for(100ms);
  context->restart();
  BOOST_TEST(context->run() == 1U);
}

BOOST_FIXTURE_TEST_CASE(the_context_may_be_destroyed_with_a_probe_in_it, probed) {
  start();
  time.run_for(110ms);
  run_probed();
  time.run_for(100ms);
  context.reset();
  time.run_for(1s);
  const auto s = probe->snapshot();
  BOOST_TEST(s.lag.count() == 1U);
  BOOST_TEST((s.now == 10ms), "what the last one took");
}

BOOST_FIXTURE_TEST_CASE(the_context_of_the_timers_may_be_destroyed_first, probed) {
  std::optional<weir::lag_probe> other;
  {
    asio::io_context gone;
    other.emplace(context->get_executor(), gone.get_executor(), weir::lag_probe_options{});
  }
  BOOST_TEST(other->snapshot().lag.count() == 0U);
}

BOOST_FIXTURE_TEST_CASE(the_probe_may_go_with_one_out_and_leaves_no_timer, probed) {
  start();
  time.run_for(110ms);
  probe.reset();
  const auto before = time.now();
  time.run();
  BOOST_TEST((time.now() == before));
  context->restart();
  BOOST_TEST(context->poll() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_time_between_probes_below_a_millisecond_becomes_one, probed) {
  start(-1s);
  for (int i = 0; i < 10; ++i) {
    time.run_for(1ms);
    run_probed();
  }
  BOOST_TEST(probe->snapshot().lag.count() == 10U);
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_held_shows_while_it_is_held) {
  asio::thread_pool threads(1);
  weir::lag_probe probe(threads.get_executor(), {.every = 1ms});
  while (probe.snapshot().lag.count() < 3) std::this_thread::yield();
  std::latch held(1), go_on(1);
  asio::post(threads, [&] {
    held.count_down();
    go_on.wait();
  });
  held.wait();
  // Nothing comes back meanwhile. `now` may be large already, where this machine is busy.
  const weir::lag_snapshot before = probe.snapshot();
  while (probe.snapshot().now < before.now + 20ms) std::this_thread::yield();
  go_on.count_down();
  weir::histogram during;
  while (during.count() == 0) during = probe.snapshot().lag.since(before.lag);
  BOOST_TEST(during.count() >= 20U);
  BOOST_TEST((during.max() >= 20ms));
}

BOOST_AUTO_TEST_CASE(probes_are_made_and_unmade_while_their_executor_is_busy) {
  asio::thread_pool threads(2);
  for (int i = 0; i < 50; ++i) {
    weir::lag_probe probe(threads.get_executor(), {.every = 1ms});
    if (i % 2 == 0)
      while (probe.snapshot().lag.count() == 0) std::this_thread::yield();
  }
}

BOOST_AUTO_TEST_SUITE_END()
