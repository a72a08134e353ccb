// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sleep_for.hpp"

#include <weir/retry.hpp>
#include <weir/test/boost_test.hpp>

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
#include <initializer_list>
#include <list>
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
using weir::give_up;
using weir::retry;
using weir::retry_options;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(retry_suite)

namespace {

const error_code reset = asio::error::connection_reset;

// They may be written inside a co_await.
static_assert(std::is_trivially_destructible_v<retry_options>);

/// Without chance: 10, 20, 40 ms.
constexpr weir::backoff_options plain{.base = 10ms, .jitter = weir::jitter::none};

/// What a retry came to.
struct answer {
  std::optional<int> value;
  error_code code;
  std::string text;
  std::string cause;
  int attempts = 0;
  std::optional<give_up> reason;

  static std::string nested_in(const std::exception& e) {
    try {
      std::rethrow_if_nested(e);
    } catch (const system_error& cause) {
      return cause.code().message();
    } catch (const std::exception& cause) {
      return cause.what();
    }
    return {};
  }

  void take(const std::exception_ptr& e) {
    try {
      std::rethrow_exception(e);
    } catch (const weir::retry_error& error) {
      code = error.code();
      attempts = error.attempts();
      reason = error.reason();
      cause = nested_in(error);
    } catch (const system_error& error) {
      code = error.code();
      cause = nested_in(error);
    } catch (const std::exception& error) {
      text = error.what();
    }
  }
};

asio::awaitable<void> record(asio::awaitable<int> work, answer& a) {
  try {
    a.value = co_await std::move(work);
  } catch (...) {
    a.take(std::current_exception());
  }
}

/// Fails so many times, then succeeds.
struct flaky {
  int failures = 0;
  error_code ec = reset;
  int calls = 0;

  asio::awaitable<int> operator()() {
    if (++calls <= failures) throw system_error(ec);
    co_return calls;
  }
};

}  // namespace

WEIR_COROUTINE_TEST_CASE(first_success_ends_it_and_costs_no_time) {
  BOOST_TEST(co_await retry(flaky{}) == 1);
  BOOST_TEST((time.elapsed() == 0s));
}

WEIR_COROUTINE_TEST_CASE(waits_by_the_backoff_between_attempts_that_fail) {
  std::vector<weir::duration> at;
  std::vector<int> numbers;
  const auto work = [&](const attempt& a) -> asio::awaitable<int> {
    at.push_back(time.elapsed());
    numbers.push_back(a.number);
    BOOST_TEST((a.deadline == weir::time_point::max()));
    if (at.size() < 4) throw system_error(reset);
    co_return 7;
  };
  const retry_options o{.max_attempts = 9, .backoff = plain};
  BOOST_TEST(co_await retry(work, o) == 7);
  BOOST_TEST((at == std::vector<weir::duration>{0ms, 10ms, 30ms, 70ms}));
  BOOST_TEST((numbers == std::vector<int>{1, 2, 3, 4}));
}

WEIR_COROUTINE_TEST_CASE(gives_up_after_so_many_attempts_and_keeps_the_last_cause) {
  flaky work{100};
  answer a;
  co_await record(retry([&] { return work(); }, {.max_attempts = 4, .backoff = plain}), a);
  BOOST_TEST((a.code == errc::retry_exhausted));
  BOOST_TEST(a.attempts == 4);
  BOOST_TEST((a.reason == give_up::attempts));
  BOOST_TEST(a.cause == reset.message());
  BOOST_TEST(work.calls == 4);
  // No wait after the last.
  BOOST_TEST((time.elapsed() == 70ms));
}

WEIR_COROUTINE_TEST_CASE(error_that_is_not_worth_it_passes_through_untouched) {
  flaky work{1, errc::invalid_argument};
  answer a;
  co_await record(retry([&] { return work(); }), a);
  BOOST_TEST((a.code == errc::invalid_argument));
  BOOST_TEST(!a.reason);
  BOOST_TEST(work.calls == 1);
  const auto other = []() -> asio::awaitable<int> {
    throw std::logic_error("of the program");
    co_return 0;
  };
  answer b;
  co_await record(retry(other), b);
  BOOST_TEST(b.text == "of the program");
}

