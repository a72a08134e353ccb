// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Admission: who is let in, in which order the limits are looked at, and what the books say.

#include "pool_fixture.hpp"

#include "allocation_counter.hpp"

#include <weir/test/for_each_seed.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <vector>

using namespace weir_test;

BOOST_FIXTURE_TEST_SUITE(worker_pool, virtual_pool)

BOOST_AUTO_TEST_CASE(an_accepted_task_runs_once_and_is_completed) {
  auto& p = make();
  int runs = 0;
  BOOST_TEST(!p.submit(task_of("ann", [&runs](task_context&) -> asio::awaitable<void> {
    ++runs;
    co_return;
  })));
  BOOST_TEST(runs == 0);  // never inside submit
  time.run();
  BOOST_TEST(runs == 1);
  BOOST_TEST(p.metrics().completed == 1U);
}

BOOST_AUTO_TEST_CASE(a_callable_that_returns_void_runs_too) {
  auto& p = make();
  int runs = 0;
  BOOST_TEST(!p.submit(task_of("ann", [&runs](task_context&) { ++runs; })));
  time.run();
  BOOST_TEST(runs == 1);
}

BOOST_AUTO_TEST_CASE(options_out_of_range_are_clamped) {
  auto& p = make({.workers = -3,
                  .threads = -1,
                  .queue_size = 0,
                  .max_per_user = -7,
                  .task_timeout = -1s,
                  .grace = -1s,
                  .answer_after = -1s});
  BOOST_TEST(p.options().workers == 1);
  BOOST_TEST(p.options().threads == 1);
  BOOST_TEST(p.options().queue_size == 1);
  BOOST_TEST(p.options().max_per_user == 0);
  BOOST_TEST((p.options().task_timeout == 0s));
  BOOST_TEST((p.options().grace == 0s));
  BOOST_TEST((p.options().answer_after == 0s));
  BOOST_TEST(p.metrics().workers == 1);
  BOOST_TEST(p.metrics().queue_size == 1U);
}

BOOST_AUTO_TEST_CASE(the_defaults_are_those_of_the_contract) {
  const weir::pool_options o;
  BOOST_TEST(o.workers == weir::usable_cpus() * 4);
  BOOST_TEST(o.queue_size == 100);
  BOOST_TEST(o.max_per_user == 2);
  BOOST_TEST((o.task_timeout == 10min));
  BOOST_TEST((o.grace == 5s));
}

BOOST_AUTO_TEST_CASE(bad_input_is_invalid_argument_and_counted) {
  auto& p = make();
  BOOST_TEST(p.submit({.id = {}, .user = "ann", .fn = {}}) == errc::invalid_argument);
  BOOST_TEST(p.submit(task_of("", nothing())) == errc::invalid_argument);
  BOOST_TEST(p.submit(task_of("ann", nothing(), -1ns)) == errc::invalid_argument);
  BOOST_TEST(p.metrics().rejected.invalid == 3U);
  BOOST_TEST(p.metrics().offered() == 3U);
  BOOST_TEST(p.metrics().submitted == 0U);
}

BOOST_AUTO_TEST_CASE(without_a_cap_a_task_needs_no_user) {
  auto& p = make({.max_per_user = 0});
  for (int i = 0; i < 10; ++i) BOOST_TEST(!p.submit(task_of("", nothing())));
  BOOST_TEST(p.metrics().users == 0U);
  time.run();
  BOOST_TEST(p.metrics().completed == 10U);
}

BOOST_AUTO_TEST_CASE(at_most_workers_tasks_run_at_once) {
  auto& p = make({.workers = 3, .max_per_user = 0});
  int now = 0;
  int peak = 0;
  for (int i = 0; i < 50; ++i) {
    auto work = [&](task_context&) -> asio::awaitable<void> {
      peak = std::max(peak, ++now);
      co_await sleep_for(1s);
      --now;
    };
    BOOST_TEST(!p.submit(task_of("", work)));
  }
  const auto began = time.now();
  time.run();
  BOOST_TEST(peak == 3);
  BOOST_TEST((time.now() - began == 17s));
}

