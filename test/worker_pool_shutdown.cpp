// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The stages of a shutdown, in each state of the pool.

#include "pool_fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <string>
#include <vector>

using namespace weir_test;
using weir::shutdown_report;

BOOST_AUTO_TEST_SUITE(worker_pool_shutdown_threads)

namespace {

/// How a shutdown ended, and when.
struct ending {
  std::optional<shutdown_report> report;
  error_code code;
  int calls = 0;

  auto handler() {
    return [this](const error_code& ec, shutdown_report r) {
      ++calls;
      code = ec;
      report = std::move(r);
    };
  }
};

/// Goes on through any cancellation.
asio::awaitable<void> deaf_sleep(weir::duration d) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await sleep_for(d);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(worker_pool_shutdown, virtual_pool)

BOOST_AUTO_TEST_CASE(an_idle_pool_ends_at_once) {
  auto& p = make();
  ending e;
  p.async_shutdown({}, e.handler());
  BOOST_TEST(e.calls == 0);
  time.settle();
  BOOST_TEST(e.calls == 1);
  BOOST_TEST(e.report->drained);
  BOOST_TEST((e.report->took == 0s));
}

BOOST_AUTO_TEST_CASE(queued_and_running_tasks_are_drained) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  for (int i = 0; i < 5; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
  time.run_for(1500ms);
  ending e;
  p.async_shutdown({.deadline = 1min}, e.handler());
  time.run();
  BOOST_TEST(e.report->drained);
  BOOST_TEST(e.report->completed == 4U);
  BOOST_TEST((e.report->took == 3500ms));
  BOOST_TEST(e.report->abandoned.empty());
  BOOST_TEST(e.report->stuck.empty());
}

BOOST_AUTO_TEST_CASE(a_submission_after_the_call_is_refused) {
  auto& p = make();
  p.async_shutdown({}, asio::detached);
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::pool_closed);
  time.run();
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::pool_closed);
  BOOST_TEST(p.metrics().rejected.closed == 2U);
}

BOOST_AUTO_TEST_CASE(abandon_drops_the_queue_and_lets_the_running_end) {
  auto& p = make({.workers = 1, .max_per_user = 1});
  BOOST_TEST(!p.submit({.id = "running", .user = "ann", .fn = sleeper(1s)}));
  time.settle();
  noted n;
  BOOST_TEST(!p.submit({.id = "first", .user = "bob", .fn = [c = counted()](task_context&) {}}));
  co_spawn(p, {.id = "second", .user = "cleo"}, nothing(), n.handler());
  ending e;
  p.async_shutdown({.abandon = true}, e.handler());
  BOOST_TEST(counted::alive == 0);
  BOOST_TEST(p.metrics().users == 1U);
  time.run();
  BOOST_TEST(*n.code == errc::shutdown_cancelled);
  BOOST_TEST(!e.report->drained);
  const std::vector<std::string> ids{"first", "second"};
  BOOST_TEST(e.report->abandoned == ids, boost::test_tools::per_element());
  BOOST_TEST(e.report->completed == 1U);
  BOOST_TEST(p.metrics().cancelled == 2U);
}

BOOST_AUTO_TEST_CASE(at_the_deadline_the_queue_is_dropped_and_the_running_cancelled) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  noted running;
  weir::cancel_cause cause{};
  auto work = [&](task_context& ctx) -> asio::awaitable<void> {
    try {
      co_await sleep_for(1h);
    } catch (...) {
      cause = ctx.cause();
      throw;
    }
  };
  co_spawn(p, {}, work, running.handler());
  BOOST_TEST(!p.submit({.id = "never", .user = {}, .fn = nothing()}));
  time.settle();
  ending e;
  p.async_shutdown({.deadline = 10s}, e.handler());
  time.run();
  BOOST_TEST(*running.code == errc::shutdown_cancelled);
  BOOST_TEST((cause == weir::cancel_cause::shutdown));
  BOOST_TEST(!e.report->drained);
  BOOST_TEST(e.report->abandoned.size() == 1U);
  BOOST_TEST(e.report->stuck.empty());
  BOOST_TEST((e.report->took == 10s));
  BOOST_TEST(p.metrics().cancelled == 2U);
}

BOOST_AUTO_TEST_CASE(it_returns_at_deadline_plus_grace_and_names_who_is_stuck) {
  auto& p = make({.max_per_user = 0, .grace = 3s});
  auto deaf = [](task_context&) { return deaf_sleep(1h); };
  BOOST_TEST(!p.submit({.id = "deaf", .user = {}, .fn = deaf}));
  BOOST_TEST(!p.submit({.id = "polite", .user = {}, .fn = sleeper(1h)}));
  time.settle();
  ending e;
  p.async_shutdown({.deadline = 2s}, e.handler());
  time.run_for(5s);
  BOOST_REQUIRE(e.calls == 1);
  BOOST_TEST((e.report->took == 5s));
  const std::vector<std::string> stuck{"deaf"};
  BOOST_TEST(e.report->stuck == stuck, boost::test_tools::per_element());
  BOOST_TEST(!e.report->drained);
  BOOST_TEST(p.metrics().active == 1U);  // it still runs, and is still counted
}

