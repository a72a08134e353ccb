// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Run deadlines: they fire on time, end one task and no other, and leave nothing behind.

#include "pool_fixture.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <vector>

using namespace weir_test;

BOOST_FIXTURE_TEST_SUITE(worker_pool_deadline, virtual_pool)

BOOST_AUTO_TEST_CASE(a_task_is_cancelled_at_its_deadline) {
  auto& p = make({.task_timeout = 3s});
  const auto began = time.now();
  noted n;
  weir::duration ended{};
  co_spawn(p, {.user = "ann"}, sleeper(1h), [&](const std::exception_ptr& e) {
    ended = time.now() - began;
    n.handler()(e);
  });
  time.run();
  BOOST_TEST(*n.code == errc::task_timed_out);
  BOOST_TEST((ended == 3s));
  BOOST_TEST(p.metrics().timed_out == 1U);
}

BOOST_AUTO_TEST_CASE(the_deadline_of_a_task_overrides_that_of_the_pool) {
  auto& p = make({.max_per_user = 0, .task_timeout = 10s});
  BOOST_TEST(!p.submit(task_of("", sleeper(20s), 30s)));
  BOOST_TEST(!p.submit(task_of("", sleeper(20s), 0s)));
  BOOST_TEST(!p.submit(task_of("", sleeper(20s), 5s)));
  BOOST_TEST(!p.submit(task_of("", sleeper(20s))));
  time.run_for(5s);
  BOOST_TEST(p.metrics().timed_out == 1U);
  time.run_for(5s);
  BOOST_TEST(p.metrics().timed_out == 2U);
  time.run();
  BOOST_TEST(p.metrics().timed_out == 2U);
  BOOST_TEST(p.metrics().completed == 2U);
}

BOOST_AUTO_TEST_CASE(the_deadline_counts_from_the_start_not_from_the_submission) {
  auto& p = make({.workers = 1, .max_per_user = 0, .task_timeout = 2s});
  for (int i = 0; i < 5; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(1900ms))));
  time.run();
  BOOST_TEST(p.metrics().completed == 5U);
}

BOOST_AUTO_TEST_CASE(a_deadline_earlier_than_the_armed_one_fires_on_time) {
  auto& p = make({.max_per_user = 0});
  BOOST_TEST(!p.submit(task_of("", sleeper(2h), 1h)));
  time.settle();  // the timer is armed for an hour from now
  noted n;
  const auto began = time.now();
  co_spawn(p, {.timeout = 5ms}, sleeper(2h), n.handler());
  time.run_for(5ms);
  BOOST_TEST(*n.code == errc::task_timed_out);
  BOOST_TEST((time.now() - began == 5ms));
}

BOOST_AUTO_TEST_CASE(deadlines_fire_on_time_in_any_order_of_arming) {
  auto& p = make({.workers = 200, .queue_size = 200, .max_per_user = 0});
  std::vector<int> late;
  const auto began = time.now();
  for (int i = 0; i < 200; ++i) {
    const auto timeout = std::chrono::milliseconds(1 + (i * 71) % 200);
    co_spawn(p, {.timeout = timeout}, sleeper(1h), [&, timeout](const std::exception_ptr&) {
      if (time.now() - began != timeout) late.push_back(static_cast<int>(timeout.count()));
    });
  }
  time.run();
  BOOST_TEST(late.empty());
  BOOST_TEST(p.metrics().timed_out == 200U);
}

BOOST_AUTO_TEST_CASE(completion_exactly_at_the_deadline_has_one_outcome) {
  auto& p = make({.max_per_user = 0});
  for (int i = 0; i < 50; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(1s), 1s)));
  int answers = 0;
  for (int i = 0; i < 50; ++i)
    co_spawn(p, {.timeout = 1s}, sleeper(1s), [&](const std::exception_ptr&) { ++answers; });
  time.run();
  const auto m = p.metrics();
  BOOST_TEST(m.completed + m.timed_out == 100U);
  BOOST_TEST(answers == 50);
}

BOOST_AUTO_TEST_CASE(instant_tasks_with_a_long_timeout_leave_no_timer_behind) {
  auto& p = make({.queue_size = 1000, .max_per_user = 0, .task_timeout = 1h});
  const auto began = time.now();
  for (int batch = 0; batch < 100; ++batch) {
    for (int i = 0; i < 1000; ++i)
      if (p.submit(task_of("", nothing()))) BOOST_FAIL("refused");
    time.settle();
  }
  time.run();
  BOOST_TEST((time.now() == began));
  BOOST_TEST(p.metrics().completed == 100'000U);
}

BOOST_AUTO_TEST_CASE(the_next_task_of_the_worker_is_not_touched) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  for (int i = 0; i < 10; ++i) {
    BOOST_TEST(!p.submit(task_of("", sleeper(1h), 1s)));
    BOOST_TEST(!p.submit(task_of("", sleeper(1h), 0s)));
  }
  time.run();
  BOOST_TEST(p.metrics().timed_out == 10U);
  BOOST_TEST(p.metrics().completed == 10U);
}

BOOST_AUTO_TEST_CASE(what_a_task_does_to_its_cancellation_state_ends_with_it) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  auto deaf = [](task_context&) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
  };
  BOOST_TEST(!p.submit(task_of("", deaf)));
  BOOST_TEST(!p.submit(task_of("", sleeper(1h), 1s)));
  const auto began = time.now();
  time.run();
  BOOST_TEST((time.now() - began == 1s));
  BOOST_TEST(p.metrics().timed_out == 1U);
}