BOOST_AUTO_TEST_CASE(tasks_start_in_the_order_of_submission) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  std::vector<int> order;
  for (int i = 0; i < 20; ++i)
    BOOST_TEST(!p.submit(task_of("", [&order, i](task_context&) { order.push_back(i); })));
  time.run();
  for (int i = 0; i < 20; ++i) BOOST_TEST(order[static_cast<std::size_t>(i)] == i);
}

BOOST_AUTO_TEST_CASE(the_cap_counts_queued_and_running_tasks_of_one_user) {
  auto& p = make({.workers = 1, .max_per_user = 2});
  BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
  BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::user_limit_reached);
  BOOST_TEST(!p.submit(task_of("bob", nothing())));
  time.run_for(1s);  // the first has ended
  BOOST_TEST(!p.submit(task_of("ann", nothing())));
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::user_limit_reached);
  BOOST_TEST(p.metrics().rejected.user_limit == 2U);
}

BOOST_AUTO_TEST_CASE(a_full_queue_refuses) {
  auto& p = make({.workers = 1, .queue_size = 3, .max_per_user = 0});
  BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
  time.settle();  // it runs, the queue is empty
  for (int i = 0; i < 3; ++i) BOOST_TEST(!p.submit(task_of("", nothing())));
  BOOST_TEST(p.submit(task_of("", nothing())) == errc::queue_full);
  BOOST_TEST(p.metrics().queued == 3U);
  BOOST_TEST(p.metrics().queued_max == 3U);
  BOOST_TEST(p.metrics().rejected.queue_full == 1U);
  time.run();
  BOOST_TEST(!p.submit(task_of("", nothing())));
}

BOOST_AUTO_TEST_CASE(limits_are_looked_at_in_the_order_closed_user_full) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 1});
  BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
  time.settle();
  BOOST_TEST(!p.submit(task_of("bob", nothing())));
  // ann is at her cap and the queue is full: the cap speaks first.
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::user_limit_reached);
  BOOST_TEST(p.submit(task_of("cleo", nothing())) == errc::queue_full);
  p.async_shutdown({}, asio::detached);
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::pool_closed);
  BOOST_TEST(p.submit(task_of("cleo", nothing())) == errc::pool_closed);
}

BOOST_AUTO_TEST_CASE(a_full_queue_rolls_the_slot_back) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 1});
  BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
  time.settle();
  BOOST_TEST(!p.submit(task_of("bob", nothing())));
  for (int i = 0; i < 100; ++i)
    BOOST_TEST(p.submit(task_of("cleo", nothing())) == errc::queue_full);
  BOOST_TEST(p.metrics().users == 2U);
  time.run_for(1s);
  BOOST_TEST(!p.submit(task_of("cleo", nothing())));
}

BOOST_AUTO_TEST_CASE(the_books_balance_at_every_step) {
  auto& p = make({.workers = 2, .queue_size = 4, .max_per_user = 3});
  for (int i = 0; i < 40; ++i) {
    auto fail = [](task_context&) -> asio::awaitable<void> { throw std::runtime_error("no"); };
    const std::string user(1, static_cast<char>('a' + i % 3));
    (void)p.submit(i % 4 == 0   ? task_of(user, fail)
                   : i % 4 == 1 ? task_of(user, sleeper(10ms), 3ms)
                                : task_of(user, sleeper(2ms)));
    check_balanced(p.metrics());
    BOOST_TEST(p.metrics().offered() == static_cast<std::uint64_t>(i) + 1);
    time.run_for(1ms);
    check_balanced(p.metrics());
  }
  time.run();
  const auto m = p.metrics();
  BOOST_TEST(m.failed > 0U);
  BOOST_TEST(m.timed_out > 0U);
  BOOST_TEST(m.completed > 0U);
}

