// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "flaky_queue.hpp"
#include "pool_fixture.hpp"
#include "queue_client.hpp"

#include <weir/consumer.hpp>
#include <weir/memory_queue.hpp>
#include <weir/retry.hpp>
#include <weir/shutdown_on_signal.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using weir::consumer_metrics;
using weir::errc;
using weir::error_code;
using weir::job_context;
using weir::job_state;
using weir_test::noted;
using weir_test::queue_client;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(consumer)

namespace {

constexpr std::array cancellation_types{asio::cancellation_type::terminal,
                                        asio::cancellation_type::partial,
                                        asio::cancellation_type::total};

error_code io_error() { return make_error_code(boost::system::errc::io_error); }

auto sleeping(weir::duration d) {
  return [d](job_context&) -> asio::awaitable<void> { return sleep_for(d); };
}

/// Sleeps whatever is asked of it.
asio::awaitable<void> sleep_through(weir::duration d) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await sleep_for(d);
}

bool identity_holds(const consumer_metrics& m) { return m.leased == m.in_flight + m.ended(); }

/// A queue, a pool and a consumer on virtual time. When the case ends the consumer is stopped, and
/// nothing is left.
struct consuming {
  weir::test::virtual_time time;
  std::optional<weir::memory_queue> queue{time.get_executor()};
  std::optional<weir::worker_pool> pool;
  weir::job_handlers handlers;
  std::optional<weir::consumer> consumer;
  queue_client client{time, *queue};

  weir::consumer& make(weir::consumer_options options = {}, weir::pool_options p = {.workers = 4}) {
    pool.emplace(time.get_executor(), std::move(p));
    consumer.emplace(*queue, *pool, handlers, std::move(options));
    consumer->start();
    return *consumer;
  }

  weir::job_id add(const weir::job_request& r) { return client.add(r).id; }
  job_state state(weir::job_id id) { return client.find(id).value().state; }
  consumer_metrics metrics() const { return consumer->metrics(); }

  void stop() {
    noted stopped;
    consumer->async_stop(stopped.handler());
    time.run();
    BOOST_TEST(stopped.ended());
    const consumer_metrics m = metrics();
    BOOST_TEST(identity_holds(m));
    BOOST_TEST(m.in_flight == 0U);
    BOOST_TEST(m.reserved == 0U);
    BOOST_TEST(m.stuck == 0U);
    BOOST_TEST(!m.running);
  }

  ~consuming() {
    try {
      if (consumer && queue) {
        stop();
        weir_test::check_at_rest(pool->metrics());
        BOOST_TEST(pool->metrics().reserved == 0U);
        BOOST_TEST(client.stats().leased == 0U);
      }
      consumer.reset();
      pool.reset();
      queue.reset();
      time.run();
    } catch (const std::exception& e) {
      BOOST_ERROR(e.what());
    }
  }
};

}  // namespace

// --- what a job comes to -------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(job_runs_under_its_user_and_what_its_handler_returns_is_kept, consuming) {
  handlers.on("plain", [](job_context&) {})
      .on("text", [](job_context& ctx) { return "<" + ctx.job().payload + ">"; })
      .on("slow", sleeping(2s))
      .on("slow text", [](job_context& ctx) -> asio::awaitable<std::string> {
        co_await sleep_for(1s);
        co_return ctx.job().payload + " by " + ctx.job().user;
      });
  make();
  std::vector<weir::job_id> ids;
  for (const char* kind : {"plain", "text", "slow", "slow text"})
    ids.push_back(add({.kind = kind, .payload = "p", .user = "ann", .keep = 1h}));
  time.run_for(10s);
  for (const weir::job_id id : ids) BOOST_TEST((state(id) == job_state::done));
  BOOST_TEST(client.find(ids[1])->result == "<p>");
  BOOST_TEST(client.find(ids[3])->result == "p by ann");
  BOOST_TEST(metrics().acked == 4U);
  BOOST_TEST(metrics().running);
}