BOOST_AUTO_TEST_CASE(default_advice_is_as_documented) {
  const auto advice = [](const auto& e) {
    return weir::default_retry_advice(std::make_exception_ptr(e));
  };
  using weir::make_error_code;
  for (const errc e : {errc::queue_full, errc::user_limit_reached, errc::queue_wait_expired,
                       errc::group_limit, errc::rate_limited, errc::lane_limit_reached,
                       errc::user_queue_full, errc::tenant_limit_reached}) {
    BOOST_TEST(advice(system_error(e)).retry);
    BOOST_TEST((advice(system_error(e)).at_least == *weir::retry_after(e)));
  }
  for (const errc e : {errc::deadline_exceeded, errc::task_timed_out}) {
    BOOST_TEST(advice(system_error(e)).retry);
    BOOST_TEST((advice(system_error(e)).at_least == 0s));
  }
  for (const errc e : {errc::pool_closed, errc::shutdown_cancelled, errc::breaker_open,
                       errc::retry_exhausted, errc::lease_lost, errc::invalid_argument,
                       errc::semaphore_closed, errc::queue_closed, errc::group_closed})
    BOOST_TEST(!advice(system_error(e)).retry);
  for (const error_code ec : std::initializer_list<error_code>{
           asio::error::connection_refused, asio::error::connection_reset,
           asio::error::connection_aborted, asio::error::not_connected, asio::error::broken_pipe,
           asio::error::timed_out, asio::error::try_again, asio::error::host_unreachable,
           asio::error::network_unreachable, asio::error::network_down, asio::error::network_reset,
           asio::error::eof, asio::error::host_not_found_try_again})
    BOOST_TEST(advice(system_error(ec)).retry, ec.message());
  for (const error_code ec : std::initializer_list<error_code>{
           asio::error::operation_aborted, asio::error::access_denied, asio::error::host_not_found,
           asio::error::invalid_argument, asio::error::bad_descriptor})
    BOOST_TEST(!advice(system_error(ec)).retry, ec.message());
  BOOST_TEST(!advice(std::runtime_error("unknown")).retry);
  BOOST_TEST(!advice(std::bad_alloc()).retry);
  BOOST_TEST((advice(weir::retry_after_error(errc::breaker_open, 3s)).at_least == 3s));
}

WEIR_COROUTINE_TEST_CASE(advice_of_the_caller_decides_and_may_be_a_predicate) {
  flaky work{2, errc::breaker_open};
  const auto call = [&] { return work(); };
  const retry_options o{.backoff = plain};
  BOOST_TEST(co_await retry(call, o, [](const std::exception_ptr&) { return true; }) == 3);
  BOOST_TEST((time.elapsed() == 30ms));
  work = {1, errc::breaker_open};
  const auto after = [](const std::exception_ptr&) -> weir::retry_advice {
    return {.retry = true, .at_least = 1s};
  };
  BOOST_TEST(co_await retry(call, o, after) == 2);
  BOOST_TEST((time.elapsed() == 1040ms));
}

WEIR_COROUTINE_TEST_CASE(retry_after_is_the_least_wait_and_the_backoff_spreads_it) {
  int calls = 0;
  const auto work = [&]() -> asio::awaitable<int> {
    if (++calls == 1) throw weir::retry_after_error(errc::rate_limited, 5s);
    co_return calls;
  };
  const retry_options o{.backoff = plain};
  BOOST_TEST(co_await retry(work, o) == 2);
  BOOST_TEST((time.elapsed() == 5010ms));
}

WEIR_COROUTINE_TEST_CASE(gives_up_at_once_where_the_next_attempt_would_come_too_late) {
  int calls = 0;
  const auto work = [&]() -> asio::awaitable<int> {
    ++calls;
    throw weir::retry_after_error(reset, 60s);
    co_return 0;
  };
  answer a;
  co_await record(retry(work, {.max_attempts = 9, .total = 10s, .backoff = plain}), a);
  BOOST_TEST((a.code == errc::retry_exhausted));
  BOOST_TEST((a.reason == give_up::time));
  BOOST_TEST(a.attempts == 1);
  BOOST_TEST((time.elapsed() == 0s));
}

