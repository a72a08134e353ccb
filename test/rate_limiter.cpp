// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/rate_limiter.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::errc;
using weir::error_code;
using weir::rate_limiter;
using weir::test::simulation;

BOOST_AUTO_TEST_SUITE(rate_limiter_suite)

namespace {

bool is_invalid(const boost::system::system_error& e) { return e.code() == errc::invalid_argument; }

struct answer {
  std::optional<error_code> code;
  weir::duration after{};

  auto handler(const weir::test::driver& d) {
    return [this, &d](error_code ec) {
      code = ec;
      after = d.elapsed();
    };
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(burst_goes_at_once_and_the_rest_at_the_rate_in_order) {
  weir::test::virtual_time time;
  rate_limiter limiter({.rate = 50, .per = 1s, .burst = 10});
  std::vector<int> order;
  std::vector<weir::duration> at;
  for (int i = 0; i < 20; ++i)
    time.spawn([&, i]() -> asio::awaitable<void> {
      co_await limiter.async_acquire(asio::use_awaitable);
      order.push_back(i);
      at.push_back(time.elapsed());
    });
  time.run();
  BOOST_TEST_REQUIRE(order.size() == 20U);
  for (int i = 0; i < 20; ++i) {
    BOOST_TEST(order[static_cast<std::size_t>(i)] == i);
    BOOST_TEST((at[static_cast<std::size_t>(i)] == (i < 10 ? 0ms : (i - 9) * 20ms)));
  }
}

BOOST_AUTO_TEST_CASE(try_acquire_never_waits_and_never_overtakes) {
  weir::test::virtual_time time;
  rate_limiter limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 2});
  BOOST_TEST(limiter.try_acquire(2));
  BOOST_TEST(!limiter.try_acquire());
  answer waiting;
  limiter.async_acquire(2, waiting.handler(time));
  time.run_for(150ms);
  BOOST_TEST(!limiter.try_acquire());
  time.run();
  BOOST_TEST((waiting.after == 200ms));
}

BOOST_AUTO_TEST_CASE(requests_and_options_that_cannot_be_met_are_invalid_at_once) {
  weir::test::virtual_time time;
  BOOST_CHECK_EXCEPTION(rate_limiter({.rate = 0}), boost::system::system_error, is_invalid);
  BOOST_CHECK_EXCEPTION(rate_limiter({.per = 0s}), boost::system::system_error, is_invalid);
  BOOST_CHECK_EXCEPTION(rate_limiter({.burst = 0}), boost::system::system_error, is_invalid);
  rate_limiter limiter(time.get_executor(), {.rate = 1, .per = 1s, .burst = 2});
  BOOST_CHECK_EXCEPTION(limiter.reconfigure({.rate = -1}), boost::system::system_error, is_invalid);
  for (const int n : {0, -1, 3}) {
    BOOST_CHECK_EXCEPTION(limiter.try_acquire(n), boost::system::system_error, is_invalid);
    BOOST_CHECK_EXCEPTION(limiter.reserve(n), boost::system::system_error, is_invalid);
    answer a;
    limiter.async_acquire(n, a.handler(time));
    time.run();
    BOOST_TEST((a.code == errc::invalid_argument));
    BOOST_TEST((a.after == 0s));
  }
}

BOOST_AUTO_TEST_CASE(debt_that_cannot_be_counted_is_refused_at_once) {
  weir::test::virtual_time time;
  rate_limiter limiter(time.get_executor(), {.rate = 1, .per = 1h, .burst = 600'000});
  int refused = 0;
  for (int i = 0; i < 10; ++i) {
    if (!limiter.reserve(600'000)) ++refused;
  }
  BOOST_TEST(refused > 0);
  BOOST_TEST(refused < 10);
  answer a;
  limiter.async_acquire(600'000, a.handler(time));
  time.run();
  BOOST_TEST((a.code == errc::rate_limited));
}

BOOST_AUTO_TEST_CASE(cancelled_waiter_pays_back_exactly_and_those_behind_move_up) {
  weir::test::virtual_time time;
  rate_limiter limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 5});
  BOOST_TEST(limiter.try_acquire(5));
  asio::cancellation_signal signal;
  answer first;
  answer second;
  answer third;
  limiter.async_acquire(1, first.handler(time));
  limiter.async_acquire(5, asio::bind_cancellation_slot(signal.slot(), second.handler(time)));
  limiter.async_acquire(2, third.handler(time));
  time.run_for(50ms);
  signal.emit(asio::cancellation_type::partial);
  time.run();
  BOOST_TEST((second.code == asio::error::operation_aborted));
  BOOST_TEST((first.after == 100ms));
  BOOST_TEST((third.after == 300ms));
  BOOST_TEST(limiter.available() == 0);
}

BOOST_AUTO_TEST_CASE(first_in_line_that_gives_up_lets_a_small_one_behind_it_go_at_once) {
  weir::test::virtual_time time;
  rate_limiter limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 5});
  BOOST_TEST(limiter.try_acquire(5));
  asio::cancellation_signal signal;
  answer large;
  answer small;
  limiter.async_acquire(5, asio::bind_cancellation_slot(signal.slot(), large.handler(time)));
  limiter.async_acquire(1, small.handler(time));
  time.run_for(150ms);
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST((small.after == 150ms));
}

BOOST_AUTO_TEST_CASE(one_that_is_served_and_cancelled_in_the_same_tick_pays_back) {
  weir::test::virtual_time time;
  rate_limiter limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 1});
  asio::cancellation_signal signal;
  answer a;
  limiter.async_acquire(asio::bind_cancellation_slot(signal.slot(), a.handler(time)));
  signal.emit(asio::cancellation_type::total);
  time.run();
  BOOST_TEST((a.code == asio::error::operation_aborted));
  BOOST_TEST(limiter.available() == 1);
}