BOOST_FIXTURE_TEST_CASE(kinds_without_a_handler_are_left_to_others, consuming) {
  handlers.on("mine", [](job_context&) {});
  make();
  weir::worker_pool other_pool(time.get_executor(), {.workers = 1});
  weir::consumer other(*queue, other_pool, {{"theirs", [](job_context&) {}}});
  const auto mine = add({.kind = "mine", .keep = 24h});
  const auto theirs = add({.kind = "theirs", .keep = 24h});
  const auto nobodys = add({.kind = "nobody's", .keep = 24h});
  time.run_for(1s);
  BOOST_TEST((state(mine) == job_state::done));
  BOOST_TEST((state(theirs) == job_state::ready));
  other.start();
  time.run_for(1h);
  BOOST_TEST((state(theirs) == job_state::done));
  BOOST_TEST((state(nobodys) == job_state::ready));
  BOOST_TEST(client.find(nobodys)->job.attempt == 0);
  BOOST_TEST(metrics().leased == 1U);
  BOOST_TEST(other.metrics().leased == 1U);
}

BOOST_FIXTURE_TEST_CASE(failing_job_is_dead_after_exactly_its_attempts, consuming) {
  std::vector<weir::time_point> begun;
  handlers.on("bad", [&](job_context&) {
    begun.push_back(time.now());
    throw std::runtime_error("no such address");  // before it has read a byte of its payload
  });
  make({.retry = {.base = 4s, .cap = 60s, .floor = 2s}});
  const auto id = add({.kind = "bad", .max_attempts = 4});
  time.run_for(10min);
  BOOST_TEST(begun.size() == 4U);
  for (std::size_t i = 1; i < begun.size(); ++i) {
    const auto wait = begun[i] - begun[i - 1];
    BOOST_TEST((wait >= 2s && wait <= 4s * (1 << (i - 1))));
  }
  const auto dead = client.dead();
  BOOST_TEST_REQUIRE(dead.size() == 1U);
  BOOST_TEST(dead[0].job.id == id);
  BOOST_TEST(dead[0].reason == "no such address");
  BOOST_TEST(metrics().retried == 3U);
  BOOST_TEST(metrics().dead == 1U);
}

BOOST_FIXTURE_TEST_CASE(those_that_fail_together_do_not_come_back_together, consuming) {
  handlers.on("bad", [](job_context&) { throw std::runtime_error("the database is away"); });
  make({.max_leased = 50});
  for (int i = 0; i < 1000; ++i) add({.kind = "bad"});
  const weir::time_point began = time.now();
  time.settle();
  consumer->pause();
  BOOST_TEST(metrics().retried == 1000U);
  BOOST_TEST((time.now() == began));
  // None before the floor, and then in each tenth of the span about as many as in any other.
  const auto take = [&] {
    const auto leases = client.take({.max = 1000});
    for (const weir::lease& l : leases) client.ack(l.key);
    return leases.size();
  };
  time.run_for(1s - 1us);
  BOOST_TEST(take() == 0U);
  std::size_t all = 0;
  for (int tenth = 0; tenth < 10; ++tenth) {
    time.run_for(100ms);
    const std::size_t came = take();
    BOOST_TEST((came > 60U && came < 150U));
    all += came;
  }
  time.run_for(1ms);
  BOOST_TEST(all + take() == 1000U);
}

BOOST_FIXTURE_TEST_CASE(handler_says_what_is_to_become_of_the_job, consuming) {
  int calls = 0;
  handlers.on("unreadable", [](job_context&) { throw weir::discard_job("not JSON at byte 7"); })
      .on("early",
          [&](job_context& ctx) -> asio::awaitable<void> {
            BOOST_TEST(ctx.job().attempt == 1);
            if (++calls < 5) throw weir::snooze_job(1h);
            co_return;
          })
      .on("busy", [&](job_context& ctx) {
        if (ctx.job().attempt == 1)
          throw weir::retry_after_error(make_error_code(errc::rate_limited), 30s);
      });
  make();
  const auto unreadable = add({.kind = "unreadable", .max_attempts = 20});
  const auto early = add({.kind = "early", .max_attempts = 1, .keep = 24h});
  const auto busy = add({.kind = "busy", .keep = 24h});
  const auto behind = add({.kind = "busy", .priority = -1});
  time.run_for(30s);
  // The one that cannot be read is out of the way, and has blocked nobody.
  BOOST_TEST((state(unreadable) == job_state::dead));
  BOOST_TEST(client.find(unreadable)->reason == "not JSON at byte 7");
  BOOST_TEST(client.find(unreadable)->job.attempt == 1);
  BOOST_TEST((state(busy) == job_state::scheduled));
  BOOST_TEST((state(behind) == job_state::scheduled));
  time.run_for(5s);
  BOOST_TEST((state(busy) == job_state::done));
  time.run_for(4h);
  BOOST_TEST((state(early) == job_state::done));
  BOOST_TEST(metrics().snoozed == 4U);
  BOOST_TEST(metrics().dead == 1U);
  BOOST_TEST(metrics().retried == 2U);
}

