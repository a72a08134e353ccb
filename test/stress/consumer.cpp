// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/consumer.hpp>
#include <weir/memory_queue.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using weir::job_context;

BOOST_AUTO_TEST_SUITE(consumer_stress)

namespace {

/// Threads for the queue, and whoever asks it.
struct stage {
  asio::thread_pool threads{2};
  weir::memory_queue queue{threads.get_executor()};

  void add(int n, const char* kind) {
    for (int i = 0; i < n; ++i) {
      const std::string user = "u" + std::to_string(i % 7);
      queue
          .async_enqueue({.kind = kind, .user = user, .max_attempts = 3, .keep = 1h},
                         asio::use_future)
          .get();
    }
  }
  weir::queue_stats stats() { return queue.async_stats(asio::use_future).get(); }
  ~stage() { threads.join(); }
};

void check_at_rest(const weir::consumer& c) {
  const weir::consumer_metrics m = c.metrics();
  BOOST_TEST(m.in_flight == 0U);
  BOOST_TEST(m.reserved == 0U);
  BOOST_TEST(m.leased == m.ended());
}

}  // namespace

BOOST_AUTO_TEST_CASE(consumers_on_threads_share_a_queue_and_each_job_is_done_once) {
  stage s;
  std::mutex mutex;
  std::set<weir::job_id> seen;
  std::atomic<int> twice{0};
  weir::job_handlers handlers;
  handlers
      .on("plain",
          [&](job_context& ctx) {
            const std::lock_guard lock(mutex);
            if (!seen.insert(ctx.key().id).second) ++twice;
          })
      .on("fails", [](job_context&) { throw std::runtime_error("no"); })
      .on("awaits", [](job_context&) -> asio::awaitable<void> {
        co_await asio::post(co_await asio::this_coro::executor, use_awaitable);
      });
  {
    weir::worker_pool first({.workers = 3, .queue_size = 8});
    weir::worker_pool second({.workers = 2, .queue_size = 2, .max_per_user = 1});
    const weir::consumer_options options{.retry = {.base = 1ms, .cap = 2ms}, .snooze = 1ms};
    weir::consumer a(s.queue, first, handlers, options);
    weir::consumer b(s.queue, second, handlers, options);
    weir::consumer c(s.queue, second, handlers, options);
    for (weir::consumer* each : {&a, &b, &c}) each->start();
    std::thread meddler([&] {
      for (int i = 0; i < 200; ++i) {
        a.pause();
        static_cast<void>(b.metrics());
        a.resume();
        first.resize(1 + i % 3);
        std::this_thread::yield();
      }
    });
    s.add(400, "plain");
    s.add(200, "awaits");
    s.add(100, "fails");
    meddler.join();
    for (;;) {
      const weir::queue_stats left = s.stats();
      if (left.done == 600 && left.dead == 100) break;
      std::this_thread::yield();
    }
    for (weir::consumer* each : {&a, &b, &c}) each->async_stop(asio::use_future).get();
    for (const weir::consumer* each : {&a, &b, &c}) check_at_rest(*each);
    BOOST_TEST(a.metrics().acked + b.metrics().acked + c.metrics().acked == 600U);
  }
  BOOST_TEST(twice == 0);
  BOOST_TEST(seen.size() == 400U);
}

BOOST_AUTO_TEST_CASE(leases_that_are_extended_lost_and_cancelled_race_the_end_of_their_jobs) {
  stage s;
  weir::job_handlers handlers;
  handlers.on("waits", [](job_context& ctx) -> asio::awaitable<void> {
    weir::steady_timer timer(co_await asio::this_coro::executor, 1ms * (ctx.key().id % 5));
    co_await timer.async_wait(use_awaitable);
    static_cast<void>(ctx.cause());
  });
  weir::worker_pool pool({.workers = 4, .max_per_user = 0});
  weir::consumer c(s.queue, pool, handlers, {.lease_for = 3ms, .retry = {.base = 1ms, .cap = 1ms}});
  c.start();
  s.add(400, "waits");
  for (weir::job_id id = 1; id <= 400; id += 3) s.queue.async_cancel(id, asio::use_future).get();
  for (;;) {
    const weir::queue_stats left = s.stats();
    if (left.ready + left.leased + left.scheduled == 0) break;
    std::this_thread::yield();
  }
  c.async_stop(asio::use_future).get();
  check_at_rest(c);
  const weir::queue_stats end = s.stats();
  BOOST_TEST(end.done + end.cancelled + end.dead == 400U);
}

BOOST_AUTO_TEST_CASE(stopping_and_destroying_race_all_the_rest) {
  for (int round = 0; round < 150; ++round) {
    stage s;
    std::atomic<int> ran{0};
    const weir::job_handlers handlers{{"a", [&](job_context&) { ++ran; }}};
    {
      weir::worker_pool pool({.workers = 2, .queue_size = 4, .max_per_user = 0});
      auto c = std::make_unique<weir::consumer>(s.queue, pool, handlers, weir::consumer_options{});
      c->start();
      std::thread producer([&] { s.add(20, "a"); });
      for (int i = 0; i < round; ++i) std::this_thread::yield();
      if (round % 3 == 0) {
        c->async_stop(asio::use_future).get();
        check_at_rest(*c);
      } else if (round % 3 == 1) {
        pool.async_shutdown({.deadline = 0s, .abandon = true}, asio::use_future).get();
      }
      c.reset();
      producer.join();
    }
    // The pool has ended, so each job was acknowledged or is there to be taken.
    const weir::queue_stats left = s.stats();
    BOOST_TEST(left.leased == 0U);
    BOOST_TEST(left.ready + left.done == 20U);
    BOOST_TEST(left.done == static_cast<std::size_t>(ran));
  }
}

BOOST_AUTO_TEST_SUITE_END()
