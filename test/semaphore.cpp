// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sleep_for.hpp"

#include <weir/semaphore.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::errc;
using weir::error_code;
using weir::permit;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(semaphore)

namespace {

bool is_invalid(const boost::system::system_error& e) { return e.code() == errc::invalid_argument; }

/// What a request came to.
struct answer {
  std::optional<error_code> code;
  permit held;

  auto handler() {
    return [this](error_code ec, permit p) {
      code = ec;
      held = std::move(p);
    };
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(permit_comes_back_by_each_way_of_losing_it) {
  asio::io_context context;
  weir::semaphore s(context.get_executor(), 3);
  {
    const permit p = s.try_acquire(2);
    BOOST_TEST(s.in_use() == 2);
  }
  BOOST_TEST(s.in_use() == 0);
  permit a = s.try_acquire();
  permit b = std::move(a);
  BOOST_TEST(!a);  // NOLINT: that it is empty is what is tested
  BOOST_TEST(b.count() == 1);
  b = s.try_acquire();
  BOOST_TEST(s.in_use() == 1);
  b.release();
  b.release();
  BOOST_TEST(s.in_use() == 0);
}

BOOST_AUTO_TEST_CASE(try_acquire_never_exceeds_the_limit_and_never_waits) {
  asio::io_context context;
  weir::semaphore s(context.get_executor(), 2);
  const permit a = s.try_acquire();
  BOOST_TEST(!s.try_acquire(2));
  const permit b = s.try_acquire();
  BOOST_TEST(static_cast<bool>(b));
  BOOST_TEST(!s.try_acquire());
  BOOST_TEST(s.in_use() == 2);
}

BOOST_AUTO_TEST_CASE(permit_splits_and_merges_and_nothing_is_made_of_it) {
  asio::io_context context;
  weir::semaphore s(context.get_executor(), 5);
  permit whole = s.try_acquire(5);
  permit part = whole.split(2);
  BOOST_TEST(whole.count() == 3);
  BOOST_TEST(part.count() == 2);
  part.release();
  BOOST_TEST(s.in_use() == 3);
  permit rest = whole.split(3);
  BOOST_TEST(!whole);
  whole.merge(std::move(rest));
  BOOST_TEST(whole.count() == 3);
  whole.merge(permit());
  BOOST_CHECK_EXCEPTION(whole.split(4), boost::system::system_error, is_invalid);
  BOOST_CHECK_EXCEPTION(whole.split(0), boost::system::system_error, is_invalid);
  weir::semaphore other(context.get_executor(), 1);
  BOOST_CHECK_EXCEPTION(whole.merge(other.try_acquire()), boost::system::system_error, is_invalid);
  BOOST_TEST(whole.count() == 3);
}

BOOST_AUTO_TEST_CASE(limits_and_requests_that_cannot_be_met_are_invalid_at_once) {
  weir::test::virtual_time time;
  for (const int n : {0, -1})
    BOOST_CHECK_EXCEPTION(weir::semaphore(time.get_executor(), n), boost::system::system_error,
                          is_invalid);
  weir::semaphore s(time.get_executor(), 2);
  BOOST_CHECK_EXCEPTION(s.resize(0), boost::system::system_error, is_invalid);
  for (const int n : {0, -1, 3}) {
    BOOST_CHECK_EXCEPTION(s.try_acquire(n), boost::system::system_error, is_invalid);
    answer a;
    s.async_acquire(n, a.handler());
    time.run();
    BOOST_TEST((a.code == errc::invalid_argument));
  }
}

BOOST_AUTO_TEST_CASE(handler_is_never_called_inside_the_request) {
  weir::test::virtual_time time;
  weir::semaphore s(time.get_executor(), 1);
  answer a;
  s.async_acquire(a.handler());
  BOOST_TEST(!a.code);
  time.run();
  BOOST_TEST(!*a.code);
  BOOST_TEST(a.held.count() == 1);
}

BOOST_AUTO_TEST_CASE(waiters_are_served_in_order_and_large_ones_are_not_starved) {
  weir::test::virtual_time time;
  weir::semaphore s(time.get_executor(), 4);
  permit held = s.try_acquire(4);
  std::string order;
  const auto wait = [&](char name, int n) {
    time.spawn([&order, &s, name, n]() -> asio::awaitable<void> {
      const permit p = co_await s.async_acquire(n, asio::use_awaitable);
      order.push_back(name);
      co_await sleep_for(1ms);
    });
  };
  wait('a', 1);
  wait('L', 4);
  for (char c = 'b'; c < 'k'; ++c) wait(c, 1);
  time.settle();
  permit three = held.split(3);
  three.release();
  time.settle();
  // All small ones would fit beside the first, but the large one is before them.
  BOOST_TEST(!s.try_acquire());
  held.release();
  time.run();
  BOOST_TEST(order == "aLbcdefghij");
}

BOOST_AUTO_TEST_CASE(stream_of_small_requests_cannot_starve_a_large_one) {
  weir::test::virtual_time time;
  weir::semaphore s(time.get_executor(), 4);
  bool large_done = false;
  for (int i = 0; i < 8; ++i)
    time.spawn([&]() -> asio::awaitable<void> {
      while (!large_done) {
        const permit p = co_await s.async_acquire(asio::use_awaitable);
        co_await sleep_for(1ms);
      }
    });
  time.spawn([&]() -> asio::awaitable<void> {
    co_await sleep_for(5ms);
    const permit p = co_await s.async_acquire(4, asio::use_awaitable);
    large_done = true;
  });
  time.run_for(20ms);
  BOOST_TEST(large_done);
  time.run();
}

BOOST_AUTO_TEST_CASE(cancelled_head_wakes_those_behind_it) {
  weir::test::virtual_time time;
  weir::semaphore s(time.get_executor(), 2);
  const permit held = s.try_acquire();
  asio::cancellation_signal signal;
  answer large;
  answer small;
  s.async_acquire(2, asio::bind_cancellation_slot(signal.slot(), large.handler()));
  s.async_acquire(1, small.handler());
  time.settle();
  BOOST_TEST(s.waiters() == 2U);
  signal.emit(asio::cancellation_type::total);
  time.settle();
  BOOST_TEST((large.code == asio::error::operation_aborted));
  BOOST_TEST(!*small.code);
  BOOST_TEST(s.in_use() == 2);
}

BOOST_AUTO_TEST_CASE(permit_granted_to_one_who_is_cancelled_in_the_same_tick_goes_to_the_next) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    weir::test::virtual_time time;
    weir::semaphore s(time.get_executor(), 1);
    permit held = s.try_acquire();
    asio::cancellation_signal signal;
    answer first;
    answer second;
    s.async_acquire(asio::bind_cancellation_slot(signal.slot(), first.handler()));
    s.async_acquire(second.handler());
    time.settle();
    held.release();
    signal.emit(type);
    time.run();
    BOOST_TEST((first.code == asio::error::operation_aborted));
    BOOST_TEST(!first.held);
    BOOST_TEST(!*second.code);
    BOOST_TEST(second.held.count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(request_of_a_coroutine_that_is_cancelled_already_consumes_nothing) {
  weir::test::virtual_time time;
  weir::semaphore s(time.get_executor(), 1);
  asio::cancellation_signal signal;
  bool thrown = false;
  const auto body = [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await sleep_for(1ms);
    signal.emit(asio::cancellation_type::terminal);
    co_await sleep_for(1ms);
    co_await asio::this_coro::throw_if_cancelled(true);
    try {
      auto p = co_await s.async_acquire(asio::use_awaitable);
    } catch (const boost::system::system_error& e) {
      thrown = e.code() == asio::error::operation_aborted;
    }
  };
  asio::co_spawn(time.get_executor(), body,
                 asio::bind_cancellation_slot(signal.slot(), [](auto) {}));
  time.run();
  BOOST_TEST(thrown);
  BOOST_TEST(s.in_use() == 0);
}

BOOST_AUTO_TEST_CASE(resize_up_serves_waiters_and_down_takes_effect_as_permits_come_back) {
  weir::test::virtual_time time;
  weir::semaphore s(time.get_executor(), 2);
  permit a = s.try_acquire();
  permit b = s.try_acquire();
  answer waiting;
  s.async_acquire(waiting.handler());
  time.settle();
  s.resize(3);
  time.settle();
  BOOST_TEST(waiting.held.count() == 1);
  s.resize(1);
  BOOST_TEST(s.in_use() == 3);
  a.release();
  b.release();
  BOOST_TEST(!s.try_acquire());
  waiting.held.release();
  BOOST_TEST(static_cast<bool>(s.try_acquire()));
}

BOOST_AUTO_TEST_CASE(resize_below_what_a_waiter_wants_turns_it_away_and_serves_those_behind) {
  weir::test::virtual_time time;
  weir::semaphore s(time.get_executor(), 4);
  permit held = s.try_acquire(2);
  answer large;
  answer small;
  s.async_acquire(4, large.handler());
  s.async_acquire(1, small.handler());
  time.settle();
  s.resize(3);
  time.settle();
  BOOST_TEST((large.code == errc::invalid_argument));
  BOOST_TEST(small.held.count() == 1);
}

BOOST_AUTO_TEST_CASE(close_turns_everybody_away_and_resize_does_not_reopen) {
  weir::test::virtual_time time;
  weir::semaphore s(time.get_executor(), 1);
  permit held = s.try_acquire();
  answer waiting;
  s.async_acquire(waiting.handler());
  time.settle();
  s.close();
  s.close();
  held.release();
  s.resize(10);
  answer late;
  s.async_acquire(late.handler());
  time.run();
  BOOST_TEST((waiting.code == errc::semaphore_closed));
  BOOST_TEST((late.code == errc::semaphore_closed));
  BOOST_TEST(!s.try_acquire());
  BOOST_TEST(s.in_use() == 0);
}

BOOST_AUTO_TEST_CASE(destroyed_while_permits_are_out_and_a_grant_is_in_flight) {
  weir::test::virtual_time time;
  auto s = std::make_unique<weir::semaphore>(time.get_executor(), 2);
  permit held = s->try_acquire();
  permit other = s->try_acquire();
  answer granted;
  answer waiting;
  s->async_acquire(granted.handler());
  s->async_acquire(waiting.handler());
  time.settle();
  other.release();
  s.reset();
  time.run();
  BOOST_TEST(!*granted.code);
  BOOST_TEST((waiting.code == errc::semaphore_closed));
  held.release();
  granted.held.release();
}

BOOST_AUTO_TEST_CASE(destroyed_with_its_context_while_somebody_waits) {
  answer waiting;
  std::optional<weir::semaphore> s;
  permit held;
  {
    asio::io_context context;
    s.emplace(context.get_executor(), 1);
    held = s->try_acquire();
    s->async_acquire([p = std::make_shared<int>()](error_code, permit) { BOOST_ERROR("ran"); });
    s.reset();  // the handler is posted to a context that never runs it
  }
}

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  asio::thread_pool threads(2);
  weir::semaphore s(threads.get_executor(), 1);
  permit p = s.async_acquire(1, asio::use_future).get();
  auto waiting = s.async_acquire(asio::use_future);
  p.release();
  p = waiting.get();
  BOOST_TEST(p.count() == 1);
  auto deferred = s.async_acquire(asio::deferred);
  p.release();
  p = std::move(deferred)(asio::use_future).get();
  auto tuple = asio::co_spawn(
      threads,
      [&]() -> asio::awaitable<bool> {
        auto [ec, q] = co_await s.async_acquire(1, asio::as_tuple(asio::use_awaitable));
        co_return !ec && q.count() == 1;
      },
      asio::use_future);
  p.release();
  BOOST_TEST(tuple.get());
  threads.join();
}

/// Takes and gives back under a limit, with whatever the kit does to it meanwhile.
void crowd(simulation& sim) {
  const int limit = sim.draw().between(1, 4);
  weir::semaphore s(sim.get_executor(), limit);
  int inside = 0;
  int most = 0;
  for (int i = 0; i < 6; ++i) {
    const int wants = sim.draw().between(1, limit);
    sim.spawn([&, wants]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      for (int round = 0; round < 3; ++round) {
        const permit p = co_await s.async_acquire(wants, asio::use_awaitable);
        struct inside_scope {
          int& count;
          int n;
          ~inside_scope() { count -= n; }
        } const scope{inside, wants};
        inside += wants;
        most = std::max(most, inside);
        BOOST_TEST_REQUIRE(inside <= limit);
        BOOST_TEST_REQUIRE(inside <= s.in_use());
        co_await sleep_for(1ms);
      }
    });
  }
  sim.run();
  BOOST_TEST_REQUIRE(s.in_use() == 0);
  BOOST_TEST_REQUIRE(s.waiters() == 0U);
  BOOST_TEST_REQUIRE(most >= 1);
}

WEIR_SIMULATION_TEST_CASE(no_permit_is_lost_or_made_in_any_order, 2000) { crowd(sim); }

BOOST_AUTO_TEST_CASE(no_permit_is_lost_when_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000, crowd, {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