BOOST_FIXTURE_TEST_CASE(handler_that_has_reported_by_itself_is_not_reported_on_again, consuming) {
  handlers.on("own", [&](job_context& ctx) -> asio::awaitable<void> {
    co_await queue->async_ack(ctx.key(), "mine", use_awaitable);
    ctx.settled();
    throw std::runtime_error("too late to matter");
  });
  make();
  const auto id = add({.kind = "own", .keep = 1h});
  time.run_for(1s);
  BOOST_TEST((state(id) == job_state::done));
  BOOST_TEST(client.find(id)->result == "mine");
  BOOST_TEST(metrics().settled == 1U);
  BOOST_TEST(metrics().ended() == 1U);
}

// --- limits --------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(room_comes_before_the_lease_so_none_runs_out_while_it_waits, consuming) {
  // One place and a worker that is slow; with the lease first, nineteen would run out.
  handlers.on("slow", sleeping(7s));
  make({.lease_for = 3s, .max_leased = 2}, {.workers = 1, .queue_size = 1});
  std::vector<weir::job_id> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(add({.kind = "slow", .keep = 24h}));
  for (int i = 0; i < 20 * 7; ++i) {
    time.run_for(1s);
    BOOST_TEST_REQUIRE(client.stats().leased <= 2U);
    BOOST_TEST_REQUIRE(identity_holds(metrics()));
  }
  for (const weir::job_id id : ids) {
    BOOST_TEST((state(id) == job_state::done));
    BOOST_TEST(client.find(id)->job.attempt == 1);
  }
  BOOST_TEST(metrics().leased == 20U);
}

BOOST_FIXTURE_TEST_CASE(full_pool_gets_no_jobs_and_others_still_find_room, consuming) {
  handlers.on("slow", sleeping(10s));
  make({.max_leased = 100}, {.workers = 1, .queue_size = 4, .max_per_user = 0});
  time.settle();
  // At rest it holds no more than half of the queue for what may come.
  BOOST_TEST(metrics().reserved == 2U);
  BOOST_TEST(pool->metrics().reserved == 2U);
  for (int i = 0; i < 2; ++i) BOOST_TEST(!pool->submit({.fn = [](weir::task_context&) {}}));
  time.settle();
  for (int i = 0; i < 10; ++i) add({.kind = "slow"});
  time.settle();
  BOOST_TEST(client.stats().leased == 5U);  // one runs, four wait
  BOOST_TEST(pool->submit({.fn = [](weir::task_context&) {}}) == errc::queue_full);
  time.run_for(101s);
  BOOST_TEST(metrics().acked == 10U);
}

BOOST_FIXTURE_TEST_CASE(job_of_a_user_at_its_cap_is_put_off_and_its_attempt_is_not_spent,
                        consuming) {
  std::map<std::string, int> running;
  handlers.on("work", [&](job_context& ctx) -> asio::awaitable<void> {
    BOOST_TEST(ctx.job().attempt == 1);
    BOOST_TEST(++running[ctx.job().user] <= 2);
    co_await sleep_for(3s);
    --running[ctx.job().user];
  });
  make({.max_leased = 8, .snooze = 500ms}, {.workers = 4, .max_per_user = 2});
  std::vector<weir::job_id> ids;
  for (int i = 0; i < 6; ++i)
    ids.push_back(add({.kind = "work", .user = "greedy", .max_attempts = 1, .keep = 1h}));
  const auto modest = add({.kind = "work", .user = "modest", .max_attempts = 1, .keep = 1h});
  time.run_for(4s);
  BOOST_TEST((state(modest) == job_state::done));  // the six did not stand in its way
  BOOST_TEST(metrics().snoozed > 4U);
  time.run_for(30s);
  for (const weir::job_id id : ids) BOOST_TEST((state(id) == job_state::done));
  BOOST_TEST(metrics().acked == 7U);
  BOOST_TEST(metrics().retried == 0U);
}