BOOST_AUTO_TEST_CASE(a_task_may_await_its_cleanup_and_holds_its_slot_meanwhile) {
  auto& p = make({.max_per_user = 1});
  bool clean = false;
  auto work = [&](task_context& ctx) -> asio::awaitable<void> {
    bool cancelled = false;
    try {
      co_await sleep_for(1h);
    } catch (const boost::system::system_error&) {
      cancelled = true;
    }
    BOOST_TEST(cancelled);
    BOOST_TEST((ctx.cause() == weir::cancel_cause::timeout));
    BOOST_TEST(ctx.stop_token().stop_requested());
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(10s);
    clean = true;
  };
  BOOST_TEST(!p.submit(task_of("ann", work, 1s)));
  time.run_for(5s);
  BOOST_TEST(p.metrics().active == 1U);
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::user_limit_reached);
  time.run_for(6s);
  BOOST_TEST(clean);
  BOOST_TEST(p.metrics().timed_out == 1U);  // whatever it did after its deadline
  BOOST_TEST(!p.submit(task_of("ann", nothing())));
}

BOOST_AUTO_TEST_CASE(the_caller_of_a_task_that_does_not_end_is_answered_and_the_slot_stays) {
  auto& p = make({.max_per_user = 1, .answer_after = 200ms});
  auto deaf = [](task_context&) -> asio::awaitable<int> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(1min);
    co_return 1;
  };
  noted n;
  co_spawn(p, {.user = "ann", .timeout = 1s}, deaf, n.handler());
  time.run_for(1199ms);
  BOOST_TEST(!n.ended());
  time.run_for(1ms);
  BOOST_TEST(*n.code == errc::task_timed_out);
  BOOST_TEST(p.metrics().active == 1U);
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::user_limit_reached);
  time.run();
  BOOST_TEST(n.calls == 1);
  BOOST_TEST(p.metrics().timed_out == 1U);
}

BOOST_AUTO_TEST_CASE(a_caller_that_wants_the_end_waits_for_it) {
  auto& p = make({.answer_after = weir::duration::max()});
  auto deaf = [](task_context&) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(1h);
  };
  noted n;
  co_spawn(p, {.user = "ann", .timeout = 1s}, deaf, n.handler());
  time.run_for(59min);
  BOOST_TEST(!n.ended());
  time.run();
  BOOST_TEST(*n.code == errc::task_timed_out);
}

BOOST_AUTO_TEST_CASE(a_task_that_comes_back_on_another_executor_is_brought_home) {
  // The worker goes on with its next task on its own strand, deadline and all.
  auto& p = make({.workers = 1, .max_per_user = 0});
  auto elsewhere = asio::make_strand(time.context());
  auto work = [&](task_context&) -> asio::awaitable<void> {
    co_await asio::dispatch(asio::bind_executor(elsewhere, asio::use_awaitable));
  };
  BOOST_TEST(!p.submit(task_of("", work)));
  BOOST_TEST(!p.submit(task_of("", sleeper(1h), 1s)));
  time.run();
  BOOST_TEST(p.metrics().completed == 1U);
  BOOST_TEST(p.metrics().timed_out == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

// Real threads: what virtual time cannot show, a task that holds its thread.
BOOST_AUTO_TEST_SUITE(worker_pool_deadline_threads)

BOOST_AUTO_TEST_CASE(with_every_thread_blocked_admission_answers_and_deadlines_fire) {
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::array<std::promise<void>, 2> blocked;
  std::array<std::future<void>, 2> answers;
  std::array<std::stop_token, 2> tokens;
  weir::worker_pool p{{.workers = 2, .threads = 2, .queue_size = 1, .max_per_user = 0}};
  for (std::size_t i = 0; i < 2; ++i) {
    auto block = [&, i](task_context& ctx) {
      tokens[i] = ctx.stop_token();
      blocked[i].set_value();
      released.wait();
    };
    answers[i] = co_spawn(p, {.timeout = 20ms}, block, asio::use_future);
    blocked[i].get_future().wait();
  }
  BOOST_TEST(!p.submit(task_of("", nothing())));
  BOOST_TEST(p.submit(task_of("", nothing())) == errc::queue_full);
  // The callers are told though the tasks go on, and the tasks still hold their places.
  for (auto& answer : answers)
    BOOST_CHECK_EXCEPTION(answer.get(), boost::system::system_error,
                          [](const auto& e) { return e.code() == errc::task_timed_out; });
  for (const auto& token : tokens) BOOST_TEST(token.stop_requested());
  BOOST_TEST(p.metrics().active == 2U);
  BOOST_TEST(p.metrics().queued == 1U);
  release.set_value();
  const auto report = p.async_shutdown({}, asio::use_future).get();
  BOOST_TEST(report.drained);
  BOOST_TEST(p.metrics().timed_out == 2U);
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(a_borrowed_single_thread_sees_the_deadline_while_it_is_busy) {
  asio::io_context context(1);
  weir::worker_pool p(context.get_executor(), {.max_per_user = 0});
  weir::cancel_cause cause{};
  auto poll = [&](task_context& ctx) {
    const auto token = ctx.stop_token();
    while (!token.stop_requested()) {
    }
    cause = ctx.cause();
  };
  noted n;
  co_spawn(p, {.timeout = 5ms}, poll, n.handler());
  context.run();
  BOOST_TEST((cause == weir::cancel_cause::timeout));
  BOOST_TEST(*n.code == errc::task_timed_out);
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_SUITE_END()
