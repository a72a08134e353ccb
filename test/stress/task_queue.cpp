// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/memory_queue.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;

BOOST_AUTO_TEST_SUITE(task_queue_stress)

BOOST_AUTO_TEST_CASE(each_job_runs_once_while_threads_add_take_and_ask) {
  asio::thread_pool threads(4);
  weir::memory_queue queue(threads.get_executor());
  constexpr int producers = 4;
  constexpr int each = 500;
  std::atomic<int> acked{0};
  std::atomic<int> twice{0};
  std::mutex mutex;
  std::set<weir::job_id> seen;
  std::vector<std::future<void>> ended;
  const auto produce = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < each; ++i)
      co_await queue.async_enqueue({.kind = "a", .priority = i % 3}, use_awaitable);
  };
  const auto consume = [&]() -> asio::awaitable<void> {
    while (acked < producers * each) {
      const auto leases =
          co_await queue.async_lease({.max = 2, .wait = 5ms, .lease_for = 1h}, use_awaitable);
      for (const weir::lease& l : leases) {
        {
          const std::lock_guard lock(mutex);
          if (!seen.insert(l.key.id).second) ++twice;
        }
        co_await queue.async_ack(l.key, use_awaitable);
        ++acked;
      }
      if (acked % 16 == 0) co_await queue.async_stats(use_awaitable);
    }
  };
  for (int i = 0; i < producers; ++i)
    ended.push_back(asio::co_spawn(asio::make_strand(threads), produce, asio::use_future));
  for (int i = 0; i < 4; ++i)
    ended.push_back(asio::co_spawn(asio::make_strand(threads), consume, asio::use_future));
  for (auto& e : ended) e.get();
  threads.join();
  BOOST_TEST(acked == producers * each);
  BOOST_TEST(twice == 0);
}

BOOST_AUTO_TEST_CASE(cancellations_race_jobs_and_none_is_lost) {
  asio::thread_pool threads(4);
  weir::memory_queue queue(threads.get_executor());
  for (int round = 0; round < 300; ++round) {
    // Each waiter and its signal live on a strand: a signal is not for several threads.
    struct waiter {
      explicit waiter(asio::thread_pool& t) : strand(asio::make_strand(t)) {}
      asio::strand<asio::thread_pool::executor_type> strand;
      asio::cancellation_signal signal;
      std::promise<std::size_t> ended;
    };
    std::deque<waiter> waiters;
    for (int i = 0; i < 4; ++i) {
      waiter& w = waiters.emplace_back(threads);
      const auto wait = [](weir::memory_queue& q) -> asio::awaitable<std::size_t> {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        co_await asio::this_coro::throw_if_cancelled(false);
        auto [ec, leases] =
            co_await q.async_lease({.wait = 1h, .lease_for = 1h}, asio::as_tuple(use_awaitable));
        co_return leases.size();
      };
      asio::co_spawn(w.strand, wait(queue),
                     asio::bind_cancellation_slot(
                         w.signal.slot(),
                         [&w](const std::exception_ptr&, std::size_t n) { w.ended.set_value(n); }));
    }
    std::thread producer([&] {
      for (int i = 0; i < 2; ++i) queue.async_enqueue({.kind = "a"}, asio::use_future).get();
    });
    std::vector<std::future<void>> emitted;
    for (waiter& w : waiters)
      emitted.push_back(asio::post(
          w.strand, asio::use_future([&w] { w.signal.emit(asio::cancellation_type::total); })));
    std::size_t taken = 0;
    for (auto& e : emitted) e.get();
    producer.join();
    for (waiter& w : waiters) taken += w.ended.get_future().get();
    while (taken < 2)
      taken +=
          queue.async_lease({.max = 2, .wait = 1h, .lease_for = 1h}, asio::use_future).get().size();
    BOOST_TEST_REQUIRE(taken == 2U);
  }
  threads.join();
}

BOOST_AUTO_TEST_SUITE_END()
