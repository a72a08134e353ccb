// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sleep_for.hpp"

#include <weir/hedge.hpp>
#include <weir/semaphore.hpp>
#include <weir/test/boost_test.hpp>
#include <weir/with_timeout.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::system_error;
using weir::attempt;
using weir::errc;
using weir::error_code;
using weir::hedge;
using weir::hedge_options;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(hedge_suite)

namespace {

// They may be written inside a co_await.
static_assert(std::is_trivially_destructible_v<hedge_options>);

/// What a hedge came to.
struct answer {
  std::optional<int> value;
  error_code code;
  std::string text;
};

asio::awaitable<void> record(asio::awaitable<int> work, answer& a) {
  try {
    a.value = co_await std::move(work);
  } catch (const system_error& e) {
    a.code = e.code();
  } catch (const std::exception& e) {
    a.text = e.what();
  }
}

}  // namespace

WEIR_COROUTINE_TEST_CASE(fast_answer_starts_no_second_attempt) {
  int calls = 0;
  const auto work = [&]() -> asio::awaitable<int> {
    ++calls;
    co_await sleep_for(49ms);
    co_return 1;
  };
  BOOST_TEST(co_await hedge(work, {.after = 50ms}) == 1);
  BOOST_TEST(calls == 1);
  BOOST_TEST((time.elapsed() == 49ms));
}

WEIR_COROUTINE_TEST_CASE(further_attempts_start_one_after_the_other_and_the_first_success_wins) {
  std::vector<weir::duration> at;
  const auto work = [&](const attempt& a) -> asio::awaitable<int> {
    at.push_back(time.elapsed());
    co_await sleep_for(a.number == 3 ? 5ms : 1h);
    co_return a.number;
  };
  BOOST_TEST(co_await hedge(work, {.after = 50ms, .max = 4}) == 3);
  BOOST_TEST((at == std::vector<weir::duration>{0ms, 50ms, 100ms}));
  BOOST_TEST((time.elapsed() == 105ms));
}

WEIR_COROUTINE_TEST_CASE(losers_are_cancelled_and_awaited_and_what_they_held_is_free) {
  weir::semaphore slots(time.get_executor(), 2);
  const auto work = [&](const attempt& a) -> asio::awaitable<int> {
    const weir::permit slot = co_await slots.async_acquire(asio::use_awaitable);
    if (a.number == 2) co_return 2;
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(100ms);  // does not listen
    co_return 1;
  };
  BOOST_TEST(co_await hedge(work, {.after = 10ms}) == 2);
  BOOST_TEST((time.elapsed() == 100ms));
  BOOST_TEST(slots.in_use() == 0);
}

WEIR_COROUTINE_TEST_CASE(failure_starts_the_next_at_once) {
  const auto work = [&](const attempt& a) -> asio::awaitable<int> {
    co_await sleep_for(1ms);
    if (a.number < 3) throw std::runtime_error("down");
    co_return a.number;
  };
  BOOST_TEST(co_await hedge(work, {.after = 1h, .max = 3}) == 3);
  BOOST_TEST((time.elapsed() == 3ms));
}

WEIR_COROUTINE_TEST_CASE(when_all_have_failed_the_first_failure_passes_through) {
  int calls = 0;
  const auto work = [&](const attempt& a) -> asio::awaitable<int> {
    ++calls;
    co_await sleep_for(a.number == 1 ? 5ms : 1ms);
    throw std::runtime_error("number " + std::to_string(a.number));
  };
  answer a;
  co_await record(hedge(work, {.after = 2ms, .max = 3}), a);
  BOOST_TEST(a.text == "number 2");
  BOOST_TEST(calls == 3);
  BOOST_TEST((time.elapsed() == 5ms));
}

WEIR_COROUTINE_TEST_CASE(callable_that_throws_by_itself_is_a_failed_attempt) {
  int calls = 0;
  const auto work = [&](const attempt& a) -> asio::awaitable<int> {
    ++calls;
    if (a.number < 3) throw std::logic_error("no coroutine yet");
    return []() -> asio::awaitable<int> { co_return 8; }();
  };
  BOOST_TEST(co_await hedge(work, {.after = 1s, .max = 3}) == 8);
  BOOST_TEST(calls == 3);
}

WEIR_COROUTINE_TEST_CASE(zero_starts_all_at_once) {
  int calls = 0;
  const auto work = [&](const attempt& a) -> asio::awaitable<int> {
    ++calls;
    co_await sleep_for(a.number == 4 ? 1ms : 1h);
    co_return a.number;
  };
  BOOST_TEST(co_await hedge(work, {.after = 0s, .max = 5}) == 4);
  BOOST_TEST(calls == 5);
  BOOST_TEST((time.elapsed() == 1ms));
}

