// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "flaky_queue.hpp"
#include "pool_fixture.hpp"
#include "queue_client.hpp"

#include <weir/consumer.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/memory_queue.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/errc.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::consumer_metrics;
using weir::error_code;
using weir::job_context;
using weir::job_state;
using weir_test::noted;
using weir_test::queue_client;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(consumer_program)

namespace {

error_code io_error() { return make_error_code(boost::system::errc::io_error); }

/// Sleeps whatever is asked of it.
asio::awaitable<void> sleep_through(weir::duration d) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await sleep_for(d);
}

bool identity_holds(const consumer_metrics& m) { return m.leased == m.in_flight + m.ended(); }

/// Jobs of every conduct, two consumers with a pool each on one queue, one of which loses its way
/// to it for good; somebody who cancels jobs, and pauses. Times are few, so that a lease ends as
/// the job does.
void run_consumer_program(weir::test::simulation& sim) {
  auto& draw = sim.draw();
  constexpr int max_attempts = 3;
  constexpr int jobs = 6;
  auto* const faults = weir::detail::installed_faults.exchange(nullptr);  // until it begins
  weir::memory_queue queue(sim.get_executor());
  queue_client client(sim, queue);
  std::set<weir::job_id> added;
  std::set<weir::job_id> discarded;
  std::set<weir::job_id> cancelled;
  std::set<std::pair<weir::job_id, std::int64_t>> begun;

  weir::job_handlers handlers;
  const auto begin = [&](const job_context& ctx) {
    BOOST_TEST_REQUIRE(ctx.job().attempt <= max_attempts);
    BOOST_TEST_REQUIRE(begun.insert({ctx.key().id, ctx.key().token}).second);
  };
  handlers
      .on("works",
          [&](job_context& ctx) -> asio::awaitable<void> {
            begin(ctx);
            co_await sleep_for(1ms * draw.between(0, 4));
          })
      .on("throws",
          [&](job_context& ctx) {
            begin(ctx);
            throw std::runtime_error("no");
          })
      .on("discards",
          [&](job_context& ctx) {
            begin(ctx);
            discarded.insert(ctx.key().id);
            throw weir::discard_job("never");
          })
      .on("snoozes",
          [&](job_context& ctx) -> asio::awaitable<void> {
            begin(ctx);
            if (draw.chance(0.7)) throw weir::snooze_job(1ms);
            co_return;
          })
      .on(
          "deaf",
          [&](job_context& ctx) -> asio::awaitable<void> {
            begin(ctx);
            co_await sleep_through(1ms * draw.between(0, 9));
          },
          2ms);
  const std::array kinds{"works", "throws", "discards", "snoozes", "deaf"};
  const auto options = [&] {
    return weir::consumer_options{.lease_for = 3ms,
                                  .max_leased = draw.between(0, 3),
                                  .timeout = 4ms,
                                  .retry = {.base = 1ms, .cap = 2ms, .floor = 1ms},
                                  .snooze = 1ms,
                                  .queue_backoff = {.base = 1ms, .cap = 2ms},
                                  .seed = 1 + draw.below(1000)};
  };
  const auto pool_options = [&] {
    return weir::pool_options{.workers = draw.between(1, 2),
                              .queue_size = draw.between(1, 3),
                              .max_per_user = draw.between(0, 2),
                              .answer_after = 1ms};
  };
  std::uint64_t acked = 0;
  weir_test::flaky_queue way(queue);
  {
    weir::worker_pool pool(sim.get_executor(), pool_options());
    weir::worker_pool doomed_pool(sim.get_executor(), pool_options());
    weir::consumer consumer(queue, pool, handlers, options());
    weir::consumer doomed(way, doomed_pool, handlers, options());
    sim.spawn("producer", [&]() -> asio::awaitable<void> {
      for (int i = 0; i < jobs; ++i) {
        try {
          queue.async_enqueue({.kind = kinds[draw.below(kinds.size())],
                               .user = draw.chance(0.5) ? "a" : "b",
                               .max_attempts = max_attempts,
                               .keep = 1h},
                              [&](error_code ec, weir::enqueued e) {
                                if (!ec) added.insert(e.id);
                              });
        } catch (const std::bad_alloc&) {  // nothing was started
        }
        if (draw.chance(0.3)) co_await sleep_for(1ms * draw.between(0, 2));
      }
    });
    sim.spawn("meddler", [&]() -> asio::awaitable<void> {
      for (int i = 0; i < 6; ++i) {
        co_await sleep_for(1ms * draw.between(0, 2));
        const weir::job_id id = 1 + static_cast<weir::job_id>(draw.below(jobs));
        switch (draw.below(5)) {
          case 0: {
            try {
              queue.async_cancel(id, [&, id](error_code ec, bool did) {
                if (!ec && did) cancelled.insert(id);
              });
            } catch (const std::bad_alloc&) {
            }
            break;
          }
          case 1:
            consumer.pause();
            break;
          case 2:  // now and then something fails
            way.fail_with([&](const weir::any_queue_op&) {
              return draw.chance(0.5) ? io_error() : error_code();
            });
            break;
          case 3:  // as if its process had been killed
            way.close();
            break;
          default:
            consumer.resume();
        }
        for (const weir::consumer* c : {&consumer, &doomed})
          BOOST_TEST_REQUIRE(identity_holds(c->metrics()));
        BOOST_TEST_REQUIRE(pool.metrics().reserved >= consumer.metrics().reserved);
      }
    });
    consumer.start();
    doomed.start();
    weir::detail::installed_faults = faults;
    sim.run_for(1ms * draw.between(5, 25));
    weir::detail::installed_faults = nullptr;
    noted stopped;
    noted dead;
    consumer.async_stop(stopped.handler());
    doomed.async_stop(dead.handler());
    sim.run_for(60ms);
    BOOST_TEST_REQUIRE(stopped.ended());
    BOOST_TEST_REQUIRE(dead.ended());
    for (const weir::consumer* c : {&consumer, &doomed}) {
      const consumer_metrics m = c->metrics();
      BOOST_TEST_REQUIRE(
          (identity_holds(m) && m.in_flight == 0 && m.reserved == 0 && m.stuck == 0));
      acked += m.acked;
    }
    BOOST_TEST_REQUIRE((pool.metrics().reserved == 0 && doomed_pool.metrics().reserved == 0));
  }
  // Somebody else does the rest.
  {
    weir::worker_pool pool(sim.get_executor(), {.workers = 2, .max_per_user = 0});
    weir::consumer last(queue, pool, handlers, options());
    last.start();
    for (int i = 0; i < 100; ++i) {
      const weir::queue_stats s = client.stats();
      if (s.ready + s.scheduled + s.leased == 0) break;
      sim.run_for(20ms);
    }
    noted stopped;
    last.async_stop(stopped.handler());
    sim.run_for(20ms);
    BOOST_TEST_REQUIRE(stopped.ended());
    acked += last.metrics().acked;
  }
  // Each has ended, once and in one way.
  std::uint64_t done = 0;
  for (const weir::job_id id : added) {
    const auto found = client.find(id);
    BOOST_TEST_REQUIRE(found.has_value());
    switch (found->state) {
      case job_state::done:
        ++done;
        BOOST_TEST_REQUIRE((found->job.kind != "throws" && found->job.kind != "discards"));
        break;
      case job_state::dead:
        BOOST_TEST_REQUIRE((discarded.contains(id) || found->job.attempt == max_attempts));
        break;
      case job_state::cancelled:
        BOOST_TEST_REQUIRE(cancelled.contains(id));
        break;
      default:
        BOOST_TEST_REQUIRE(false, "job " << id << " is " << to_string(found->state));
    }
  }
  BOOST_TEST_REQUIRE(done == acked);
}

}  // namespace

WEIR_SIMULATION_TEST_CASE(each_job_ends_once_whatever_happens, 2000) { run_consumer_program(sim); }

BOOST_AUTO_TEST_CASE(also_where_anybody_is_cancelled_or_memory_runs_out) {
  weir::test::for_each_seed(300, run_consumer_program, {.simulation = {.cancel = 0.1}});
  weir::test::for_each_seed(300, run_consumer_program, {.simulation = {.fail_allocation = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