BOOST_AUTO_TEST_CASE(a_task_may_submit_to_its_own_pool) {
  auto& p = make({.workers = 1, .queue_size = 2, .max_per_user = 0});
  std::vector<std::string> log;
  auto outer = [&](task_context&) -> asio::awaitable<void> {
    log.emplace_back("outer");
    for (int i = 0; i < 3; ++i) {
      const auto ec = p.submit(task_of("", [&log](task_context&) { log.emplace_back("inner"); }));
      log.emplace_back(ec ? ec.message() : "accepted");
    }
    log.emplace_back("end");
    co_return;
  };
  BOOST_TEST(!p.submit(task_of("", outer)));
  time.run();
  const std::vector<std::string> expected{"outer", "accepted", "accepted", "the queue is full",
                                          "end",   "inner",    "inner"};
  BOOST_TEST(log == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_task_that_waits_for_a_child_of_its_own_user_is_refused_not_hung) {
  auto& p = make({.workers = 1, .max_per_user = 1});
  error_code child;
  auto parent = [&](task_context&) -> asio::awaitable<void> {
    try {
      co_await co_spawn(p, {.user = "ann"}, nothing(), asio::use_awaitable);
    } catch (const boost::system::system_error& e) {
      child = e.code();
    }
  };
  BOOST_TEST(!p.submit(task_of("ann", parent)));
  time.run();
  BOOST_TEST(child == errc::user_limit_reached);
}

BOOST_AUTO_TEST_CASE(a_refusal_allocates_nothing) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 1});
  BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
  time.settle();
  BOOST_TEST(!p.submit(task_of("bob", nothing())));
  weir::task at_cap = task_of("ann", nothing());
  weir::task no_room = task_of("a user whose name is too long to be stored in place", nothing());
  const allocation_counter counter;
  const error_code cap = p.submit(std::move(at_cap));
  const error_code full = p.submit(std::move(no_room));
  BOOST_TEST(counter.count() == 0U);
  BOOST_TEST(cap == errc::user_limit_reached);
  BOOST_TEST(full == errc::queue_full);
}

BOOST_AUTO_TEST_CASE(a_task_allocates_nothing_in_steady_state) {
  // Each task submits the next, so that all of it happens within one run of the context, whose
  // threads keep small blocks for reuse.
  auto& p = make({.workers = 4, .max_per_user = 2});
  int runs = 0;
  std::optional<allocation_counter> counter;
  std::size_t allocated = 1;
  struct link {
    weir::worker_pool* pool;
    int* runs;
    std::optional<allocation_counter>* counter;
    std::size_t* allocated;
  };
  static link chain;
  chain = {&p, &runs, &counter, &allocated};
  static void (*const next)(task_context&) = [](task_context&) {
    if (++*chain.runs == 200) chain.counter->emplace();
    if (*chain.runs == 400) {
      *chain.allocated = (*chain.counter)->count();
      return;
    }
    const auto run = [](task_context& ctx) { next(ctx); };
    if (chain.pool->submit(task_of("ann", run))) BOOST_ERROR("refused");
  };
  BOOST_TEST(!p.submit(task_of("ann", [](task_context& ctx) { next(ctx); })));
  time.run();
  BOOST_TEST(runs == 400);
  BOOST_TEST(allocated == 0U);
}

