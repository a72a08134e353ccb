// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/pipeline.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <ranges>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(pipeline_stress)

namespace {

struct inside_scope {
  explicit inside_scope(std::atomic<int>& c) : count(c) { ++count; }
  inside_scope(const inside_scope&) = delete;
  inside_scope& operator=(const inside_scope&) = delete;
  ~inside_scope() { --count; }
  std::atomic<int>& count;
};

asio::awaitable<int> hop(int i) {
  co_await asio::post(asio::use_awaitable);
  co_return i;
}

}  // namespace

BOOST_AUTO_TEST_CASE(pipelines_share_threads_a_queue_and_a_limiter) {
  asio::thread_pool threads(4);
  weir::bounded_queue<int> queue(threads.get_executor(), 4, weir::block);
  weir::rate_limiter limiter({.rate = 1000000, .per = 1s, .burst = 10});
  std::vector<std::future<void>> senders;
  std::vector<std::future<int>> receivers;
  for (int i = 0; i < 4; ++i)
    senders.push_back(asio::co_spawn(threads,
                                     weir::from(std::views::iota(0, 300)) |
                                         weir::map(hop, {.concurrency = 4}) | weir::into(queue),
                                     asio::use_future));
  for (int i = 0; i < 3; ++i)
    receivers.push_back(
        asio::co_spawn(threads,
                       weir::from(queue) | weir::throttle(limiter) |
                           weir::map(threads.get_executor(), hop,
                                     {.concurrency = 3, .order = weir::input_order(6)}) |
                           weir::map(threads.get_executor(), std::identity(), {.concurrency = 6}) |
                           weir::batch(7, 1ms) | weir::unbatch() | weir::fold(0, std::plus<>()),
                       asio::use_future));
  for (auto& s : senders) s.get();
  queue.close();
  int sum = 0;
  for (auto& r : receivers) sum += r.get();
  threads.join();
  BOOST_TEST(sum == 4 * 299 * 300 / 2);
}

// A6 and A7.
BOOST_AUTO_TEST_CASE(cancellations_race_ends_and_nothing_is_left) {
  asio::thread_pool threads(4);
  std::atomic<int> inside{0};
  std::atomic<int> ended{0};
  constexpr int rounds = 400;
  const auto f = [&](int i) -> asio::awaitable<int> {
    const inside_scope in(inside);
    co_await asio::post(asio::use_awaitable);
    if (i % 5 == 4) {
      weir::steady_timer timer(co_await asio::this_coro::executor, 1ms);
      co_await timer.async_wait(asio::use_awaitable);
    }
    co_return i;
  };
  const auto compute = [&](int i) {
    const inside_scope in(inside);
    return i;
  };
  std::vector<std::future<void>> done;
  for (int round = 0; round < rounds; ++round) {
    struct one {
      explicit one(asio::thread_pool& t) : strand(asio::make_strand(t)) {}
      asio::strand<asio::thread_pool::executor_type> strand;
      asio::cancellation_signal signal;
      std::promise<void> ended;
    };
    const auto o = std::make_shared<one>(threads);
    done.push_back(o->ended.get_future());
    auto pipeline =
        weir::from(std::views::iota(0, 20)) | weir::map(f, {.concurrency = 3}) |
        weir::map(threads.get_executor(), f,
                  {.concurrency = 2, .order = weir::input_order(3, 5ms)}) |
        weir::map(threads.get_executor(), compute, {.concurrency = 3}) |
        weir::broadcast(weir::take(10) | weir::for_each([](int) {}),
                        weir::batch(3, 1ms) | weir::for_each([](const std::vector<int>&) {}));
    asio::post(o->strand, [&, o, p = std::move(pipeline)]() mutable {
      asio::co_spawn(
          o->strand, std::move(p),
          asio::bind_cancellation_slot(o->signal.slot(), [&, o](const std::exception_ptr&) {
            ++ended;
            o->ended.set_value();
          }));
    });
    if (round % 2)
      asio::post(threads, [o] {
        asio::post(o->strand, [o] { o->signal.emit(asio::cancellation_type::terminal); });
      });
  }
  for (auto& d : done) d.get();
  BOOST_TEST(ended == rounds);
  BOOST_TEST(inside == 0);
  threads.join();
}

BOOST_AUTO_TEST_CASE(many_items_go_through_five_stages) {
  asio::thread_pool threads(2);
  constexpr int items = 200000;
  const auto noop = [](int i) -> asio::awaitable<int> { co_return i; };
  const auto count =
      asio::co_spawn(threads,
                     weir::from(std::views::iota(0, items)) | weir::map(noop, {.concurrency = 8}) |
                         weir::batch(100) | weir::unbatch() | weir::map([](int i) { return i; }) |
                         weir::fold(0, [](int n, int) { return n + 1; }),
                     asio::use_future)
          .get();
  threads.join();
  BOOST_TEST(count == items);
}

BOOST_AUTO_TEST_SUITE_END()
