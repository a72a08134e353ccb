// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "pool_fixture.hpp"

#include <weir/pool_room.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using weir::errc;
using weir::error_code;
using weir_test::noted;
using weir_test::nothing;
using weir_test::sleep_for;
using weir_test::sleeper;
using weir_test::task_of;
using weir_test::virtual_pool;

BOOST_AUTO_TEST_SUITE(pool_room)

namespace {

constexpr std::array cancellation_types{asio::cancellation_type::terminal,
                                        asio::cancellation_type::partial,
                                        asio::cancellation_type::total};

/// A reservation under way, and what it came to.
struct reservation {
  std::optional<error_code> code;
  weir::pool_room room;

  auto handler() {
    return [this](error_code ec, weir::pool_room r) {
      BOOST_TEST(!code);
      code = ec;
      room = std::move(r);
    };
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(reserved_room_counts_as_taken_until_it_is_given_back, virtual_pool) {
  auto& p = make({.workers = 1, .queue_size = 2});
  reservation a;
  reservation b;
  p.async_reserve(a.handler());
  p.async_reserve(b.handler());
  BOOST_TEST(!a.code);
  time.settle();
  BOOST_TEST((a.room && b.room));
  BOOST_TEST(p.metrics().reserved == 2U);
  // Nothing runs and nothing is queued, but there is no room.
  BOOST_TEST(p.submit(task_of("u", nothing())) == errc::queue_full);
  b.room.release();
  BOOST_TEST(!b.room);
  BOOST_TEST(p.metrics().reserved == 1U);
  BOOST_TEST(!p.submit(task_of("u", nothing())));
  BOOST_TEST(p.submit(task_of("v", nothing())) == errc::queue_full);
  a.room = {};
  BOOST_TEST(p.metrics().reserved == 0U);
  BOOST_TEST(!p.submit(task_of("v", nothing())));
}

BOOST_FIXTURE_TEST_CASE(room_is_used_up_by_the_task_that_is_accepted_and_by_no_other,
                        virtual_pool) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 1});
  weir::worker_pool other(time.get_executor(), {.workers = 1});
  reservation r;
  p.async_reserve(r.handler());
  time.settle();
  weir::pool_room none;
  BOOST_TEST(p.submit(none, task_of("u", nothing())) == errc::invalid_argument);
  BOOST_TEST(other.submit(r.room, task_of("u", nothing())) == errc::invalid_argument);
  BOOST_TEST(p.submit(r.room, task_of("", nothing())) == errc::invalid_argument);
  BOOST_TEST(!p.submit(r.room, task_of("u", sleeper(1s))));
  BOOST_TEST(!r.room);
  time.settle();
  reservation again;
  p.async_reserve(again.handler());
  time.settle();
  BOOST_TEST(p.submit(again.room, task_of("u", nothing())) == errc::user_limit_reached);
  BOOST_TEST(static_cast<bool>(again.room));
  BOOST_TEST(p.metrics().reserved == 1U);
  BOOST_TEST(!p.submit(again.room, task_of("v", nothing())));
  BOOST_TEST(p.metrics().reserved == 0U);
  BOOST_TEST(p.metrics().queued == 1U);
  BOOST_TEST(p.metrics().rejected.queue_full == 0U);
}