BOOST_AUTO_TEST_CASE(an_exception_of_any_type_harms_nobody) {
  struct observer : weir::pool_observer {
    std::vector<std::string> heard;
    void on_task_failed(std::string_view id, std::string_view user,
                        const std::exception_ptr& e) noexcept override {
      heard.push_back(std::string(id) + "/" + std::string(user) + (e ? "!" : "?"));
    }
  };
  const auto o = std::make_shared<observer>();
  auto& p = make({.workers = 1, .max_per_user = 0, .observer = o});
  auto before = [](task_context&) -> asio::awaitable<void> { throw 42; };  // NOLINT: no coroutine
  auto first = [](task_context&) -> asio::awaitable<void> {
    throw std::runtime_error("at once");
    co_return;
  };
  auto later = [](task_context&) -> asio::awaitable<void> {
    co_await sleep_for(1s);
    throw std::string("after an await");
  };
  BOOST_TEST(!p.submit({.id = "x", .user = "ann", .fn = before}));
  BOOST_TEST(!p.submit({.id = "y", .user = "ann", .fn = first}));
  BOOST_TEST(!p.submit({.id = {}, .user = "bob", .fn = later}));
  BOOST_TEST(!p.submit(task_of("", nothing())));
  time.run();
  BOOST_TEST(p.metrics().failed == 3U);
  BOOST_TEST(p.metrics().completed == 1U);
  const std::vector<std::string> expected{"x/ann!", "y/ann!", "task-3/bob!"};
  BOOST_TEST(o->heard == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(captures_live_until_the_frame_has_ended) {
  auto& p = make();
  {
    auto work = [c = counted(), text = std::make_unique<std::string>("still here")](
                    task_context&) -> asio::awaitable<void> {
      co_await sleep_for(1s);
      BOOST_TEST(*text == "still here");
    };
    BOOST_TEST(!p.submit(task_of("ann", std::move(work))));
  }
  time.run_for(500ms);
  BOOST_TEST(counted::alive == 1);
  time.run();
  BOOST_TEST(counted::alive == 0);
}

BOOST_AUTO_TEST_CASE(a_task_knows_itself) {
  auto& p = make({.task_timeout = 5s});
  const auto began = time.now();
  auto work = [&](task_context& ctx) -> asio::awaitable<void> {
    BOOST_TEST(ctx.id() == "job 7");
    BOOST_TEST(ctx.user() == "ann");
    BOOST_TEST(ctx.priority() == 3);
    BOOST_TEST((ctx.deadline() == began + 5s));
    BOOST_TEST((ctx.cause() == weir::cancel_cause::none));
    co_return;
  };
  BOOST_TEST(!p.submit({.id = "job 7", .user = "ann", .fn = work, .priority = 3}));
  BOOST_TEST(!p.submit(task_of(
      "ann",
      [](task_context& ctx) {
        BOOST_TEST(ctx.id() == "task-2");
        BOOST_TEST((ctx.deadline() == weir::time_point::max()));
      },
      0s)));
  time.run();
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_suspended_tasks_of_as_many_users) {
  constexpr int n = 100'000;
  auto& p = make({.workers = n, .queue_size = n, .max_per_user = 1});
  for (int i = 0; i < n; ++i)
    if (p.submit(task_of("user " + std::to_string(i), sleeper(1h), 2h))) BOOST_FAIL("refused");
  time.settle();
  BOOST_TEST(p.metrics().active == static_cast<std::size_t>(n));
  BOOST_TEST(p.metrics().users == static_cast<std::size_t>(n));
  time.run();
  BOOST_TEST(p.metrics().completed == static_cast<std::uint64_t>(n));
  BOOST_TEST(p.metrics().users == 0U);
}

// --- resize --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_pool_that_grows_starts_what_is_queued_at_once) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  for (int i = 0; i < 6; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
  time.settle();
  BOOST_TEST(p.metrics().active == 1U);
  p.resize(4);
  BOOST_TEST(p.metrics().workers == 4);
  time.settle();
  BOOST_TEST(p.metrics().active == 4U);
  BOOST_TEST(p.metrics().queued == 2U);
  BOOST_TEST(p.options().workers == 1);  // as it was made
}

BOOST_AUTO_TEST_CASE(a_pool_that_shrinks_lets_what_runs_end_and_starts_nothing_before) {
  auto& p = make({.workers = 4, .max_per_user = 0});
  for (int i = 1; i <= 4; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(i * 1s))));
  time.settle();
  for (int i = 0; i < 4; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(10s))));
  p.resize(2);
  for (std::size_t second = 0; second < 3; ++second) {
    time.settle();
    BOOST_TEST(p.metrics().active == 4 - std::min<std::size_t>(second, 2));
    BOOST_TEST(p.metrics().queued == 4U);  // none is lost, none is started
    if (second < 2) time.run_for(1s);
  }
  time.run_for(1s);  // the third has ended: the first place below the limit
  BOOST_TEST(p.metrics().active == 2U);
  BOOST_TEST(p.metrics().queued == 3U);
  time.run();
  BOOST_TEST(p.metrics().completed == 8U);
}