WEIR_COROUTINE_TEST_CASE(attempt_that_runs_too_long_is_cancelled_and_tried_again) {
  std::vector<weir::duration> at;
  const auto work = [&](const attempt& a) -> asio::awaitable<int> {
    at.push_back(time.elapsed());
    BOOST_TEST((a.deadline == time.now() + 1s));
    if (at.size() < 3) co_await sleep_for(1h);
    co_return 4;
  };
  BOOST_TEST(co_await retry(work, {.attempt_timeout = 1s, .backoff = plain}) == 4);
  BOOST_TEST((at == std::vector<weir::duration>{0ms, 1010ms, 2030ms}));
}

WEIR_COROUTINE_TEST_CASE(total_cuts_a_running_attempt_short) {
  const auto work = [&](const attempt&) -> asio::awaitable<int> {
    co_await sleep_for(3s);
    throw system_error(reset);
  };
  answer a;
  co_await record(retry(work, {.max_attempts = 9, .total = 5s, .backoff = plain}), a);
  BOOST_TEST((a.code == errc::retry_exhausted));
  BOOST_TEST((a.reason == give_up::time));
  BOOST_TEST(a.attempts == 2);
  BOOST_TEST(a.cause == weir::make_error_code(errc::deadline_exceeded).message());
  BOOST_TEST((time.elapsed() == 5s));
}

WEIR_COROUTINE_TEST_CASE(deadline_that_has_passed_makes_no_attempt) {
  flaky work;
  answer a;
  co_await record(retry([&] { return work(); }, {.deadline = time.now()}), a);
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST(work.calls == 0);
}

WEIR_COROUTINE_TEST_CASE(result_in_spite_of_the_attempt_timeout_is_a_success) {
  const auto deaf = []() -> asio::awaitable<int> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(3s);
    co_return 6;
  };
  BOOST_TEST(co_await retry(deaf, {.attempt_timeout = 1s}) == 6);
  BOOST_TEST((time.elapsed() == 3s));
}

WEIR_COROUTINE_TEST_CASE(options_that_make_no_sense_are_invalid) {
  for (const retry_options& o :
       {retry_options{.max_attempts = 0}, retry_options{.total = -1s},
        retry_options{.attempt_timeout = -1s}, retry_options{.backoff = {.base = 0s}}}) {
    flaky work;
    answer a;
    co_await record(retry([&] { return work(); }, o), a);
    BOOST_TEST((a.code == errc::invalid_argument));
    BOOST_TEST(work.calls == 0);
  }
}

WEIR_COROUTINE_TEST_CASE(budget_that_is_used_up_stops_the_retries_of_all) {
  weir::retry_budget budget({.ratio = 0.5, .min_per_second = 0});
  int calls = 0;
  const auto down = [&]() -> asio::awaitable<int> {
    ++calls;
    throw system_error(reset);
    co_return 0;
  };
  std::vector<give_up> reasons;
  for (int i = 0; i < 10; ++i) {
    answer a;
    co_await record(retry(down, {.max_attempts = 4, .backoff = plain, .budget = &budget}), a);
    BOOST_TEST((a.code == errc::retry_exhausted));
    BOOST_TEST((a.reason == give_up::budget));
  }
  BOOST_TEST(calls == 15);  // ten first attempts, which pay for five more
}

WEIR_COROUTINE_TEST_CASE(observer_hears_of_each_retry_and_of_its_delay) {
  std::vector<std::pair<int, weir::duration>> heard;
  flaky work{2};
  const auto on_retry = [&](const weir::retry_event& e) {
    BOOST_TEST((e.error != nullptr));
    heard.emplace_back(e.attempt, e.delay);
  };
  const retry_options o{.backoff = plain};
  BOOST_TEST(co_await retry([&] { return work(); }, o, weir::default_retry_advice, on_retry) == 3);
  BOOST_TEST((heard == std::vector<std::pair<int, weir::duration>>{{1, 10ms}, {2, 20ms}}));
}

WEIR_COROUTINE_TEST_CASE(same_seed_gives_the_same_delays_and_none_gives_others) {
  const auto delays = [&](std::uint64_t seed) -> asio::awaitable<weir::duration> {
    const auto begin = time.elapsed();
    flaky work{3};
    co_await retry([&] { return work(); }, {.max_attempts = 4, .seed = seed});
    co_return time.elapsed() - begin;
  };
  const auto first = co_await delays(42);
  BOOST_TEST((first == co_await delays(42)));
  BOOST_TEST((co_await delays(0) != co_await delays(0)));
}