BOOST_FIXTURE_TEST_CASE(job_is_put_off_by_each_limit_of_its_user, consuming) {
  handlers.on("work", [&](job_context& ctx) -> asio::awaitable<void> {
    BOOST_TEST(ctx.job().attempt == 1);
    co_await sleep_for(3s);
  });
  for (const weir::pool_options& o :
       {weir::pool_options{.workers = 1, .max_per_user = 0, .max_queued_per_user = 1},
        weir::pool_options{.workers = 4, .max_per_user = 0, .max_per_tenant = 1}}) {
    if (consumer) stop();
    consumer.reset();
    make({.max_leased = 8, .snooze = 500ms}, o);
    for (const char* user : {"acme/ann", "acme/ann", "acme/ann"})
      add({.kind = "work", .user = user, .max_attempts = 1});
    time.run_for(1s);
    BOOST_TEST(metrics().snoozed >= 1U);
    time.run_for(30s);
    BOOST_TEST(metrics().acked == 3U);
    BOOST_TEST(metrics().retried == 0U);
  }
}

BOOST_FIXTURE_TEST_CASE(job_without_a_user_is_held_by_no_cap, consuming) {
  handlers.on("work", sleeping(1s));
  make({}, {.workers = 4, .max_per_user = 1});
  for (int i = 0; i < 4; ++i) add({.kind = "work"});
  time.run_for(1s);
  BOOST_TEST(metrics().acked == 4U);
}

// --- leases --------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(job_longer_than_its_lease_runs_once, consuming) {
  int runs = 0;
  handlers.on("long", [&](job_context&) -> asio::awaitable<void> {
    ++runs;
    co_await sleep_for(10min);
  });
  make({.lease_for = 30s}, {.workers = 1, .task_timeout = 1h});
  add({.kind = "long"});
  add({.kind = "long"});  // waits in the pool's queue meanwhile, and keeps its lease too
  weir::worker_pool rival_pool(time.get_executor(), {.workers = 1});
  weir::consumer rival(*queue, rival_pool, handlers);
  time.run_for(1s);
  rival.start();
  time.run_for(30min);
  BOOST_TEST(runs == 2);
  BOOST_TEST(metrics().acked == 2U);
  BOOST_TEST(metrics().extended > 40U);
  BOOST_TEST(metrics().extended < 200U);
  BOOST_TEST(rival.metrics().leased == 0U);
}

BOOST_FIXTURE_TEST_CASE(job_that_is_cancelled_while_it_runs_is_told_and_not_reported_on,
                        consuming) {
  std::vector<error_code> causes;
  const auto body = [&](job_context& ctx) -> asio::awaitable<void> {
    const weir::stop_token token = ctx.stop_token();
    BOOST_TEST(!ctx.cause());
    try {
      co_await sleep_for(1h);
    } catch (const boost::system::system_error&) {
      BOOST_TEST(token.stop_requested());
      causes.push_back(ctx.cause());
      throw;
    }
  };
  handlers.on("long", body);
  make({.lease_for = 30s}, {.workers = 1, .task_timeout = 2h});
  const auto runs = add({.kind = "long", .keep = 24h});
  const auto waits = add({.kind = "long", .keep = 24h});
  time.run_for(1s);
  BOOST_TEST(client.cancel(runs));
  BOOST_TEST(client.cancel(waits));
  time.run_for(31s);
  BOOST_TEST(causes.size() == 1U);
  BOOST_TEST((causes.at(0) == errc::lease_lost));
  BOOST_TEST(metrics().lost == 2U);
  BOOST_TEST(metrics().ended() == 2U);
  BOOST_TEST((state(runs) == job_state::cancelled));
}

BOOST_FIXTURE_TEST_CASE(handler_hears_of_its_deadline_and_of_the_shutdown_too, consuming) {
  std::vector<error_code> causes;
  handlers.on(
      "long",
      [&](job_context& ctx) -> asio::awaitable<void> {
        const weir::time_point deadline = ctx.deadline();
        try {
          co_await sleep_for(1h);
        } catch (const boost::system::system_error&) {
          causes.push_back(ctx.cause());
          if (ctx.job().attempt == 1) BOOST_TEST((deadline == time.now()));
          throw;
        }
      },
      1min);
  make({.retry = {.base = 1s, .cap = 1s, .floor = 1s}});
  const auto id = add({.kind = "long"});
  time.run_for(1min);
  BOOST_TEST(client.find(id)->reason == "its run deadline passed");
  BOOST_TEST(metrics().retried == 1U);
  time.run_for(2s);
  pool->async_shutdown({.deadline = 0s}, [](auto&&...) {});
  time.run_for(1s);
  BOOST_TEST_REQUIRE(causes.size() == 2U);
  BOOST_TEST((causes[0] == errc::task_timed_out));
  BOOST_TEST((causes[1] == errc::shutdown_cancelled));
  BOOST_TEST((state(id) == job_state::ready));
  BOOST_TEST(client.find(id)->job.attempt == 1);
}