BOOST_AUTO_TEST_CASE(a_limit_that_was_lowered_holds_for_workers_that_are_parked_already) {
  auto& p = make({.workers = 4, .max_per_user = 0});
  for (int i = 0; i < 4; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
  time.run();  // four workers are made, and parked
  p.resize(1);
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
    time.settle();
    BOOST_TEST(p.metrics().active == 1U);
  }
  p.resize(3);
  time.settle();
  BOOST_TEST(p.metrics().active == 3U);
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_woken_looks_at_the_limit_again) {
  auto& p = make({.workers = 2, .max_per_user = 0});
  BOOST_TEST(!p.submit(task_of("", sleeper(2s))));
  time.settle();
  BOOST_TEST(!p.submit(task_of("", sleeper(1s))));  // wakes the second
  p.resize(1);
  time.settle();
  BOOST_TEST(p.metrics().active == 1U);
  BOOST_TEST(p.metrics().queued == 1U);
  time.run_for(2s);
  BOOST_TEST(p.metrics().active == 1U);
  BOOST_TEST(p.metrics().queued == 0U);
}

BOOST_AUTO_TEST_CASE(a_size_below_one_becomes_one) {
  auto& p = make({.workers = 3, .max_per_user = 0});
  for (const int n : {0, -5}) {
    p.resize(n);
    BOOST_TEST(p.metrics().workers == 1);
    BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
    BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
    time.settle();
    BOOST_TEST(p.metrics().active == 1U);
    time.run();
  }
}

BOOST_AUTO_TEST_CASE(a_task_may_resize_its_own_pool) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  std::size_t most = 0;
  const auto work = [&](task_context&) -> asio::awaitable<void> {
    most = std::max(most, p.metrics().active);
    p.resize(p.metrics().workers == 1 ? 3 : 1);
    co_await sleep_for(1s);
    most = std::max(most, p.metrics().active);
  };
  for (int i = 0; i < 9; ++i) BOOST_TEST(!p.submit(task_of("", work)));
  time.run();
  BOOST_TEST(p.metrics().completed == 9U);
  BOOST_TEST(most > 1U);
  BOOST_TEST(most <= 3U);
}

BOOST_AUTO_TEST_CASE(resizing_a_pool_that_shuts_down_reopens_nothing) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  for (int i = 0; i < 3; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
  const auto began = time.now();
  noted ended;
  p.async_shutdown({.deadline = 10s}, ended.handler());
  p.resize(3);  // what is left drains three at a time
  BOOST_TEST(p.submit(task_of("", nothing())) == errc::pool_closed);
  time.run();
  BOOST_TEST(*ended.code == error_code{});
  BOOST_TEST((time.now() - began == 1s));
  p.resize(7);
  p.resize(1);
  BOOST_TEST(p.submit(task_of("", nothing())) == errc::pool_closed);
  time.run();
  BOOST_TEST(p.metrics().completed == 3U);
}

BOOST_AUTO_TEST_CASE(a_pool_is_resized_while_its_deadline_cancels_and_after_its_context) {
  std::optional<asio::io_context> context(std::in_place);
  weir::worker_pool p(context->get_executor(), {.workers = 1, .max_per_user = 0});
  for (int i = 0; i < 3; ++i) BOOST_TEST(!p.submit(task_of("", sleeper(1h))));
  context->poll();
  p.async_shutdown({.deadline = 0s}, asio::detached);
  p.resize(3);
  context->poll();
  p.resize(2);
  context.reset();
  p.resize(5);
  BOOST_TEST(p.submit(task_of("", nothing())) == errc::pool_closed);
  BOOST_TEST(p.metrics().active == 0U);
}

