// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/keyed_rate_limiter.hpp>
#include <weir/rate_limiter.hpp>

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

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::errc;
using weir::keyed_rate_limiter;
using weir::rate_limiter;

BOOST_AUTO_TEST_SUITE(rate_limiter_stress)

namespace {

/// A coroutine that is cancelled while it waits; its signal is for its strand alone.
struct cancellable {
  explicit cancellable(asio::thread_pool& t) : strand(asio::make_strand(t)) {}
  asio::strand<asio::thread_pool::executor_type> strand;
  asio::cancellation_signal signal;
  std::promise<void> ended;
  std::future<void> emitted;

  template <typename F>
  void start(F f) {
    asio::co_spawn(strand, std::move(f),
                   asio::bind_cancellation_slot(signal.slot(), [this](const std::exception_ptr& e) {
                     if (e) std::terminate();
                     ended.set_value();
                   }));
  }
  void cancel() {
    emitted = asio::post(strand,
                         asio::use_future([this] { signal.emit(asio::cancellation_type::total); }));
  }
  void join() {
    ended.get_future().get();
    if (emitted.valid()) emitted.get();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(rate_holds_while_threads_take_wait_reserve_and_cancel) {
  asio::thread_pool threads(4);
  const auto began = weir::steady_clock::now();
  rate_limiter limiter(threads.get_executor(), {.rate = 20, .per = 1ms, .burst = 5});
  std::atomic<std::int64_t> used{0};
  std::deque<cancellable> waiting;
  for (int i = 0; i < 8; ++i)
    waiting.emplace_back(threads).start([&, i]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      co_await asio::this_coro::throw_if_cancelled(false);
      for (int n = 0; n < 50; ++n) {
        auto [ec] = co_await limiter.async_acquire(1 + i % 3, asio::as_tuple(asio::use_awaitable));
        if (!ec) used += 1 + i % 3;
      }
    });
  std::thread other([&] {
    for (int i = 0; i < 300; ++i) {
      used += limiter.try_acquire();
      auto reservation = limiter.reserve(2);
      if (i % 2 == 0)
        reservation.cancel();
      else
        used += 2;
      static_cast<void>(limiter.when());
    }
  });
  for (cancellable& w : waiting) w.cancel();
  other.join();
  for (cancellable& w : waiting) w.join();
  BOOST_TEST(limiter.waiters() == 0U);
  // What was reserved may be due later than now.
  const auto until = std::max(limiter.when(), weir::steady_clock::now()) - began;
  BOOST_TEST(used <= 5 + 20 * (until / 1ms + 1));
  threads.join();
}

BOOST_AUTO_TEST_CASE(rate_of_each_key_holds_while_threads_take_wait_and_evict) {
  asio::thread_pool threads(4);
  const auto began = weir::steady_clock::now();
  constexpr std::size_t keys = 6;
  keyed_rate_limiter<std::string> limiter(threads.get_executor(),
                                          {.rate = 4, .per = 1ms, .burst = 3}, 4);
  std::array<std::atomic<std::int64_t>, keys> used{};
  std::deque<cancellable> waiting;
  for (std::size_t i = 0; i < 12; ++i)
    waiting.emplace_back(threads).start([&, i]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      co_await asio::this_coro::throw_if_cancelled(false);
      for (std::size_t n = 0; n < 60; ++n) {
        const std::size_t key = (i + n) % keys;
        auto [ec] = co_await limiter.async_acquire(std::to_string(key), 1 + (i + n) % 3,
                                                   asio::as_tuple(asio::use_awaitable));
        if (!ec) used[key] += static_cast<std::int64_t>(1 + (i + n) % 3);
      }
    });
  std::thread other([&] {
    for (std::size_t i = 0; i < 20'000; ++i) {
      const std::size_t key = i % keys;
      used[key] += limiter.try_acquire(std::to_string(key));
      if (limiter.metrics().keys > 4) std::abort();
      static_cast<void>(limiter.when(std::to_string(key)));
    }
  });
  for (std::size_t i = 0; i < 12; i += 2) waiting[i].cancel();
  other.join();
  for (cancellable& w : waiting) w.join();
  const auto took = weir::steady_clock::now() - began;
  for (const auto& u : used) BOOST_TEST(u <= 3 + 4 * (took / 1ms + 1));
  threads.join();
}

BOOST_AUTO_TEST_CASE(each_waiter_hears_once_whoever_reconfigures_closes_and_destroys) {
  asio::thread_pool threads(4);
  for (int round = 0; round < 200; ++round) {
    auto limiter = std::make_unique<keyed_rate_limiter<int>>(
        threads.get_executor(), weir::rate_options{.rate = 1, .per = 100us, .burst = 2}, 3);
    std::atomic<int> heard{0};
    std::vector<std::future<void>> asked;
    for (int t = 0; t < 4; ++t)
      asked.push_back(asio::post(threads, asio::use_future([&, t] {
                                   for (int i = 0; i < 5; ++i)
                                     limiter->async_acquire((i + t) % 4, 1 + i % 2,
                                                            [&](weir::error_code) { ++heard; });
                                 })));
    limiter->reconfigure({.rate = 1, .per = 50us, .burst = 1 + round % 2});
    if (round % 3 == 0) limiter->close();
    for (auto& a : asked) a.get();
    limiter.reset();
    while (heard != 20) std::this_thread::yield();
  }
  threads.join();
  BOOST_TEST(true);
}

BOOST_AUTO_TEST_SUITE_END()