BOOST_FIXTURE_TEST_CASE(those_who_reserve_and_those_who_submit_stand_in_one_line, virtual_pool) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 0});
  reservation first;
  p.async_reserve(first.handler());
  std::vector<int> order;
  reservation third;
  noted fifth;
  p.async_submit(task_of("u", nothing()), [&](error_code) { order.push_back(2); });
  p.async_reserve([&, h = third.handler()](error_code ec, weir::pool_room r) {
    order.push_back(3);
    h(ec, std::move(r));
  });
  p.async_submit(task_of("u", nothing()), [&](error_code) { order.push_back(4); });
  time.settle();
  BOOST_TEST(p.metrics().waiting == 3U);
  // The workers are at rest and the queue is empty: whoever gives room back wakes one.
  first.room.release();
  time.settle();
  BOOST_TEST(order == (std::vector{2, 3}), boost::test_tools::per_element());
  third.room.release();
  time.settle();
  BOOST_TEST(order == (std::vector{2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(p.metrics().completed == 2U);
}

BOOST_AUTO_TEST_CASE(room_granted_to_one_who_is_cancelled_in_the_same_tick_goes_to_the_next) {
  for (const auto type : cancellation_types) {
    virtual_pool pool;
    auto& p = pool.make({.workers = 1, .queue_size = 1});
    reservation held;
    p.async_reserve(held.handler());
    pool.time.settle();
    asio::cancellation_signal signal;
    reservation given_up;
    p.async_reserve(asio::bind_cancellation_slot(signal.slot(), given_up.handler()));
    reservation next;
    p.async_reserve(next.handler());
    held.room.release();
    signal.emit(type);
    pool.time.settle();
    BOOST_TEST((given_up.code == asio::error::operation_aborted));
    BOOST_TEST(!given_up.room);
    BOOST_TEST(static_cast<bool>(next.room));
    BOOST_TEST(p.metrics().reserved == 1U);
  }
}

BOOST_AUTO_TEST_CASE(one_who_is_cancelled_while_waiting_leaves_the_line) {
  for (const auto type : cancellation_types) {
    virtual_pool pool;
    auto& p = pool.make({.workers = 1, .queue_size = 1});
    reservation held;
    p.async_reserve(held.handler());
    asio::cancellation_signal signal;
    reservation given_up;
    p.async_reserve(asio::bind_cancellation_slot(signal.slot(), given_up.handler()));
    pool.time.settle();
    signal.emit(type);
    BOOST_TEST(!given_up.code);
    pool.time.settle();
    BOOST_TEST((given_up.code == asio::error::operation_aborted));
    BOOST_TEST(p.metrics().waiting == 0U);
    BOOST_TEST(p.metrics().rejected.total() == 0U);  // nothing was offered
  }
}

BOOST_FIXTURE_TEST_CASE(shutdown_turns_waiters_away_and_does_not_wait_for_room, virtual_pool) {
  auto& p = make({.workers = 1, .queue_size = 1});
  reservation held;
  reservation waiting;
  p.async_reserve(held.handler());
  p.async_reserve(waiting.handler());
  time.settle();
  std::optional<weir::shutdown_report> report;
  p.async_shutdown({}, [&](error_code, const weir::shutdown_report& r) { report = r; });
  time.settle();
  BOOST_TEST((waiting.code == errc::pool_closed));
  BOOST_TEST_REQUIRE(report.has_value());
  BOOST_TEST(report->drained);
  BOOST_TEST(p.submit(held.room, task_of("u", nothing())) == errc::pool_closed);
  BOOST_TEST(static_cast<bool>(held.room));
  reservation late;
  p.async_reserve(late.handler());
  time.settle();
  BOOST_TEST((late.code == errc::pool_closed));
  held.room.release();
  BOOST_TEST(p.metrics().reserved == 0U);
}

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  weir::worker_pool p({.workers = 2, .queue_size = 1});
  weir::pool_room room = p.async_reserve(asio::use_future).get();
  BOOST_TEST(static_cast<bool>(room));
  room.release();
  auto deferred = p.async_reserve(asio::deferred);
  room = std::move(deferred)(asio::use_future).get();
  BOOST_TEST(static_cast<bool>(room));
  room.release();
  const auto body = [&]() -> asio::awaitable<bool> {
    auto [ec, r] = co_await p.async_reserve(asio::as_tuple(use_awaitable));
    co_return !ec && r && !p.submit(r, task_of("u", nothing()));
  };
  BOOST_TEST(asio::co_spawn(p.get_executor(), body, asio::use_future).get());
  p.async_shutdown({}, asio::use_future).get();
}

BOOST_AUTO_TEST_CASE(room_may_outlive_the_pool_and_the_context) {
  reservation borrowed;
  reservation owned;
  reservation unheard;
  {
    asio::io_context context;
    {
      weir::worker_pool p(context.get_executor(), {.workers = 1});
      p.async_reserve(borrowed.handler());
      context.run();
      p.async_reserve(unheard.handler());  // granted; dies with the context
    }
    weir::worker_pool own({.workers = 1});
    owned.room = own.async_reserve(asio::use_future).get();
  }
  BOOST_TEST(static_cast<bool>(borrowed.room));
  BOOST_TEST(!unheard.code);
}

BOOST_FIXTURE_TEST_CASE(task_that_cannot_be_stored_leaves_the_room_as_it_was, virtual_pool) {
  struct always final : weir::detail::fault_source {
    void before_allocation() override { throw std::bad_alloc(); }
  };
  auto& p = make({.workers = 1, .queue_size = 1});
  reservation r;
  p.async_reserve(r.handler());
  time.settle();
  weir::task t = task_of("u", nothing());
  {
    always faults;
    weir::detail::installed_faults = &faults;
    BOOST_CHECK_THROW(p.submit(r.room, std::move(t)), std::bad_alloc);
    weir::detail::installed_faults = nullptr;
  }
  BOOST_TEST(static_cast<bool>(r.room));
  BOOST_TEST(p.metrics().reserved == 1U);
  BOOST_TEST(p.metrics().users == 0U);
  BOOST_TEST(!p.submit(r.room, task_of("u", nothing())));
}

namespace {

/// Some reserve, keep the room for a while, then submit or think better of it; others submit. They
/// are more than there is room for.
void run_room_program(weir::test::simulation& sim) {
  auto& draw = sim.draw();
  const std::size_t size = 1 + draw.below(3);
  weir::worker_pool pool(sim.get_executor(), {.workers = draw.between(1, 2),
                                              .queue_size = static_cast<int>(size),
                                              .max_per_user = draw.between(0, 2)});
  std::size_t accepted = 0;
  const auto check = [&] {
    const weir::pool_metrics m = pool.metrics();
    BOOST_TEST_REQUIRE(m.queued + m.reserved <= size);
    BOOST_TEST_REQUIRE(m.submitted ==
                       m.queued + m.active + m.completed + m.failed + m.timed_out + m.cancelled);
  };
  const auto work = [&](int n) { return task_of(n % 2 == 0 ? "a" : "b", sleeper(1ms * (n % 3))); };
  for (int n = 0; n < 8; ++n)
    sim.spawn("client " + std::to_string(n), [&, n]() -> asio::awaitable<void> {
      co_await sleep_for(1ms * draw.between(0, 2));
      check();
      switch (draw.below(3)) {
        case 0: {
          accepted += pool.submit(work(n)) ? 0U : 1U;
          break;
        }
        case 1: {
          auto op = pool.async_submit(work(n), asio::as_tuple(use_awaitable));
          const auto [ec] = co_await std::move(op);
          accepted += ec ? 0U : 1U;
          break;
        }
        default: {
          auto [ec, room] = co_await pool.async_reserve(asio::as_tuple(use_awaitable));
          if (ec) break;
          check();
          co_await sleep_for(1ms * draw.between(0, 2));
          if (draw.chance(0.3)) break;
          const error_code said = pool.submit(room, work(n));
          BOOST_TEST_REQUIRE((said != errc::queue_full));
          BOOST_TEST_REQUIRE((!said != static_cast<bool>(room)));
          accepted += said ? 0U : 1U;
        }
      }
      check();
    });
  sim.run();
  const weir::pool_metrics m = pool.metrics();
  BOOST_TEST_REQUIRE(m.reserved == 0U);
  BOOST_TEST_REQUIRE(m.waiting == 0U);
  BOOST_TEST_REQUIRE(m.queued == 0U);
  BOOST_TEST_REQUIRE(m.completed >= accepted);  // one may be accepted and its client cancelled
  BOOST_TEST_REQUIRE(m.submitted == m.completed);
  // Nothing was lost of the queue either: all of it can be had.
  std::vector<reservation> all(size);
  for (reservation& r : all) pool.async_reserve(r.handler());
  sim.run();
  for (const reservation& r : all) BOOST_TEST_REQUIRE(static_cast<bool>(r.room));
}

}  // namespace

WEIR_SIMULATION_TEST_CASE(room_is_neither_lost_nor_given_twice, 2000) { run_room_program(sim); }

BOOST_AUTO_TEST_CASE(nor_where_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(1000, run_room_program, {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