BOOST_FIXTURE_TEST_CASE(old_run_is_refused_once_a_second_consumer_has_the_job, consuming) {
  // The first one's way to the queue breaks; it works on, its lease runs out, another takes over.
  weir_test::flaky_queue broken(*queue);
  std::vector<int> attempts;
  handlers.on("work", [&](job_context& ctx) -> asio::awaitable<void> {
    attempts.push_back(ctx.job().attempt);
    co_await sleep_for(ctx.job().attempt == 1 ? 50s : 5s);
  });
  make({.lease_for = 30s});
  consumer->pause();
  weir::worker_pool first_pool(time.get_executor(), {.workers = 1});
  weir::consumer first(broken, first_pool, handlers, {.lease_for = 30s, .max_leased = 1});
  first.start();
  const auto id = add({.kind = "work", .keep = 1h});
  time.settle();
  BOOST_TEST(attempts.size() == 1U);
  broken.fail_with([](const weir::any_queue_op&) { return io_error(); });
  consumer->resume();
  time.run_for(40s);
  BOOST_TEST(attempts == (std::vector{1, 2}), boost::test_tools::per_element());
  BOOST_TEST((state(id) == job_state::done));
  broken.fail_with(nullptr);
  time.run_for(20s);
  // It heard, at its next extension, that the lease was lost, and nothing of it was taken.
  BOOST_TEST(first.metrics().lost == 1U);
  BOOST_TEST(first.metrics().acked == 0U);
  BOOST_TEST(first.metrics().queue_errors > 0U);
  BOOST_TEST(metrics().acked == 1U);
  BOOST_TEST(client.find(id)->job.attempt == 2);
}

BOOST_FIXTURE_TEST_CASE(handler_that_does_not_listen_is_stuck_and_does_not_keep_the_job,
                        consuming) {
  int runs = 0;
  handlers.on("deaf", [&](job_context&) {
    ++runs;
    return sleep_through(1h);
  });
  make({.lease_for = 30s, .timeout = 1min}, {.workers = 4, .grace = 0s});
  const auto id = add({.kind = "deaf", .max_attempts = 3});
  const auto other = add({.kind = "deaf", .max_attempts = 1});
  time.run_for(50s);
  BOOST_TEST(metrics().stuck == 0U);
  BOOST_TEST((state(id) == job_state::leased));
  time.run_for(11s);
  BOOST_TEST(metrics().stuck == 2U);
  time.run_for(59min - 61s);
  // Three leases, each extended until the run deadline and not beyond, then it is given up.
  BOOST_TEST(runs == 4);
  BOOST_TEST((state(id) == job_state::dead));
  BOOST_TEST(client.find(id)->job.attempt == 3);
  BOOST_TEST((state(other) == job_state::dead));
  // The pool still has less to give: that is known.
  BOOST_TEST(pool->metrics().active == 4U);
  BOOST_TEST(metrics().stuck == 4U);
  time.run_for(1h);
  BOOST_TEST(metrics().stuck == 0U);
  BOOST_TEST(metrics().lost == 4U);
}

// --- a queue in trouble --------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(queue_that_is_away_is_left_alone_for_growing_times, consuming) {
  weir_test::flaky_queue away(*queue);
  int asked = 0;
  away.fail_with([&](const weir::any_queue_op&) {
    ++asked;
    return io_error();
  });
  handlers.on("work", [](job_context&) {});
  make();
  consumer->pause();
  weir::worker_pool own(time.get_executor(), {.workers = 1});
  weir::consumer c(away, own, handlers);
  c.start();
  add({.kind = "work"});
  time.run_for(1h);
  BOOST_TEST((asked > 360 && asked < 1500));  // each 5 s, on the average
  BOOST_TEST(c.metrics().queue_errors == static_cast<std::uint64_t>(asked));
  away.fail_with(nullptr);
  time.run_for(11s);
  BOOST_TEST(c.metrics().acked == 1U);
}