WEIR_COROUTINE_TEST_CASE(results_may_be_void_or_move_only_and_not_default_constructible) {
  struct odd {
    explicit odd(int v) : value(std::make_unique<int>(v)) {}
    std::unique_ptr<int> value;
  };
  int calls = 0;
  const auto make = [&]() -> asio::awaitable<odd> {
    if (++calls < 3) throw system_error(reset);
    co_return odd(calls);
  };
  const odd got = co_await retry(make, {.attempt_timeout = 1s});
  BOOST_TEST(*got.value == 3);
  const auto nothing = [&]() -> asio::awaitable<void> {
    if (++calls < 5) throw system_error(reset);
    co_return;
  };
  co_await retry(nothing);
  BOOST_TEST(calls == 5);
}

BOOST_AUTO_TEST_CASE(captures_of_the_callable_live_as_long_as_the_attempts) {
  weir::test::virtual_time time;
  answer a;
  {
    const auto text = std::make_shared<std::string>("alive");
    auto work = [text, calls = 0](const attempt&) mutable -> asio::awaitable<int> {
      co_await sleep_for(1ms);
      if (++calls < 3) throw system_error(reset);
      co_return static_cast<int>(text->size());
    };
    time.spawn(record(retry(std::move(work), {.attempt_timeout = 1s}), a));
  }
  time.run();
  BOOST_TEST((a.value == 5));
}

BOOST_AUTO_TEST_CASE(cancelled_in_an_attempt_or_in_a_wait_it_ends_at_once_and_tries_no_more) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total})
    for (const bool throws : {true, false})
      for (const bool timed : {true, false})
        for (const auto when : {500ms, 1500ms}) {
          weir::test::virtual_time time;
          int calls = 0;
          answer a;
          asio::cancellation_signal signal;
          const auto work = [&]() -> asio::awaitable<int> {
            ++calls;
            co_await sleep_for(1s);
            throw system_error(reset);
          };
          const auto caller = [&]() -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            co_await asio::this_coro::throw_if_cancelled(throws);
            const retry_options o{.max_attempts = 5,
                                  .attempt_timeout = timed ? weir::duration(1min) : 0s,
                                  .backoff = {.base = 1s, .jitter = weir::jitter::none}};
            co_await record(retry(work, o), a);
          };
          asio::co_spawn(time.get_executor(), caller(),
                         asio::bind_cancellation_slot(signal.slot(), [](auto) {}));
          time.run_for(when);
          signal.emit(type);
          time.run();
          BOOST_TEST((a.code == asio::error::operation_aborted));
          BOOST_TEST(calls == 1);
          BOOST_TEST((time.elapsed() == when));
          // Cancelled in the wait, the failure before it is not lost.
          BOOST_TEST(a.cause == (when == 500ms ? std::string() : reset.message()));
        }
}

BOOST_AUTO_TEST_CASE(cancelled_when_the_wait_is_over_but_not_yet_resumed_it_tries_no_more) {
  weir::test::virtual_time time;
  flaky work{100};
  answer a;
  asio::cancellation_signal signal;
  // Due in the same tick as the wait, and handed out before it, so that it can no longer be taken
  // back. In which order timers are handed out is Asio's to decide: the first of these does it.
  std::optional<int> calls_then;
  std::list<weir::steady_timer> same;
  const auto arm = [&] {
    for (int i = 0; i < 4; ++i)
      same.emplace_back(time.get_executor(), 10ms).async_wait([&](const error_code&) {
        if (!calls_then) signal.emit(asio::cancellation_type::terminal);
        if (!calls_then) calls_then = work.calls;
      });
  };
  arm();
  const auto caller = [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    const retry_options o{.max_attempts = 5, .backoff = plain};
    co_await record(retry([&] { return work(); }, o), a);
  };
  asio::co_spawn(time.get_executor(), caller(),
                 asio::bind_cancellation_slot(signal.slot(), [](auto) {}));
  time.settle();
  arm();
  time.run();
  BOOST_TEST_REQUIRE(calls_then.value_or(-1) == 1);
  BOOST_TEST((a.code == asio::error::operation_aborted));
  BOOST_TEST(work.calls == 1);
}

