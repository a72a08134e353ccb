// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// co_spawn onto a pool: the result comes back, in every form, and cancellation reaches the task.

#include "pool_fixture.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <memory>
#include <string>
#include <vector>

using namespace weir_test;

BOOST_FIXTURE_TEST_SUITE(co_spawn_onto_pool, virtual_pool)

BOOST_AUTO_TEST_CASE(the_result_of_an_awaitable_comes_back) {
  auto& p = make();
  std::string got;
  auto caller = [&]() -> asio::awaitable<void> {
    got = co_await co_spawn(
        p, {.user = "ann"},
        [](task_context& ctx) -> asio::awaitable<std::string> {
          co_await sleep_for(1s);
          co_return "hello " + std::string(ctx.user());
        },
        asio::use_awaitable);
  };
  asio::co_spawn(time.context(), caller, asio::detached);
  time.run();
  BOOST_TEST(got == "hello ann");
}

BOOST_AUTO_TEST_CASE(a_plain_result_comes_back_too) {
  auto& p = make();
  int got = 0;
  co_spawn(
      p, {.user = "ann"}, [](task_context&) { return 42; },
      [&](const std::exception_ptr& e, int result) {
        BOOST_TEST(!e);
        got = result;
      });
  time.run();
  BOOST_TEST(got == 42);
}

BOOST_AUTO_TEST_CASE(void_forms_complete) {
  auto& p = make();
  noted a, b;
  co_spawn(p, {.user = "ann"}, nothing(), a.handler());
  co_spawn(
      p, {.user = "ann"}, [](task_context&) {}, b.handler());
  time.run();
  BOOST_TEST(*a.code == error_code{});
  BOOST_TEST(*b.code == error_code{});
}

BOOST_AUTO_TEST_CASE(a_move_only_result_comes_back) {
  auto& p = make();
  std::unique_ptr<int> got;
  co_spawn(
      p, {.user = "ann"}, [](task_context&) { return std::make_unique<int>(7); },
      [&](const std::exception_ptr&, std::unique_ptr<int> result) { got = std::move(result); });
  time.run();
  BOOST_REQUIRE(got);
  BOOST_TEST(*got == 7);
}

BOOST_AUTO_TEST_CASE(what_the_task_throws_comes_back) {
  auto& p = make();
  std::string what;
  auto caller = [&]() -> asio::awaitable<void> {
    auto fail = [](task_context&) -> asio::awaitable<int> { throw std::runtime_error("boom"); };
    try {
      co_await co_spawn(p, {.user = "ann"}, std::move(fail), asio::use_awaitable);
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
  };
  asio::co_spawn(time.context(), caller, asio::detached);
  time.run();
  BOOST_TEST(what == "boom");
  BOOST_TEST(p.metrics().failed == 1U);
}

BOOST_AUTO_TEST_CASE(the_books_are_settled_when_the_caller_is_told) {
  auto& p = make({.workers = 1, .max_per_user = 1});
  auto caller = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 20; ++i) {
      // With a cap of one, the second would be refused if the slot came back late.
      co_await co_spawn(p, {.user = "ann"}, nothing(), asio::use_awaitable);
      BOOST_TEST(p.metrics().completed == static_cast<std::uint64_t>(i) + 1);
      BOOST_TEST(p.metrics().active == 0U);
    }
    for (int i = 0; i < 5; ++i) {
      auto op = co_spawn(p, {.user = "ann", .timeout = 1s}, sleeper(1h), asio::use_awaitable);
      try {
        co_await std::move(op);
      } catch (const boost::system::system_error& e) {
        BOOST_TEST(e.code() == errc::task_timed_out);
      }
      BOOST_TEST(p.metrics().timed_out == static_cast<std::uint64_t>(i) + 1);
      BOOST_TEST(p.metrics().active == 0U);
    }
  };
  asio::co_spawn(time.context(), caller, asio::detached);
  time.run();
  BOOST_TEST(p.metrics().completed == 20U);
}

BOOST_AUTO_TEST_CASE(a_rejection_is_a_system_error_with_its_code) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 1});
  BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
  time.settle();
  BOOST_TEST(!p.submit(task_of("bob", nothing())));
  noted cap, full, invalid, closed;
  co_spawn(
      p, {.user = "ann"}, [c = counted()](task_context&) {}, cap.handler());
  co_spawn(p, {.user = "cleo"}, nothing(), full.handler());
  co_spawn(p, {.user = "cleo", .timeout = -1s}, nothing(), invalid.handler());
  BOOST_TEST(counted::alive == 0);
  BOOST_TEST(cap.calls + full.calls + invalid.calls == 0);  // never inline
  p.async_shutdown({}, asio::detached);
  co_spawn(p, {.user = "cleo"}, nothing(), closed.handler());
  time.run();
  BOOST_TEST(*cap.code == errc::user_limit_reached);
  BOOST_TEST(*full.code == errc::queue_full);
  BOOST_TEST(*invalid.code == errc::invalid_argument);
  BOOST_TEST(*closed.code == errc::pool_closed);
}