BOOST_AUTO_TEST_CASE(the_grace_of_the_call_overrides_that_of_the_pool) {
  auto& p = make({.grace = 1h});
  auto deaf = [](task_context&) { return deaf_sleep(1min); };
  BOOST_TEST(!p.submit(task_of("ann", deaf)));
  time.settle();
  ending e;
  p.async_shutdown({.deadline = 0s, .grace = 2s}, e.handler());
  time.run_for(2s);
  BOOST_REQUIRE(e.calls == 1);
  BOOST_TEST(e.report->stuck.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_second_call_joins_the_first) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  for (int i = 0; i < 3; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
  time.settle();
  ending first, second, third;
  p.async_shutdown({.deadline = 1min}, first.handler());
  time.run_for(500ms);
  p.async_shutdown({.deadline = 2min}, second.handler());
  time.run();
  p.async_shutdown({}, third.handler());
  time.settle();
  for (const auto* e : {&first, &second, &third}) {
    BOOST_REQUIRE(e->calls == 1);
    BOOST_TEST(e->report->drained);
    BOOST_TEST(e->report->completed == 3U);
    BOOST_TEST((e->report->took == 3s));
  }
}

BOOST_AUTO_TEST_CASE(a_second_call_can_hasten_the_end_but_not_delay_it) {
  auto& p = make({.max_per_user = 0});
  BOOST_TEST(!p.submit(task_of("", sleeper(1h))));
  time.settle();
  ending first, second;
  p.async_shutdown({.deadline = 1min}, first.handler());
  time.run_for(1s);
  p.async_shutdown({.deadline = 1s}, second.handler());
  time.run_for(1s);
  BOOST_REQUIRE(first.calls == 1);
  BOOST_REQUIRE(second.calls == 1);
  BOOST_TEST((first.report->took == 2s));
}

BOOST_AUTO_TEST_CASE(to_stop_waiting_does_not_stop_the_shutdown) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    auto& p = make({.max_per_user = 0});
    BOOST_TEST(!p.submit(task_of("", sleeper(10s))));
    time.settle();
    asio::cancellation_signal signal;
    ending left, stayed;
    p.async_shutdown({}, asio::bind_cancellation_slot(signal.slot(), left.handler()));
    p.async_shutdown({}, stayed.handler());
    time.run_for(1s);
    signal.emit(type);
    time.settle();
    BOOST_TEST(left.calls == 1);
    BOOST_TEST(left.code == asio::error::operation_aborted);
    BOOST_TEST(stayed.calls == 0);
    time.run();
    BOOST_TEST(left.calls == 1);
    BOOST_TEST(stayed.report->drained);
  }
}

BOOST_AUTO_TEST_CASE(a_task_may_shut_its_own_pool_down) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  ending e;
  auto work = [&](task_context&) -> asio::awaitable<void> {
    p.async_shutdown({}, e.handler());
    BOOST_TEST(p.submit(task_of("", nothing())) == errc::pool_closed);
    co_return;
  };
  BOOST_TEST(!p.submit(task_of("", work)));
  BOOST_TEST(!p.submit(task_of("", nothing())));
  time.run();
  BOOST_TEST(e.report->drained);
  BOOST_TEST(e.report->completed == 2U);
}

BOOST_AUTO_TEST_CASE(slots_come_back_in_each_mode) {
  for (const bool abandon : {false, true})
    for (const weir::duration deadline :
         {weir::duration(0s), weir::duration(1s), weir::duration(1min)}) {
      auto& p = make({.workers = 2, .max_per_user = 1});
      for (int i = 0; i < 6; ++i)
        BOOST_TEST(!p.submit(task_of("user " + std::to_string(i), sleeper(2s))));
      time.settle();
      ending e;
      p.async_shutdown({.deadline = deadline, .abandon = abandon}, e.handler());
      time.run();
      check_at_rest(p.metrics());
      BOOST_TEST(e.calls == 1);
      const auto m = p.metrics();
      BOOST_TEST(m.cancelled == (deadline == 1min && !abandon ? 0U : deadline == 1min ? 4U : 6U));
    }
}

BOOST_AUTO_TEST_CASE(a_task_whose_destructor_calls_the_pool_finds_no_lock_held) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  struct caller {
    weir::worker_pool* pool;
    error_code* ec;
    ~caller() {
      *ec = pool->submit(task_of("", nothing()));
      (void)pool->metrics();
    }
  };
  error_code dropped, ran;
  BOOST_TEST(!p.submit(
      task_of("", [c = std::make_unique<caller>(caller{&p, &ran})](task_context&) { (void)c; })));
  time.settle();
  BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
  time.settle();
  BOOST_TEST(!p.submit(task_of(
      "", [c = std::make_unique<caller>(caller{&p, &dropped})](task_context&) { (void)c; })));
  p.async_shutdown({.abandon = true}, asio::detached);
  BOOST_TEST(dropped == errc::pool_closed);
  time.run();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(blocked_threads_do_not_hold_up_the_report) {
  std::promise<void> started, release;
  const auto released = release.get_future().share();
  weir::worker_pool p{{.workers = 1, .threads = 1, .max_per_user = 0}};
  BOOST_TEST(!p.submit({.id = "blocker", .user = {}, .fn = [&](task_context&) {
                          started.set_value();
                          released.wait();
                        }}));
  started.get_future().wait();
  auto report = p.async_shutdown({.deadline = 1ms, .grace = 1ms}, asio::use_future).get();
  BOOST_REQUIRE(report.stuck.size() == 1U);
  BOOST_TEST(report.stuck.front() == "blocker");
  BOOST_TEST(p.metrics().active == 1U);
  release.set_value();
}

BOOST_AUTO_TEST_SUITE_END()