BOOST_AUTO_TEST_CASE(context_destroyed_in_an_attempt_or_in_a_wait) {
  for (const bool timed : {true, false})
    for (const bool waiting : {true, false}) {
      const auto alive = std::make_shared<int>();
      {
        asio::io_context context;
        auto work = [alive, waiting]() -> asio::awaitable<int> {
          if (waiting) throw system_error(reset);
          const struct guard {
            const std::shared_ptr<int>& captured;
            ~guard() { BOOST_TEST(captured.use_count() > 1); }
          } at_end{alive};
          co_await sleep_for(1h);
          co_return 1;
        };
        const retry_options o{.attempt_timeout = timed ? weir::duration(1h) : 0s,
                              .backoff = {.base = 1h, .cap = 1h, .jitter = weir::jitter::none}};
        asio::co_spawn(context, retry(std::move(work), o),
                       [](const std::exception_ptr&, int) { BOOST_ERROR("ran"); });
        context.poll();
      }
      BOOST_TEST(alive.use_count() == 1);
    }
}

BOOST_AUTO_TEST_CASE(works_on_threads_without_a_strand_of_the_caller) {
  asio::thread_pool threads(4);
  std::atomic<int> calls{0};
  std::vector<std::future<int>> ended;
  for (int i = 0; i < 50; ++i) {
    auto work = [&calls, n = 0]() mutable -> asio::awaitable<int> {
      ++calls;
      co_await sleep_for(100us);
      if (++n < 3) throw system_error(reset);
      co_return n;
    };
    ended.push_back(asio::co_spawn(
        threads, retry(std::move(work), {.attempt_timeout = 1min, .backoff = {.base = 100us}}),
        asio::use_future));
  }
  for (auto& e : ended) BOOST_TEST(e.get() == 3);
  BOOST_TEST(calls == 150);
  threads.join();
}

/// Never more attempts than allowed, never one at a time at which none may begin, one outcome.
void crowd(simulation& sim) {
  weir::retry_budget budget({.ratio = 1, .min_per_second = 100, .window = 1s});
  int running = 0;
  for (int i = 0; i < 4; ++i) {
    const retry_options o{.max_attempts = sim.draw().between(1, 4),
                          .total = 1ms * sim.draw().between(0, 6),
                          .attempt_timeout = 1ms * sim.draw().between(0, 2),
                          .backoff = {.base = 1ms, .cap = 2ms, .jitter = weir::jitter::none},
                          .budget = sim.draw().chance(0.5) ? &budget : nullptr};
    const int fails = sim.draw().between(0, 4);
    const auto takes = 1ms * sim.draw().between(0, 3);
    sim.spawn([&, o, fails, takes]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      const auto begin = sim.elapsed();
      int calls = 0;
      const auto work = [&](const attempt& a) -> asio::awaitable<int> {
        ++calls;
        BOOST_TEST_REQUIRE(a.number == calls);
        BOOST_TEST_REQUIRE(calls <= o.max_attempts);
        if (o.total > 0ms) BOOST_TEST_REQUIRE((sim.elapsed() - begin < o.total));
        const struct inside {
          int& count;
          explicit inside(int& n) : count(n) { ++count; }
          ~inside() { --count; }
        } scope(running);
        if (takes > 0ms) co_await sleep_for(takes);
        if (calls <= fails) throw system_error(reset);
        co_return calls;
      };
      try {
        BOOST_TEST_REQUIRE(co_await retry(work, o) == calls);
      } catch (const weir::retry_error& e) {
        BOOST_TEST_REQUIRE(e.attempts() == calls);
        BOOST_TEST_REQUIRE((e.nested_ptr() != nullptr));
        if (e.reason() == give_up::attempts) BOOST_TEST_REQUIRE(calls == o.max_attempts);
      } catch (const system_error& e) {
        BOOST_TEST_REQUIRE((e.code() == asio::error::operation_aborted));
      }
      if (o.total > 0ms) BOOST_TEST_REQUIRE((sim.elapsed() - begin <= o.total));
    });
  }
  sim.run();
  BOOST_TEST_REQUIRE(running == 0);
}

WEIR_SIMULATION_TEST_CASE(bounds_hold_in_any_order, 2000) { crowd(sim); }

BOOST_AUTO_TEST_CASE(bounds_hold_when_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000, crowd, {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