BOOST_AUTO_TEST_CASE(the_strings_are_copied_during_the_call) {
  auto& p = make();
  std::string seen;
  auto caller = [&]() -> asio::awaitable<void> {
    auto look = [&seen](task_context& ctx) {
      seen = std::string(ctx.id()) + "/" + std::string(ctx.user());
    };
    std::string id = "a rather long identifier";
    std::string user = "a rather long user name";
    auto op = co_spawn(p, {.id = id, .user = user}, std::move(look), asio::use_awaitable);
    id.assign(id.size(), '#');
    user.assign(user.size(), '#');
    co_await std::move(op);
  };
  asio::co_spawn(time.context(), caller, asio::detached);
  time.run();
  BOOST_TEST(seen == "a rather long identifier/a rather long user name");
}

BOOST_AUTO_TEST_CASE(every_kind_of_token_works) {
  auto& p = make({.max_per_user = 0});
  std::vector<int> got;
  auto answer = [](task_context&) -> asio::awaitable<int> { co_return 1; };
  auto op = co_spawn(p, {}, answer, asio::deferred);
  std::move(op)([&](const std::exception_ptr&, int r) { got.push_back(r); });
  auto future = co_spawn(p, {}, answer, asio::use_future);
  co_spawn(p, {}, answer, asio::detached);
  auto caller = [&]() -> asio::awaitable<void> {
    got.push_back(co_await co_spawn(p, {}, answer, asio::use_awaitable));
    const auto [e, r] =
        co_await co_spawn(p, {}, answer, asio::experimental::as_tuple(asio::use_awaitable));
    BOOST_TEST(!e);
    got.push_back(r);
    auto submission = p.async_submit(task_of("", [](task_context&) {}),
                                     asio::experimental::as_tuple(asio::use_awaitable));
    const auto [ec] = co_await std::move(submission);
    BOOST_TEST(!ec);
    const auto report = co_await p.async_shutdown({}, asio::deferred);
    BOOST_TEST(report.drained);
  };
  asio::co_spawn(time.context(), caller, asio::detached);
  time.run();
  BOOST_TEST(future.get() == 1);
  BOOST_TEST(got.size() == 3U);
  BOOST_TEST(p.metrics().completed == 6U);
}

BOOST_AUTO_TEST_CASE(a_type_erased_handler_works) {
  auto& p = make();
  auto strand = asio::make_strand(time.context());
  int got = 0;
  bool inside = false;
  co_spawn(
      p, {.user = "ann"}, [](task_context&) { return 3; },
      asio::any_completion_handler<void(std::exception_ptr, int)>(
          asio::bind_executor(strand, [&](const std::exception_ptr&, int r) {
            got = r;
            inside = strand.running_in_this_thread();
          })));
  time.run();
  BOOST_TEST(got == 3);
  BOOST_TEST(inside);
}

BOOST_AUTO_TEST_CASE(the_handler_runs_on_its_own_executor) {
  auto& p = make();
  auto strand = asio::make_strand(time.context());
  bool inside = false;
  co_spawn(p, {.user = "ann"}, nothing(),
           asio::bind_executor(strand, [&](const std::exception_ptr&) {
             inside = strand.running_in_this_thread();
           }));
  time.run();
  BOOST_TEST(inside);
}

BOOST_AUTO_TEST_CASE(a_queued_task_that_is_cancelled_never_runs_and_frees_its_place) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 1});
    BOOST_TEST(!p.submit(task_of("ann", sleeper(1s))));
    time.settle();
    asio::cancellation_signal signal;
    noted n;
    co_spawn(
        p, {.user = "bob"}, [c = counted()](task_context&) { BOOST_ERROR("it ran"); },
        asio::bind_cancellation_slot(signal.slot(), n.handler()));
    BOOST_TEST(p.submit(task_of("cleo", nothing())) == errc::queue_full);
    signal.emit(type);
    // At once: the place, the slot and the captures.
    BOOST_TEST(p.metrics().queued == 0U);
    BOOST_TEST(p.metrics().cancelled == 1U);
    BOOST_TEST(counted::alive == 0);
    BOOST_TEST(!p.submit(task_of("bob", nothing())));
    time.settle();
    BOOST_TEST(*n.code == asio::error::operation_aborted);
    BOOST_TEST(n.calls == 1);
    signal.emit(type);
    time.run();
    BOOST_TEST(n.calls == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_running_task_is_cancelled_by_any_type) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    auto& p = make({.max_per_user = 1});
    asio::cancellation_signal signal;
    noted n;
    weir::cancel_cause cause{};
    auto work = [&](task_context& ctx) -> asio::awaitable<void> {
      try {
        co_await sleep_for(1h);
      } catch (...) {
        cause = ctx.cause();
        throw;
      }
    };
    co_spawn(p, {.user = "ann"}, work, asio::bind_cancellation_slot(signal.slot(), n.handler()));
    time.run_for(1s);
    signal.emit(type);
    time.settle();
    BOOST_TEST(*n.code == asio::error::operation_aborted);
    BOOST_TEST((cause == weir::cancel_cause::caller));
    BOOST_TEST(p.metrics().cancelled == 1U);
    BOOST_TEST(p.metrics().users == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_result_that_is_there_in_spite_of_a_cancel_is_delivered) {
  auto& p = make();
  asio::cancellation_signal signal;
  int got = 0;
  error_code code = errc::lease_lost;
  auto stubborn = [](task_context&) -> asio::awaitable<int> {
    try {
      co_await sleep_for(1h);
    } catch (const boost::system::system_error&) {
      co_return 5;
    }
    co_return 6;
  };
  co_spawn(p, {.user = "ann"}, stubborn,
           asio::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr& e, int r) {
             code = code_of(e);
             got = r;
           }));
  time.run_for(1s);
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST(code == error_code{});
  BOOST_TEST(got == 5);
  BOOST_TEST(p.metrics().completed == 1U);
}