/// Tasks come, run and are cancelled while the pool is resized at any moment. A task never starts
/// but below the limit of that moment, and all of them end.
void resized_at_any_moment(weir::test::simulation& sim) {
  auto& draw = sim.draw();
  const weir::pool_options options{.workers = draw.between(1, 4),
                                   .queue_size = 50,
                                   .max_per_user = 0,
                                   .task_timeout = draw.chance(0.5) ? 0ms : 2ms};
  std::optional<weir::worker_pool> made;
  while (!made) try {
      made.emplace(sim.get_executor(), options);
    } catch (const std::bad_alloc&) {
      continue;
    }
  weir::worker_pool& p = *made;
  std::uint64_t accepted = 0;
  for (int i = 0; i < 3; ++i)
    sim.spawn([&]() -> asio::awaitable<void> {
      for (int k = 0; k < 6; ++k) {
        const auto work = [&p, length = draw.between(0, 3) *
                                        1ms](task_context&) -> asio::awaitable<void> {
          const auto m = p.metrics();
          BOOST_TEST_REQUIRE(m.active <= static_cast<std::size_t>(m.workers));
          if (length > 0ms) co_await sleep_for(length);
        };
        try {
          if (!p.submit(task_of("", work))) ++accepted;
        } catch (const std::bad_alloc&) {
          BOOST_TEST_REQUIRE(accepted == p.metrics().submitted);  // not accepted then
        }
        if (draw.chance(0.5)) co_await sleep_for(draw.between(0, 3) * 1ms);
      }
    });
  sim.spawn([&]() -> asio::awaitable<void> {
    for (int k = 0; k < 10; ++k) {
      p.resize(draw.between(0, 4));
      co_await sleep_for(draw.between(0, 3) * 1ms);
    }
  });
  sim.run();
  check_at_rest(p.metrics());
  BOOST_TEST_REQUIRE(p.metrics().submitted == accepted);
}

BOOST_AUTO_TEST_CASE(no_task_starts_beyond_the_limit_of_its_moment_and_none_is_lost) {
  // Not in the fixture's time: a simulation stops the clock itself.
  weir::test::for_each_seed(2000, resized_at_any_moment);
}

BOOST_AUTO_TEST_CASE(a_resize_loses_nothing_where_callers_are_cancelled_and_memory_runs_out) {
  weir::test::for_each_seed(500, resized_at_any_moment,
                            {.simulation = {.cancel = 0.1, .fail_allocation = 0.02}});
}

// --- async_submit: the blocking policy -----------------------------------------------------------

BOOST_AUTO_TEST_CASE(async_submit_completes_through_the_executor_and_never_inline) {
  auto& p = make();
  noted n;
  p.async_submit(task_of("ann", nothing()), n.handler());
  BOOST_TEST(!n.ended());
  time.run();
  BOOST_TEST(n.calls == 1);
  BOOST_TEST(*n.code == error_code{});
}

BOOST_AUTO_TEST_CASE(async_submit_refuses_as_submit_does_except_for_room) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 1});
  BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
  noted cap, invalid, closed;
  p.async_submit(task_of("ann", nothing()), cap.handler());
  p.async_submit(task_of("", nothing()), invalid.handler());
  time.settle();
  BOOST_TEST(*cap.code == errc::user_limit_reached);
  BOOST_TEST(*invalid.code == errc::invalid_argument);
  p.async_shutdown({}, asio::detached);
  p.async_submit(task_of("bob", nothing()), closed.handler());
  time.settle();
  BOOST_TEST(*closed.code == errc::pool_closed);
}

BOOST_AUTO_TEST_CASE(a_producer_is_held_to_the_pace_of_the_pool) {
  auto& p = make({.workers = 1, .queue_size = 2, .max_per_user = 0});
  int accepted = 0;
  auto producer = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 10; ++i) {
      auto op = p.async_submit(task_of("", sleeper(1s)), asio::use_awaitable);
      co_await std::move(op);
      ++accepted;
    }
  };
  asio::co_spawn(time.context(), producer, asio::detached);
  time.settle();
  BOOST_TEST(accepted == 3);  // one runs, two wait
  BOOST_TEST(p.metrics().waiting == 1U);
  time.run_for(4s);
  BOOST_TEST(accepted == 7);
  time.run();
  BOOST_TEST(p.metrics().completed == 10U);
}

