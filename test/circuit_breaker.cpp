// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sleep_for.hpp"

#include <weir/circuit_breaker.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::breaker_call;
using weir::breaker_change;
using weir::breaker_options;
using weir::circuit;
using weir::circuit_breaker;
using weir::errc;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(circuit_breaker_suite)

namespace {

const breaker_options brittle{
    .window_calls = 4, .minimum_calls = 1, .failure_rate = 1, .open_for = 10ms};

std::string state_of(const circuit_breaker& b) { return to_string(b.state()); }

/// Opens `b`, and waits until it may be probed.
void half_open(weir::test::virtual_time& time, circuit_breaker& b) {
  b.trip();
  time.advance(b.options().open_for);
}

/// What `run` came to, as one word.
asio::awaitable<std::string> outcome(asio::awaitable<int> call) {
  try {
    co_return std::to_string(co_await std::move(call));
  } catch (const boost::system::system_error& e) {
    if (e.code() == errc::breaker_open) co_return "refused";
    if (e.code() == asio::error::operation_aborted) co_return "aborted";
    co_return "error";
  } catch (const std::exception& e) {
    co_return e.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(options_that_are_not_valid_are_refused_at_once) {
  const auto is_invalid = [](const boost::system::system_error& e) {
    return e.code() == errc::invalid_argument;
  };
  BOOST_CHECK_EXCEPTION(circuit_breaker({.window_calls = 0}), boost::system::system_error,
                        is_invalid);
  BOOST_CHECK_EXCEPTION(circuit_breaker({.open_for = -1s}), boost::system::system_error,
                        is_invalid);
  circuit_breaker b(brittle);
  BOOST_CHECK_EXCEPTION(b.trip(0s), boost::system::system_error, is_invalid);
  BOOST_TEST(state_of(b) == "closed");
}

BOOST_AUTO_TEST_CASE(opens_on_failures_refuses_and_closes_after_a_probe) {
  weir::test::virtual_time time;
  circuit_breaker b(brittle);
  breaker_call call = b.try_acquire();
  BOOST_TEST_REQUIRE(static_cast<bool>(call));
  call.failure();
  BOOST_TEST(!call);
  BOOST_TEST(state_of(b) == "open");
  BOOST_TEST((b.retry_at() == time.now() + 10ms));
  time.advance(4ms);
  BOOST_TEST(!b.try_acquire());
  BOOST_TEST((b.retry_at() == time.now() + 6ms));
  time.advance(6ms);
  BOOST_TEST((b.retry_at() == time.now()));
  call = b.try_acquire();
  BOOST_TEST(static_cast<bool>(call));
  BOOST_TEST(!b.try_acquire());
  call.success();
  BOOST_TEST(state_of(b) == "closed");
  const auto m = b.metrics();
  BOOST_TEST(m.failed == 1U);
  BOOST_TEST(m.succeeded == 1U);
  BOOST_TEST(m.refused == 2U);
  BOOST_TEST(m.transitions == 3U);
  BOOST_TEST((m.since == time.now()));
}

// resilience4j#332, PR#264: a success followed by a cancellation released twice, a cancellation
// alone never.
BOOST_AUTO_TEST_CASE(each_pair_of_ends_of_a_call_is_one_end) {
  using end = void (*)(breaker_call&);
  const end ends[] = {
      [](breaker_call& c) { c.success(); },
      [](breaker_call& c) { c.failure(); },
      [](breaker_call& c) { c = {}; },
      [](breaker_call& c) { const breaker_call moved = std::move(c); },
  };
  breaker_options o = brittle;
  o.probes = o.successes = 3;
  for (std::size_t first = 0; first < 4; ++first)
    for (const end second : ends) {
      weir::test::virtual_time time;
      circuit_breaker b(o);
      half_open(time, b);
      breaker_call probe = b.try_acquire();
      breaker_call other = b.try_acquire();
      BOOST_TEST(b.metrics().probing == 2);
      ends[first](probe);
      second(probe);
      const auto m = b.metrics();
      BOOST_TEST(m.succeeded + m.failed + m.dropped == 1U);
      BOOST_TEST(m.succeeded == (first == 0 ? 1U : 0U));
      BOOST_TEST(m.failed == (first == 1 ? 1U : 0U));
      if (m.state != circuit::half_open) continue;  // the failure opened it
      BOOST_TEST(m.probing == 1);
      std::vector<breaker_call> more;
      while (auto call = b.try_acquire()) more.push_back(std::move(call));
      BOOST_TEST(more.size() == (first == 0 ? 1U : 2U));
    }
}

BOOST_AUTO_TEST_CASE(call_that_is_assigned_over_is_dropped) {
  weir::test::virtual_time time;
  circuit_breaker b(brittle);
  half_open(time, b);
  breaker_call call = b.try_acquire();
  call = b.try_acquire();  // refused, and then the place is free
  BOOST_TEST(!call);
  call = b.try_acquire();
  BOOST_TEST(static_cast<bool>(call));
  BOOST_TEST(b.metrics().dropped == 1U);
}

// seastar#1323.
BOOST_AUTO_TEST_CASE(destroyed_while_calls_are_out) {
  weir::test::virtual_time time;
  auto b = std::make_unique<circuit_breaker>(brittle);
  breaker_call failed = b->try_acquire();
  breaker_call dropped = b->try_acquire();
  half_open(time, *b);
  breaker_call probe = b->try_acquire();
  std::string seen;
  time.spawn([&]() -> asio::awaitable<void> {
    b->reset();
    seen = co_await outcome(b->run([&]() -> asio::awaitable<int> {
      b.reset();
      co_await sleep_for(1ms);
      co_return 7;
    }));
  });
  time.run();
  BOOST_TEST(seen == "7");
  failed.failure();
  probe.success();
}

BOOST_AUTO_TEST_CASE(changes_are_told_of_in_order_with_no_lock_held) {
  weir::test::virtual_time time;
  std::vector<std::string> told;
  circuit_breaker* self = nullptr;
  weir::breaker_hooks hooks;
  hooks.on_change = [&](const breaker_change& c) {
    BOOST_TEST(state_of(*self) == to_string(c.to));
    BOOST_TEST((c.at == time.now()));
    BOOST_TEST(c.number == told.size() + 1);
    told.push_back(std::string(to_string(c.from)) + '-' + to_string(c.to));
    if (c.number == 6)
      self->trip();  // used from within; the change is then told of before this one ends
  };
  circuit_breaker b(brittle, hooks);
  self = &b;
  b.reset();  // was closed: no change
  b.try_acquire().failure();
  b.trip(3ms);  // was open: no change
  time.advance(3ms);
  b.try_acquire().failure();
  time.advance(10ms);
  b.try_acquire().success();
  b.disable();
  const std::vector<std::string> expected = {
      "closed-open",      "open-half_open",  "half_open-open", "open-half_open",
      "half_open-closed", "closed-disabled", "disabled-open"};
  BOOST_TEST(told == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(hook_that_throws_is_heard_by_the_call_that_made_the_change) {
  weir::breaker_hooks hooks;
  hooks.on_change = [](const breaker_change&) { throw std::runtime_error("told"); };
  circuit_breaker b(brittle, hooks);
  breaker_call call = b.try_acquire();
  BOOST_CHECK_THROW(call.failure(), std::runtime_error);
  BOOST_TEST(state_of(b) == "open");
  BOOST_TEST(!call);
}

BOOST_AUTO_TEST_CASE(disabled_lets_all_through_until_it_is_reset) {
  circuit_breaker b(brittle);
  breaker_call before = b.try_acquire();
  b.disable();
  before.failure();
  for (int i = 0; i < 100; ++i) b.try_acquire().failure();
  BOOST_TEST(state_of(b) == "disabled");
  BOOST_TEST(b.metrics().failed == 0U);
  BOOST_TEST(b.metrics().late == 101U);
  b.reset();
  b.try_acquire().failure();
  BOOST_TEST(state_of(b) == "open");
}

WEIR_COROUTINE_TEST_CASE(run_yields_what_the_callable_yields) {
  circuit_breaker b(brittle);
  const auto number = []() -> asio::awaitable<int> { co_return 7; };
  const auto nothing = []() -> asio::awaitable<void> { co_await sleep_for(1ms); };
  // Neither copied nor default-constructed.
  struct result {
    explicit result(int n) : value(std::make_unique<int>(n)) {}
    std::unique_ptr<int> value;
  };
  const auto only_moved = []() -> asio::awaitable<result> { co_return result(8); };
  BOOST_TEST(co_await b.run(number) == 7);
  co_await b.run(nothing);
  const result r = co_await b.run(only_moved);
  BOOST_TEST(*r.value == 8);
  BOOST_TEST(b.metrics().succeeded == 3U);
}

WEIR_COROUTINE_TEST_CASE(run_that_is_refused_throws_and_does_not_call) {
  circuit_breaker b(brittle);
  b.trip();
  bool called = false;
  const auto f = [&]() -> asio::awaitable<int> {
    called = true;
    co_return 1;
  };
  // Refused when it is awaited, not when it is made.
  b.reset();
  auto call = b.run(f);
  b.trip();
  BOOST_TEST(co_await outcome(std::move(call)) == "refused");
  BOOST_TEST(!called);
  BOOST_TEST(b.metrics().refused == 1U);
}

WEIR_COROUTINE_TEST_CASE(exceptions_are_failures_unless_the_predicate_says_otherwise) {
  struct not_found : std::runtime_error {
    not_found() : std::runtime_error("not found") {}
  };
  weir::breaker_hooks hooks;
  int asked = 0;
  hooks.is_failure = [&](const std::exception_ptr& e) {
    ++asked;
    try {
      std::rethrow_exception(e);
    } catch (const not_found&) {
      return false;
    } catch (...) {
      return true;
    }
  };
  const auto missing = []() -> asio::awaitable<int> {
    co_await sleep_for(1ms);
    throw not_found();
  };
  const auto broken = []() -> asio::awaitable<int> {
    throw boost::system::system_error(errc::deadline_exceeded);
    co_return 0;
  };
  const auto odd = []() -> asio::awaitable<int> {
    throw 7;  // NOLINT: not even a std::exception
    co_return 0;
  };
  const auto aborted = []() -> asio::awaitable<int> {
    throw boost::system::system_error(asio::error::operation_aborted);
    co_return 0;
  };
  breaker_options o = brittle;
  o.minimum_calls = 4;
  circuit_breaker b(o, hooks);
  BOOST_TEST(co_await outcome(b.run(missing)) == "not found");
  BOOST_TEST(b.metrics().succeeded == 1U);
  BOOST_TEST(co_await outcome(b.run(broken)) == "error");
  BOOST_CHECK_THROW(co_await b.run(odd), int);
  BOOST_TEST(b.metrics().failed == 2U);
  BOOST_TEST(co_await outcome(b.run(aborted)) == "aborted");
  BOOST_TEST(b.metrics().dropped == 1U);
  BOOST_TEST(asked == 3);
  circuit_breaker plain(o);
  BOOST_TEST(co_await outcome(plain.run(missing)) == "not found");
  BOOST_TEST(plain.metrics().failed == 1U);
}

// resilience4j#935, #903.
BOOST_AUTO_TEST_CASE(probe_that_is_cancelled_gives_its_place_back) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    weir::test::virtual_time time;
    circuit_breaker b(brittle);
    half_open(time, b);
    asio::cancellation_signal signal;
    std::string first;
    const auto probe = [&]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      first = co_await outcome(b.run([]() -> asio::awaitable<int> {
        co_await sleep_for(1h);
        co_return 1;
      }));
    };
    asio::co_spawn(time.get_executor(), probe,
                   asio::bind_cancellation_slot(signal.slot(), asio::detached));
    time.run_for(1ms);
    BOOST_TEST(!b.try_acquire());
    signal.emit(type);
    time.settle();
    BOOST_TEST(first == "aborted");
    BOOST_TEST(b.metrics().probing == 0);
    b.try_acquire().success();
    BOOST_TEST(state_of(b) == "closed");
    time.run();
  }
}

BOOST_AUTO_TEST_CASE(probe_whose_context_is_destroyed_gives_its_place_back) {
  circuit_breaker b(brittle);
  b.disable();
  {
    asio::io_context context;
    const auto hangs = [&]() -> asio::awaitable<void> {
      co_await b.run([]() -> asio::awaitable<void> { co_await sleep_for(1h); });
    };
    b.reset();
    asio::co_spawn(context, hangs, asio::detached);
    context.poll();
  }
  BOOST_TEST(b.metrics().dropped == 1U);
}

// golang/go#63615.
BOOST_AUTO_TEST_CASE(coroutine_that_is_cancelled_already_begins_no_call) {
  weir::test::virtual_time time;
  circuit_breaker b(brittle);
  asio::cancellation_signal signal;
  std::string seen;
  const auto body = [&]() -> asio::awaitable<void> {
    co_await sleep_for(1ms);
    signal.emit(asio::cancellation_type::terminal);
    try {
      co_await b.run([]() -> asio::awaitable<void> { co_return; });
    } catch (const boost::system::system_error& e) {
      seen = e.code() == asio::error::operation_aborted ? "aborted" : "else";
    }
  };
  asio::co_spawn(time.get_executor(), body,
                 asio::bind_cancellation_slot(signal.slot(), asio::detached));
  time.run();
  BOOST_TEST(seen == "aborted");
  const auto m = b.metrics();
  BOOST_TEST(m.succeeded + m.failed + m.dropped == 0U);
}

BOOST_AUTO_TEST_CASE(probe_that_is_forgotten_is_named_as_a_leak) {
  weir::test::virtual_time time;
  circuit_breaker b(brittle, {}, "accounts");
  half_open(time, b);
  breaker_call probe;
  std::string report;
  try {
    weir::test::leak_check leaks(time);
    probe = b.try_acquire();
    leaks.verify();
  } catch (const weir::test::leak_error& e) {
    report = e.what();
  }
  BOOST_TEST(report.find("1 probe of 'accounts'") != std::string::npos, report);
}

BOOST_AUTO_TEST_CASE(works_on_threads_with_futures) {
  asio::thread_pool threads(2);
  circuit_breaker b(brittle);
  const auto call = [&]() -> asio::awaitable<int> {
    const auto f = []() -> asio::awaitable<int> { co_return 1; };
    co_return co_await b.run(f);
  };
  std::vector<std::future<int>> ended;
  for (int i = 0; i < 20; ++i) ended.push_back(asio::co_spawn(threads, call, asio::use_future));
  for (auto& e : ended) BOOST_TEST(e.get() == 1);
  threads.join();
  BOOST_TEST(b.metrics().succeeded == 20U);
}

/// Calls that fail, hang, are slow and are cancelled: no more probes than there are places,
/// nothing runs while it is open, each call ends once, and it can always be closed again.
void crowd(simulation& sim) {
  breaker_options o{.window_calls = 4,
                    .minimum_calls = sim.draw().between(1, 3),
                    .slow_call = 1ms * sim.draw().between(0, 3),
                    .open_for = 1ms * sim.draw().between(1, 3),
                    .probes = sim.draw().between(1, 3),
                    .probe_timeout = 1ms * sim.draw().between(0, 2)};
  o.successes = sim.draw().between(1, o.probes);
  if (sim.draw().chance(0.5)) o.window_time = 5ms;
  weir::breaker_hooks hooks;
  std::uint64_t changes = 0;
  // Of the round of probes that is on.
  std::uint64_t round = 0;
  int running = 0;
  int ended = 0;
  hooks.on_change = [&](const breaker_change& c) {
    BOOST_TEST_REQUIRE(c.number == ++changes);
    round = c.number;
    running = ended = 0;
  };
  circuit_breaker b(o, hooks);
  std::uint64_t calls = 0;
  std::uint64_t refused = 0;

  for (int i = 0; i < 6; ++i)
    sim.spawn([&]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      for (int n = 0; n < 8; ++n) {
        const auto takes = 1ms * sim.draw().between(0, 3);
        const bool fails = sim.draw().chance(0.5);
        try {
          co_await b.run([&]() -> asio::awaitable<void> {
            ++calls;
            BOOST_TEST_REQUIRE(state_of(b) != "open");
            struct probe {
              std::uint64_t of;
              std::uint64_t& round;
              int& running;
              ~probe() { running -= of == round; }
            } const scope{round, round, ++running};
            if (b.state() == circuit::half_open) {
              BOOST_TEST_REQUIRE(running + ended <= o.probes);
              BOOST_TEST_REQUIRE(b.metrics().probing == running);
            }
            if (takes > 0ms) co_await sleep_for(takes);
            if (scope.of == round) ++ended;
            if (fails) throw std::runtime_error("broken");
          });
        } catch (const std::runtime_error& e) {
          const auto* error = dynamic_cast<const boost::system::system_error*>(&e);
          if (error && error->code() == asio::error::operation_aborted) throw;
          if (error) {
            BOOST_TEST_REQUIRE((error->code() == errc::breaker_open));
            ++refused;
          }
        }
        if (takes > 1ms) co_await sleep_for(1ms);
      }
    });
  sim.run();
  const auto m = b.metrics();
  BOOST_TEST_REQUIRE(m.succeeded + m.failed + m.dropped + m.late == calls);
  BOOST_TEST_REQUIRE(m.refused == refused);
  BOOST_TEST_REQUIRE(m.probing == 0);
  BOOST_TEST_REQUIRE(m.transitions == changes);
  sim.advance(o.open_for);
  for (int i = 0; i < o.probes && b.state() != circuit::closed; ++i) b.try_acquire().success();
  BOOST_TEST_REQUIRE(state_of(b) == "closed");
}

WEIR_SIMULATION_TEST_CASE(probes_are_bounded_and_none_is_lost_in_any_order, 2000) { crowd(sim); }

BOOST_AUTO_TEST_CASE(probes_are_bounded_and_none_is_lost_when_anybody_is_cancelled) {
  weir::test::for_each_seed(2000, crowd, {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