BOOST_AUTO_TEST_CASE(cancelled_at_each_await_point_the_slot_comes_back_and_frames_end) {
  constexpr int points = 6;
  for (int at = 0; at <= points; ++at) {
    auto& p = make({.max_per_user = 1});
    asio::cancellation_signal signal;
    noted n;
    auto inner = [](counted) -> asio::awaitable<int> {
      counted local;
      co_await sleep_for(1s);
      co_return 1;
    };
    auto work = [&](task_context&) -> asio::awaitable<void> {
      counted local;
      for (int i = 0; i < points; ++i) {
        if (i % 2 == 0)
          co_await sleep_for(1s);
        else
          co_await inner(counted());
      }
    };
    co_spawn(p, {.user = "ann"}, work, asio::bind_cancellation_slot(signal.slot(), n.handler()));
    time.run_for(std::chrono::milliseconds(at * 1000 + 500));
    signal.emit(asio::cancellation_type::terminal);
    time.settle();
    BOOST_TEST(n.calls == 1);
    BOOST_TEST(*n.code == (at < points ? asio::error::operation_aborted : error_code{}));
    BOOST_TEST(p.metrics().users == 0U);
    BOOST_TEST(counted::alive == 0);
  }
}

BOOST_AUTO_TEST_CASE(completion_and_cancel_in_the_same_tick_give_one_answer) {
  for (int delay = 0; delay < 3; ++delay) {
    auto& p = make({.max_per_user = 1});
    auto signal = std::make_unique<asio::cancellation_signal>();
    int calls = 0;
    co_spawn(p, {.user = "ann"}, sleeper(1s),
             asio::bind_cancellation_slot(signal->slot(), [&](const std::exception_ptr&) {
               ++calls;
               signal.reset();  // the handler frees the signal, as a coroutine's frame would
             }));
    weir::steady_timer timer(time.context(), 1s + std::chrono::nanoseconds(delay) - 1ns);
    timer.async_wait([&](const error_code&) {
      if (signal) signal->emit(asio::cancellation_type::terminal);
    });
    time.run();
    BOOST_TEST(calls == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_caller_that_stops_waiting_by_an_operator_cancels_the_task) {
  using namespace asio::experimental::awaitable_operators;
  auto& p = make({.max_per_user = 1});
  auto caller = [&]() -> asio::awaitable<void> {
    weir::steady_timer patience(co_await asio::this_coro::executor, 1s);
    auto work = co_spawn(p, {.user = "ann"}, sleeper(1h), asio::use_awaitable);
    const auto first = co_await (std::move(work) || patience.async_wait(asio::use_awaitable));
    BOOST_TEST(first.index() == 1U);
    BOOST_TEST(p.metrics().cancelled == 1U);
    BOOST_TEST(p.metrics().users == 0U);
  };
  asio::co_spawn(time.context(), caller, asio::detached);
  time.run();
  BOOST_TEST(p.metrics().cancelled == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(co_spawn_onto_pool_threads)

BOOST_AUTO_TEST_CASE(results_come_back_from_owned_threads) {
  weir::worker_pool p{{.workers = 4, .queue_size = 200, .max_per_user = 0}};
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 100; ++i)
    futures.push_back(co_spawn(
        p, {}, [i](task_context&) -> asio::awaitable<int> { co_return i; }, asio::use_future));
  for (int i = 0; i < 100; ++i) BOOST_TEST(futures[static_cast<std::size_t>(i)].get() == i);
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(a_caller_on_its_own_context_is_resumed_there) {
  weir::worker_pool p{{.workers = 2, .max_per_user = 0}};
  asio::io_context context(1);
  bool home = false;
  auto caller = [&]() -> asio::awaitable<void> {
    const auto here = std::this_thread::get_id();
    const auto there = co_await co_spawn(
        p, {}, [](task_context&) { return std::this_thread::get_id(); }, asio::use_awaitable);
    home = std::this_thread::get_id() == here && there != here;
  };
  asio::co_spawn(context, caller, asio::detached);
  context.run();  // the pending operation keeps the caller's context running
  BOOST_TEST(home);
}

BOOST_AUTO_TEST_SUITE_END()