BOOST_AUTO_TEST_CASE(reservation_says_when_and_its_cancel_is_exact) {
  weir::test::virtual_time time;
  rate_limiter limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 2});
  weir::reservation now = limiter.reserve(2);
  weir::reservation later = limiter.reserve(2);
  BOOST_TEST((now.ready() == time.now()));
  BOOST_TEST((later.ready() == time.now() + 200ms));
  answer behind;
  limiter.async_acquire(1, behind.handler(time));
  BOOST_TEST((limiter.when() == time.now() + 400ms));
  later.cancel();
  later.cancel();
  BOOST_TEST(!later);
  time.run();
  BOOST_TEST((behind.after == 100ms));
  BOOST_TEST(limiter.available() == 0);
}

BOOST_AUTO_TEST_CASE(reservation_after_a_waiter_does_not_delay_it) {
  weir::test::virtual_time time;
  rate_limiter limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 3});
  BOOST_TEST(limiter.try_acquire(3));
  answer waiting;
  limiter.async_acquire(1, waiting.handler(time));
  const weir::reservation after = limiter.reserve(3);
  BOOST_TEST((after.ready() == time.now() + 400ms));
  time.run();
  BOOST_TEST((waiting.after == 100ms));
}

BOOST_AUTO_TEST_CASE(reconfiguration_takes_effect_on_waiters) {
  weir::test::virtual_time time;
  rate_limiter limiter(time.get_executor(), {.rate = 1, .per = 1h, .burst = 4});
  BOOST_TEST(limiter.try_acquire(4));
  answer large;
  answer small;
  limiter.async_acquire(4, large.handler(time));
  limiter.async_acquire(1, small.handler(time));
  time.run_for(1s);
  limiter.reconfigure({.rate = 1, .per = 1s, .burst = 2});
  time.run();
  BOOST_TEST((large.code == errc::invalid_argument));
  BOOST_TEST((!*small.code));
  BOOST_TEST((small.after <= 2s));
}