BOOST_AUTO_TEST_CASE(who_waits_for_room_is_served_in_order_and_not_overtaken) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 0});
  std::vector<int> order;
  const auto numbered = [&](int i) {
    auto work = [&order, i](task_context&) -> asio::awaitable<void> {
      order.push_back(i);
      co_await sleep_for(1s);
    };
    return task_of("", work);
  };
  BOOST_TEST(!p.submit(numbered(0)));
  time.settle();
  BOOST_TEST(!p.submit(numbered(1)));
  for (int i = 2; i < 6; ++i) p.async_submit(numbered(i), asio::detached);
  time.settle();
  BOOST_TEST(p.metrics().waiting == 4U);
  for (int second = 0; second < 4; ++second) {
    // Each second a place becomes free; it has gone to the first who waits.
    BOOST_TEST(p.submit(numbered(99)) == errc::queue_full);
    time.run_for(1s);
  }
  time.run();
  const std::vector<int> expected{0, 1, 2, 3, 4, 5};
  BOOST_TEST(order == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_gives_its_slot_back_and_lets_the_next_pass) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    virtual_pool::make({.workers = 1, .queue_size = 1, .max_per_user = 1});
    auto& p = *pool;
    BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
    time.settle();
    BOOST_TEST(!p.submit(task_of("bob", nothing())));
    asio::cancellation_signal signal;
    noted first, second;
    p.async_submit(task_of("cleo", [c = counted()](task_context&) {}),
                   asio::bind_cancellation_slot(signal.slot(), first.handler()));
    p.async_submit(task_of("dan", nothing()), second.handler());
    time.settle();
    BOOST_TEST(p.metrics().users == 4U);
    signal.emit(type);
    BOOST_TEST(counted::alive == 0);
    BOOST_TEST(!first.ended());  // posted
    time.settle();
    BOOST_TEST(*first.code == asio::error::operation_aborted);
    BOOST_TEST(p.metrics().users == 3U);
    BOOST_TEST(p.metrics().rejected.cancelled == 1U);
    signal.emit(type);  // too late to matter
    time.run();
    BOOST_TEST(*second.code == error_code{});
    BOOST_TEST(p.metrics().completed == 3U);
  }
}

BOOST_AUTO_TEST_CASE(a_wait_that_was_served_is_not_cancelled_any_more) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 0});
  BOOST_TEST(!p.submit(task_of("", sleeper(1s))));
  time.settle();
  BOOST_TEST(!p.submit(task_of("", nothing())));
  asio::cancellation_signal signal;
  noted n;
  p.async_submit(task_of("", nothing()), asio::bind_cancellation_slot(signal.slot(), n.handler()));
  // The worker that takes the second task serves the wait; the cancel comes before the handler.
  auto cancel = [&](task_context&) { signal.emit(asio::cancellation_type::terminal); };
  time.run_for(999ms);
  asio::post(time.context(), [&] { signal.emit(asio::cancellation_type::terminal); });
  time.settle();
  BOOST_TEST(*n.code == asio::error::operation_aborted);  // still waiting: cancelled
  noted served;
  p.async_submit(task_of("", cancel),
                 asio::bind_cancellation_slot(signal.slot(), served.handler()));
  time.run();
  BOOST_TEST(served.calls == 1);
  BOOST_TEST(*served.code == error_code{});
  BOOST_TEST(p.metrics().completed == 3U);
}

BOOST_AUTO_TEST_CASE(a_pool_that_closes_turns_away_who_waits_for_room) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 1});
  BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
  time.settle();
  BOOST_TEST(!p.submit(task_of("bob", nothing())));
  std::vector<noted> waits(3);
  for (std::size_t i = 0; i < waits.size(); ++i)
    p.async_submit(task_of("waiter " + std::to_string(i), nothing()), waits[i].handler());
  p.async_shutdown({}, asio::detached);
  time.settle();
  for (const auto& w : waits) BOOST_TEST(*w.code == errc::pool_closed);
  BOOST_TEST(p.metrics().rejected.closed == 3U);
  time.run();
  BOOST_TEST(p.metrics().completed == 2U);
}

BOOST_AUTO_TEST_CASE(throwing_tasks_do_not_hold_up_who_waits) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 0});
  std::vector<noted> waits(5);
  for (auto& w : waits) {
    auto fail = [](task_context&) -> asio::awaitable<void> { throw std::runtime_error("no"); };
    p.async_submit(task_of("", fail), w.handler());
  }
  time.run();
  for (const auto& w : waits) BOOST_TEST(*w.code == error_code{});
  BOOST_TEST(p.metrics().failed == 5U);
}

BOOST_AUTO_TEST_SUITE_END()