WEIR_COROUTINE_TEST_CASE(options_that_make_no_sense_are_invalid) {
  for (const hedge_options& o : {hedge_options{.max = 0}, hedge_options{.after = -1ns}}) {
    answer a;
    const auto work = []() -> asio::awaitable<int> { co_return 1; };
    co_await record(hedge(work, o), a);
    BOOST_TEST((a.code == errc::invalid_argument));
  }
}

WEIR_COROUTINE_TEST_CASE(budget_pays_for_all_but_the_first_and_what_runs_is_waited_for) {
  weir::retry_budget budget({.ratio = 0.5, .min_per_second = 0});
  int calls = 0;
  const auto work = [&](const attempt&) -> asio::awaitable<int> {
    ++calls;
    co_await sleep_for(1s);
    co_return 1;
  };
  for (int i = 0; i < 10; ++i)
    BOOST_TEST(co_await hedge(work, {.after = 1ms, .budget = &budget}) == 1);
  BOOST_TEST(calls == 15);
}

WEIR_COROUTINE_TEST_CASE(results_may_be_void_or_move_only_and_not_default_constructible) {
  struct odd {
    explicit odd(int v) : value(std::make_unique<int>(v)) {}
    std::unique_ptr<int> value;
  };
  const auto make = [](const attempt& a) -> asio::awaitable<odd> {
    if (a.number == 1) co_await sleep_for(1h);
    co_return odd(a.number);
  };
  const odd got = co_await hedge(make);
  BOOST_TEST(*got.value == 2);
  int calls = 0;
  const auto nothing = [&]() -> asio::awaitable<void> {
    if (++calls == 1) co_await sleep_for(1h);
  };
  co_await hedge(nothing);
  BOOST_TEST(calls == 2);
}

WEIR_COROUTINE_TEST_CASE(attempts_can_be_timed_and_the_whole_too) {
  const auto work = [](const attempt&) -> asio::awaitable<int> {
    co_await weir::with_timeout(sleep_for(1h), 20ms);
    co_return 1;
  };
  answer a;
  co_await record(weir::with_timeout(hedge(work, {.after = 5ms, .max = 100}), 100ms), a);
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST((time.elapsed() == 100ms));
}

BOOST_AUTO_TEST_CASE(cancellation_of_each_type_reaches_every_attempt_and_no_further_one_starts) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    weir::test::virtual_time time;
    answer a;
    int calls = 0;
    int ended = 0;
    asio::cancellation_signal signal;
    const auto work = [&]() -> asio::awaitable<int> {
      ++calls;
      const struct guard {
        int& n;
        ~guard() { ++n; }
      } at_end{ended};
      co_await sleep_for(1h);
      co_return 1;
    };
    const auto caller = [&]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      co_await record(hedge(work, {.after = 1s, .max = 5}), a);
      BOOST_TEST(ended == calls);
    };
    asio::co_spawn(time.get_executor(), caller(),
                   asio::bind_cancellation_slot(signal.slot(), [](auto) {}));
    time.run_for(1500ms);
    signal.emit(type);
    time.run();
    BOOST_TEST((a.code == asio::error::operation_aborted));
    BOOST_TEST(calls == 2);
    BOOST_TEST((time.elapsed() == 1500ms));
  }
}

BOOST_AUTO_TEST_CASE(attempt_that_succeeds_in_spite_of_a_cancellation_is_the_result) {
  weir::test::virtual_time time;
  answer a;
  asio::cancellation_signal signal;
  const auto work = [&](const attempt& n) -> asio::awaitable<int> {
    if (n.number == 2)
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(3s);
    co_return n.number;
  };
  asio::co_spawn(time.get_executor(), record(hedge(work, {.after = 1s}), a),
                 asio::bind_cancellation_slot(signal.slot(), [](auto) {}));
  time.run_for(2s);
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST((a.value == 2));
  BOOST_TEST((time.elapsed() == 4s));
}