BOOST_AUTO_TEST_CASE(reconfiguration_that_turns_several_away_serves_those_behind_them) {
  weir::test::virtual_time time;
  rate_limiter limiter(time.get_executor(), {.rate = 1, .per = 1s, .burst = 4});
  BOOST_TEST(limiter.try_acquire(4));
  std::array<answer, 2> large;
  answer small;
  for (answer& a : large) limiter.async_acquire(4, a.handler(time));
  limiter.async_acquire(1, small.handler(time));
  limiter.reconfigure({.rate = 1, .per = 1s, .burst = 2});
  time.run();
  for (const answer& a : large) BOOST_TEST((a.code == errc::invalid_argument));
  BOOST_TEST((!*small.code));
  BOOST_TEST((small.after == 1s));
}

BOOST_AUTO_TEST_CASE(close_and_destruction_turn_waiters_away) {
  weir::test::virtual_time time;
  auto limiter = std::make_unique<rate_limiter>(time.get_executor(), weir::rate_options{});
  BOOST_TEST(limiter->try_acquire());
  answer waiting;
  limiter->async_acquire(waiting.handler(time));
  time.settle();
  limiter->close();
  answer late;
  limiter->async_acquire(late.handler(time));
  BOOST_TEST(!limiter->try_acquire());
  BOOST_TEST(!limiter->reserve());
  limiter.reset();
  time.run();
  BOOST_TEST((waiting.code == errc::rate_limiter_closed));
  BOOST_TEST((late.code == errc::rate_limiter_closed));
  BOOST_TEST((time.elapsed() == 0s));
}

BOOST_AUTO_TEST_CASE(works_on_threads_with_futures) {
  asio::thread_pool threads(2);
  rate_limiter limiter(threads.get_executor(), {.rate = 1000, .per = 1s, .burst = 1});
  std::vector<std::future<void>> waits;
  for (int i = 0; i < 20; ++i) waits.push_back(limiter.async_acquire(asio::use_future));
  for (auto& w : waits) w.get();
  BOOST_TEST(limiter.waiters() == 0U);
  threads.join();
}

WEIR_SIMULATION_TEST_CASE(arrival_in_the_tick_in_which_another_is_due_loses_nobody, 50) {
  rate_limiter limiter({.rate = 10, .per = 1s, .burst = 1});
  BOOST_TEST_REQUIRE(limiter.try_acquire());
  int served = 0;
  sim.spawn("due", [&]() -> asio::awaitable<void> {
    co_await limiter.async_acquire(asio::use_awaitable);
    ++served;
  });
  sim.spawn("arrives", [&]() -> asio::awaitable<void> {
    weir::steady_timer timer(co_await asio::this_coro::executor, 100ms);
    co_await timer.async_wait(asio::deferred);
    co_await limiter.async_acquire(asio::use_awaitable);
    ++served;
  });
  sim.run();
  BOOST_TEST_REQUIRE(served == 2);
  BOOST_TEST_REQUIRE((sim.elapsed() == 200ms));
}

/// Nobody is served before the rate allows it, whoever gives up; and in the end all is paid back.
void crowd(simulation& sim) {
  const weir::rate_options o{
      .rate = sim.draw().between(1, 20), .per = 100ms, .burst = sim.draw().between(1, 5)};
  rate_limiter limiter(o);
  std::int64_t used = 0;
  for (int i = 0; i < 6; ++i) {
    const int wants = sim.draw().between(1, static_cast<int>(o.burst));
    sim.spawn([&, wants]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      for (int round = 0; round < 3; ++round) {
        co_await limiter.async_acquire(wants, asio::use_awaitable);
        used += wants;
        const double most = static_cast<double>(o.burst) +
                            static_cast<double>(o.rate) *
                                std::chrono::duration<double>(sim.elapsed()).count() / 0.1;
        BOOST_TEST_REQUIRE(static_cast<double>(used) <= most + 1e-6);
      }
    });
  }
  sim.run();
  BOOST_TEST_REQUIRE(limiter.waiters() == 0U);
  sim.advance(std::chrono::hours(1));
  BOOST_TEST_REQUIRE(limiter.available() == o.burst);
}

WEIR_SIMULATION_TEST_CASE(rate_holds_in_any_order, 2000) { crowd(sim); }

BOOST_AUTO_TEST_CASE(rate_holds_when_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000, crowd, {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