BOOST_FIXTURE_TEST_CASE(report_that_failed_is_repeated_while_the_lease_is_held, consuming) {
  weir_test::flaky_queue flaky(*queue);
  handlers.on("work", [](job_context&) { return std::string("r"); });
  make();
  consumer->pause();
  weir::worker_pool own(time.get_executor(), {.workers = 1});
  weir::consumer c(flaky, own, handlers, {.lease_for = 30s});
  c.start();
  const auto reports_fail = [](const weir::any_queue_op& op) {
    return std::holds_alternative<weir::settle_op*>(op) ? io_error() : error_code();
  };
  flaky.fail_with(reports_fail);
  const auto first = add({.kind = "work", .keep = 24h});
  time.run_for(20s);
  BOOST_TEST((state(first) == job_state::leased));
  BOOST_TEST(c.metrics().in_flight == 1U);
  flaky.fail_with(nullptr);
  time.run_for(10s);
  BOOST_TEST((state(first) == job_state::done));
  BOOST_TEST(client.find(first)->result == "r");
  BOOST_TEST(c.metrics().acked == 1U);
  // If it never comes through, the lease runs out, and the job runs again.
  flaky.fail_with(reports_fail);
  const auto second = add({.kind = "work", .keep = 24h});
  time.run_for(31s);
  BOOST_TEST(c.metrics().unreported == 1U);
  flaky.fail_with(nullptr);
  time.run_for(31s);
  BOOST_TEST((state(second) == job_state::done));
  BOOST_TEST(client.find(second)->job.attempt > 1);
}

// --- pausing and stopping ------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(paused_one_takes_nothing_and_holds_no_room, consuming) {
  handlers.on("work", sleeping(1s));
  make();
  add({.kind = "work", .user = "a"});
  time.settle();
  BOOST_TEST(metrics().in_flight == 1U);
  consumer->pause();
  consumer->pause();
  time.settle();
  BOOST_TEST(pool->metrics().reserved == 0U);
  const auto waits = add({.kind = "work"});
  time.run_for(1min);
  BOOST_TEST(metrics().acked == 1U);
  BOOST_TEST((state(waits) == job_state::ready));
  BOOST_TEST(!metrics().running);
  consumer->resume();
  time.run_for(1s);
  BOOST_TEST(metrics().acked == 2U);
}

BOOST_FIXTURE_TEST_CASE(stopping_gives_back_what_was_not_begun_and_waits_for_what_runs, consuming) {
  handlers.on("work", sleeping(10s));
  make({}, {.workers = 2, .max_per_user = 0});
  std::vector<weir::job_id> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(add({.kind = "work", .keep = 1h}));
  time.run_for(1s);
  BOOST_TEST(client.stats().leased == 4U);
  noted stopped;
  noted again;
  consumer->async_stop(stopped.handler());
  consumer->async_stop(again.handler());
  BOOST_TEST(!stopped.ended());
  time.settle();
  BOOST_TEST(client.stats().ready == 4U);
  BOOST_TEST(client.stats().leased == 2U);
  for (const weir::job_id id : ids)
    BOOST_TEST(client.find(id)->job.attempt == (state(id) == job_state::leased ? 1 : 0));
  BOOST_TEST(!stopped.ended());
  time.run_for(9s);
  BOOST_TEST((stopped.code == error_code()));
  BOOST_TEST(again.ended());
  BOOST_TEST(metrics().acked == 2U);
  BOOST_TEST(metrics().returned == 2U);
  consumer->resume();  // too late
  consumer->start();
  time.run_for(1min);
  BOOST_TEST(metrics().leased == 4U);
}

BOOST_AUTO_TEST_CASE(stops_in_whatever_state_it_is) {
  enum { unstarted, paused, waits_for_jobs, waits_for_room, backs_off };
  for (const int how : {unstarted, paused, waits_for_jobs, waits_for_room, backs_off}) {
    weir::test::virtual_time time;
    weir::memory_queue queue(time.get_executor());
    weir_test::flaky_queue flaky(queue);
    weir::worker_pool pool(time.get_executor(), {.workers = 1, .queue_size = 1});
    weir::pool_room room;
    if (how == waits_for_room)
      pool.async_reserve([&](error_code, weir::pool_room r) { room = std::move(r); });
    if (how == backs_off) flaky.fail_with([](const weir::any_queue_op&) { return io_error(); });
    time.settle();
    weir::consumer c(flaky, pool, {{"a", [](job_context&) {}}});
    if (how == paused) c.pause();
    if (how != unstarted) c.start();
    time.settle();
    noted stopped;
    c.async_stop(stopped.handler());
    time.settle();
    BOOST_TEST((stopped.code == error_code()));
    BOOST_TEST(pool.metrics().reserved == (room ? 1U : 0U));
    room.release();
    time.run();  // no timer is left
    BOOST_TEST((time.elapsed() == 0s));
  }
}