BOOST_AUTO_TEST_CASE(context_destroyed_with_attempts_in_flight) {
  const auto alive = std::make_shared<int>();
  {
    asio::io_context context;
    auto work = [alive](const attempt&) -> asio::awaitable<int> {
      const struct guard {
        const std::shared_ptr<int>& captured;
        ~guard() { BOOST_TEST(captured.use_count() > 1); }
      } at_end{alive};
      co_await sleep_for(1h);
      co_return 1;
    };
    asio::co_spawn(context, hedge(std::move(work), {.after = 0s, .max = 3}),
                   [alive](const std::exception_ptr&, int) { BOOST_ERROR("ran"); });
    context.poll();
  }
  BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(pool_of_threads_destroyed_with_attempts_in_flight) {
  const auto alive = std::make_shared<int>();
  {
    asio::thread_pool threads(2);
    std::promise<void> begun;
    auto work = [alive, &begun](const attempt& a) -> asio::awaitable<int> {
      if (a.number == 3) begun.set_value();
      co_await sleep_for(1h);
      co_return 1;
    };
    asio::co_spawn(threads, hedge(std::move(work), {.after = 0s, .max = 3}),
                   [alive](const std::exception_ptr&, int) {});
    begun.get_future().get();
    threads.stop();
  }
  BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(four_hundred_hedges_race_on_threads_without_a_strand_of_the_caller) {
  asio::thread_pool threads(4);
  std::atomic<int> running{0};
  std::vector<std::future<int>> ended;
  for (int i = 0; i < 400; ++i) {
    const auto work = [&running, i](const attempt& a) -> asio::awaitable<int> {
      const struct inside {
        std::atomic<int>& n;
        explicit inside(std::atomic<int>& count) : n(count) { ++n; }
        ~inside() { --n; }
      } scope(running);
      co_await sleep_for(100us * ((i + a.number) % 4));
      co_return a.number;
    };
    ended.push_back(asio::co_spawn(threads, hedge(work, {.after = 100us * (i % 3), .max = 3}),
                                   asio::use_future));
  }
  for (auto& e : ended) BOOST_TEST(e.get() >= 1);
  BOOST_TEST(running == 0);
  threads.join();
}

WEIR_COROUTINE_TEST_CASE(attempt_that_blocks_its_thread_does_not_hold_up_the_next) {
  // On its own threads: what is tested is that nobody waits for a strand that is not free.
  asio::thread_pool threads(3);
  std::promise<void> second;
  const auto work = [&](const attempt& a) -> asio::awaitable<int> {
    if (a.number == 1) second.get_future().wait();
    if (a.number == 2) second.set_value();
    co_return a.number;
  };
  BOOST_TEST(asio::co_spawn(threads, hedge(work, {.after = 0s}), asio::use_future).get() >= 1);
  threads.join();
  co_return;
}

/// However it ends: no attempt outlives it, and there were never more than allowed.
void crowd(simulation& sim) {
  int running = 0;
  for (int i = 0; i < 4; ++i) {
    const hedge_options o{.after = 1ms * sim.draw().between(0, 2), .max = sim.draw().between(1, 4)};
    std::vector<std::pair<weir::duration, int>> plan;  // how long, and how it ends
    for (int n = 0; n < o.max; ++n)
      plan.emplace_back(1ms * sim.draw().between(0, 3), sim.draw().between(0, 3));
    sim.spawn([&, o, plan]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      int calls = 0;
      int inside = 0;
      int failed = 0;
      int succeeded = 0;
      const auto work = [&](const attempt& a) -> asio::awaitable<int> {
        ++calls;
        BOOST_TEST_REQUIRE(a.number <= o.max);
        const struct scope_guard {
          int& all;
          int& own;
          scope_guard(int& x, int& y) : all(x), own(y) { ++all, ++own; }
          ~scope_guard() { --all, --own; }
        } scope(running, inside);
        const auto [takes, way] = plan[static_cast<std::size_t>(a.number - 1)];
        if (way == 0)
          co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        if (takes > 0ms) co_await sleep_for(takes);
        if (way == 1) {
          ++failed;
          throw std::runtime_error("down");
        }
        ++succeeded;
        co_return a.number;
      };
      try {
        const int won = co_await hedge(work, o);
        BOOST_TEST_REQUIRE(succeeded >= 1);
        BOOST_TEST_REQUIRE(won <= o.max);
      } catch (const system_error& e) {
        BOOST_TEST_REQUIRE((e.code() == asio::error::operation_aborted));
        BOOST_TEST_REQUIRE(succeeded == 0);
      } catch (const std::runtime_error&) {
        BOOST_TEST_REQUIRE(succeeded == 0);
        BOOST_TEST_REQUIRE(failed == o.max);
      }
      BOOST_TEST_REQUIRE(inside == 0);
    });
  }
  sim.run();
  BOOST_TEST_REQUIRE(running == 0);
}

WEIR_SIMULATION_TEST_CASE(no_attempt_is_left_in_any_order, 2000) { crowd(sim); }

BOOST_AUTO_TEST_CASE(no_attempt_is_left_when_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000, crowd, {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
