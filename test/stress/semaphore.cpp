// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/semaphore.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using weir::permit;

BOOST_AUTO_TEST_SUITE(semaphore_stress)

BOOST_AUTO_TEST_CASE(limit_holds_while_threads_take_give_resize_and_ask) {
  asio::thread_pool threads(4);
  weir::semaphore s(threads.get_executor(), 3);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::future<void>> ended;
  for (int i = 0; i < 16; ++i)
    ended.push_back(asio::co_spawn(
        asio::make_strand(threads),
        [&, i]() -> asio::awaitable<void> {
          for (int round = 0; round < 200; ++round) {
            const permit p = co_await s.async_acquire(1 + (i + round) % 3, asio::use_awaitable);
            const int now =
                inside.fetch_add(static_cast<int>(p.count())) + static_cast<int>(p.count());
            for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
            if (round % 8 == 0) co_await asio::post(asio::use_awaitable);
            inside.fetch_sub(static_cast<int>(p.count()));
          }
        },
        asio::use_future));
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) {
      s.resize(3 + i % 3);
      const permit p = s.try_acquire();
      if (s.in_use() < 0 || s.waiters() > 16) std::abort();
    }
  });
  for (auto& e : ended) e.get();
  other.join();
  threads.join();
  BOOST_TEST(s.in_use() == 0);
  BOOST_TEST(most <= 5);
}

BOOST_AUTO_TEST_CASE(cancellations_race_grants_and_nothing_is_lost) {
  asio::thread_pool threads(4);
  weir::semaphore s(threads.get_executor(), 1);
  std::atomic<int> granted{0};
  std::atomic<int> aborted{0};
  for (int round = 0; round < 300; ++round) {
    permit held = s.async_acquire(asio::use_future).get();
    // Each waiter and its signal live on a strand: a signal is not for several threads.
    struct waiter {
      explicit waiter(asio::thread_pool& t) : strand(asio::make_strand(t)) {}
      asio::strand<asio::thread_pool::executor_type> strand;
      asio::cancellation_signal signal;
      std::promise<void> ended;
    };
    std::deque<waiter> waiters;
    for (int i = 0; i < 4; ++i) {
      waiter& w = waiters.emplace_back(threads);
      asio::co_spawn(
          w.strand,
          [&]() -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            co_await asio::this_coro::throw_if_cancelled(false);
            auto [ec, p] = co_await s.async_acquire(1, asio::as_tuple(asio::use_awaitable));
            (ec ? aborted : granted).fetch_add(1);
          },
          asio::bind_cancellation_slot(w.signal.slot(),
                                       [&w](const std::exception_ptr&) { w.ended.set_value(); }));
    }
    std::thread releaser([&] { held.release(); });
    std::vector<std::future<void>> emitted;
    for (std::size_t i = 0; i < 4; i += 2)
      emitted.push_back(asio::post(waiters[i].strand, asio::use_future([&w = waiters[i]] {
                                     w.signal.emit(asio::cancellation_type::total);
                                   })));
    for (waiter& w : waiters) w.ended.get_future().get();
    for (auto& e : emitted) e.get();
    releaser.join();
    BOOST_TEST_REQUIRE(s.waiters() == 0U);
  }
  threads.join();
  BOOST_TEST(s.in_use() == 0);
  BOOST_TEST(granted + aborted == 1200);
  BOOST_TEST(granted >= 600);
}

BOOST_AUTO_TEST_CASE(contexts_of_waiters_end_the_moment_they_are_served) {
  asio::thread_pool threads(1);
  weir::semaphore s(threads.get_executor(), 1);
  int served = 0;
  for (int i = 0; i < 2000; ++i) {
    permit held = s.try_acquire();
    BOOST_REQUIRE(held);
    // Destroyed when it has run out of work, while the other thread may still be waking it.
    asio::io_context context(1);
    s.async_acquire(
        1, asio::bind_executor(context, [&](weir::error_code, const permit&) { ++served; }));
    asio::post(threads, [p = std::move(held)]() mutable { p.release(); });
    context.run();
  }
  BOOST_TEST(served == 2000);
}

BOOST_AUTO_TEST_SUITE_END()