BOOST_AUTO_TEST_CASE(cancelled_run_stops_and_completes_when_all_has_been_reported) {
  for (const auto type : cancellation_types) {
    consuming c;
    c.handlers.on("work", sleeping(5s));
    c.make();
    asio::cancellation_signal signal;
    noted ran;
    c.consumer->async_run(asio::bind_cancellation_slot(signal.slot(), ran.handler()));
    c.add({.kind = "work"});
    c.time.run_for(1s);
    signal.emit(type);
    c.time.run_for(3s);
    BOOST_TEST(!ran.ended());
    c.time.run_for(1s);
    BOOST_TEST((ran.code == asio::error::operation_aborted));
    BOOST_TEST(c.metrics().acked == 1U);
  }
}

BOOST_AUTO_TEST_CASE(cancelled_wait_for_the_stop_does_not_undo_it) {
  for (const auto type : cancellation_types) {
    consuming c;
    c.handlers.on("work", sleeping(5s));
    c.make();
    c.add({.kind = "work"});
    c.time.run_for(1s);
    asio::cancellation_signal signal;
    noted stopped;
    c.consumer->async_stop(asio::bind_cancellation_slot(signal.slot(), stopped.handler()));
    signal.emit(type);
    c.time.settle();
    BOOST_TEST((stopped.code == asio::error::operation_aborted));
    BOOST_TEST(!c.metrics().running);
  }
}

BOOST_FIXTURE_TEST_CASE(run_ends_with_the_pool_or_the_queue_and_says_which, consuming) {
  handlers.on("work", sleeping(5s));
  make({}, {.workers = 1});
  weir::memory_queue second(time.get_executor());
  weir::consumer other(second, *pool, handlers);
  noted with_pool;
  noted with_queue;
  consumer->async_run(with_pool.handler());
  other.async_run(with_queue.handler());
  const auto runs = add({.kind = "work", .keep = 1h});
  const auto waits = add({.kind = "work", .keep = 1h});
  time.run_for(1s);
  second.close();
  time.settle();
  BOOST_TEST((with_queue.code == errc::queue_closed));
  // Cut short by its pool, a job is given back with its attempt unspent.
  pool->async_shutdown({.deadline = 1s}, [](auto&&...) {});
  time.run_for(2s);
  BOOST_TEST((with_pool.code == errc::pool_closed));
  for (const weir::job_id id : {runs, waits}) {
    BOOST_TEST((state(id) == job_state::ready));
    BOOST_TEST(client.find(id)->job.attempt == 0);
  }
  BOOST_TEST(metrics().returned == 2U);
}

BOOST_AUTO_TEST_CASE(on_a_signal_the_consumer_stops_before_the_pool) {
  asio::io_context context;
  weir::memory_queue queue(context.get_executor());
  weir::worker_pool pool({.workers = 1, .max_per_user = 0});
  std::atomic<int> ran{0};
  weir::consumer c(queue, pool, {{"work", [&](job_context&) {
                                    if (++ran == 2) std::raise(SIGTERM);
                                  }}});
  for (int i = 0; i < 50; ++i)
    queue.async_enqueue({.kind = "work", .keep = 1h}, [](error_code, weir::enqueued) {});
  weir::shutdown_report report;
  const auto serve = [&]() -> asio::awaitable<void> {
    report = co_await weir::shutdown_on_signal(pool, c, 30s);
  };
  auto served = asio::co_spawn(context, serve, asio::use_future);
  asio::post(context, [&] { c.start(); });
  context.run();
  served.get();
  BOOST_TEST(report.drained);
  weir::queue_stats stats;
  queue.async_stats([&](error_code, const weir::queue_stats& s) { stats = s; });
  context.restart();
  context.run();
  BOOST_TEST(stats.done == static_cast<std::size_t>(ran));
  BOOST_TEST(stats.ready + stats.done == 50U);
  BOOST_TEST(identity_holds(c.metrics()));
}

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  asio::thread_pool threads(2);
  weir::memory_queue queue(threads.get_executor());
  weir::worker_pool pool({.workers = 2});
  const auto make = [&] {
    return std::make_unique<weir::consumer>(
        queue, pool, weir::job_handlers{{"a", [](job_context&) {}}}, weir::consumer_options{});
  };
  auto c = make();
  auto ran = c->async_run(asio::use_future);
  queue.async_enqueue({.kind = "a"}, asio::use_future).get();
  while (c->metrics().acked == 0) std::this_thread::yield();
  auto deferred = c->async_stop(asio::deferred);
  std::move(deferred)(asio::use_future).get();
  ran.get();
  c = make();
  std::promise<error_code> ended;
  c->async_run([&](error_code ec) { ended.set_value(ec); });
  const auto stop = [&]() -> asio::awaitable<void> { co_await c->async_stop(use_awaitable); };
  asio::co_spawn(threads, stop, asio::use_future).get();
  BOOST_TEST(!ended.get_future().get());
  threads.join();
}

BOOST_AUTO_TEST_CASE(values_out_of_range_are_refused) {
  weir::test::virtual_time time;
  weir::memory_queue queue(time.get_executor());
  weir::worker_pool pool(time.get_executor());
  const weir::job_handlers handlers{{"a", [](job_context&) {}}};
  const auto refused = [&](const weir::job_handlers& h, weir::consumer_options o) {
    BOOST_CHECK_THROW(weir::consumer(queue, pool, h, std::move(o)), boost::system::system_error);
  };
  refused({}, {});
  refused(handlers, {.lease_for = 0s});
  refused(handlers, {.max_leased = -1});
  refused(handlers, {.timeout = -1s});
  refused(handlers, {.retry = {.base = 0s}});
  refused(handlers, {.snooze = 0s});
  refused(handlers, {.queue_backoff = {.factor = 0}});
  weir::job_handlers h;
  h.on("a", [](job_context&) {});
  BOOST_CHECK_THROW(h.on("a", [](job_context&) {}), boost::system::system_error);
  BOOST_CHECK_THROW(h.on("", [](job_context&) {}), boost::system::system_error);
  BOOST_CHECK_THROW(h.on(
                        "b", [](job_context&) {}, -1s),
                    boost::system::system_error);
}

// --- lifetimes -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(destroyed_one_gives_back_what_was_not_begun_and_reports_what_ran) {
  consuming c;
  c.handlers.on("work", sleeping(10s));
  c.make({}, {.workers = 1, .max_per_user = 0});
  const auto runs = c.add({.kind = "work", .keep = 1h});
  const auto waits = c.add({.kind = "work", .keep = 1h});
  c.time.run_for(1s);
  c.consumer.reset();
  c.time.settle();
  BOOST_TEST((c.state(waits) == job_state::ready));
  c.time.run_for(9s);
  BOOST_TEST((c.state(runs) == job_state::done));
}

BOOST_AUTO_TEST_CASE(consumer_pool_and_queue_go_in_any_order_with_jobs_in_flight) {
  std::array<int, 3> order{0, 1, 2};
  do {
    consuming c;
    c.handlers.on("work", sleeping(10s));
    c.make({.lease_for = 6s}, {.workers = 1, .max_per_user = 0});
    c.add({.kind = "work"});
    c.add({.kind = "work"});
    c.time.run_for(1s);
    noted ran;
    c.consumer->async_run(ran.handler());
    for (const int which : order) {
      if (which == 0) c.consumer.reset();
      if (which == 1) c.pool.reset();
      if (which == 2) c.queue.reset();
      c.time.run_for(4s);
    }
    c.time.run();
    BOOST_TEST(ran.ended());
  } while (std::next_permutation(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(context_that_goes_first_takes_jobs_in_flight_with_it) {
  for (const bool owns : {false, true}) {
    auto context = std::make_optional<asio::io_context>();
    auto pool = owns ? std::make_unique<weir::worker_pool>(weir::pool_options{.workers = 1})
                     : std::make_unique<weir::worker_pool>(context->get_executor(),
                                                           weir::pool_options{.workers = 1});
    auto queue = std::make_unique<weir::memory_queue>(context->get_executor());
    auto c = std::make_unique<weir::consumer>(
        *queue, *pool, weir::job_handlers{{"work", sleeping(10min)}}, weir::consumer_options{});
    c->start();
    for (int i = 0; i < 3; ++i)
      queue->async_enqueue({.kind = "work"}, [](error_code, weir::enqueued) {});
    context->poll();
    c->async_run([](error_code) {});
    c.reset();
    queue.reset();
    if (owns) pool.reset();
    context.reset();
  }
}

BOOST_AUTO_TEST_SUITE_END()
