// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/with_timeout.hpp>

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
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::errc;

BOOST_AUTO_TEST_SUITE(with_timeout_stress)

namespace {

asio::awaitable<int> work(weir::duration takes) {
  weir::steady_timer timer(co_await asio::this_coro::executor, takes);
  co_await timer.async_wait(asio::use_awaitable);
  co_return 1;
}

/// How many came to each end.
struct tally {
  std::atomic<int> value{0};
  std::atomic<int> late{0};
  std::atomic<int> aborted{0};
  std::atomic<int> on_end{0};
};

asio::awaitable<void> count(asio::awaitable<int> timed, tally& t) {
  try {
    co_await std::move(timed);
    ++t.value;
  } catch (const boost::system::system_error& e) {
    ++(e.code() == errc::deadline_exceeded ? t.late : t.aborted);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(four_hundred_timed_operations_without_a_strand_of_the_caller) {
  asio::thread_pool threads(4);
  tally t;
  std::vector<std::future<void>> ended;
  for (int i = 0; i < 400; ++i)
    ended.push_back(asio::co_spawn(
        threads, count(weir::with_timeout(work(1ms * (i % 4)), 1ms * (1 + i % 3)), t),
        asio::use_future));
  for (auto& e : ended) e.get();
  threads.join();
  BOOST_TEST(t.value + t.late == 400);
  BOOST_TEST(t.aborted == 0);
}

BOOST_AUTO_TEST_CASE(answers_ahead_of_the_end_race_it_and_nothing_is_told_twice) {
  asio::thread_pool threads(4);
  tally t;
  std::vector<std::future<void>> ended;
  for (int i = 0; i < 400; ++i) {
    auto on_end = [&t](const std::exception_ptr&, std::optional<int>) { ++t.on_end; };
    ended.push_back(
        asio::co_spawn(threads,
                       count(weir::with_timeout(work(1ms * (i % 3)), 1ms * (1 + i % 2),
                                                weir::timeout_options{50us * (i % 4)}, on_end),
                             t),
                       asio::use_future));
  }
  for (auto& e : ended) e.get();
  threads.join();
  BOOST_TEST(t.value + t.late == 400);
  // A caller that was told is not told of the same end again.
  BOOST_TEST(t.on_end <= t.late);
}

BOOST_AUTO_TEST_CASE(three_thousand_cancellations_race_completion_and_deadline) {
  asio::thread_pool threads(4);
  tally t;
  // A caller that is cancelled lives on a strand with its signal: a signal is not for several
  // threads.
  struct caller {
    explicit caller(asio::thread_pool& pool) : strand(asio::make_strand(pool)) {}
    asio::strand<asio::thread_pool::executor_type> strand;
    asio::cancellation_signal signal;
    std::promise<void> ended;
  };
  for (int round = 0; round < 30; ++round) {
    std::deque<caller> callers;
    for (int i = 0; i < 100; ++i) {
      caller& c = callers.emplace_back(threads);
      const auto body = [](int n, tally& counts) -> asio::awaitable<void> {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        co_await count(weir::with_timeout(work(100us * (n % 4)), 100us * (1 + n % 3)), counts);
      };
      asio::post(c.strand, [&c, &t, body, i] {
        asio::co_spawn(
            c.strand, body(i, t),
            asio::bind_cancellation_slot(c.signal.slot(),
                                         [&c](const std::exception_ptr&) { c.ended.set_value(); }));
      });
    }
    std::vector<std::future<void>> emitted;
    for (caller& c : callers)
      emitted.push_back(asio::post(
          c.strand, asio::use_future([&c] { c.signal.emit(asio::cancellation_type::total); })));
    for (caller& c : callers) c.ended.get_future().get();
    for (auto& e : emitted) e.get();
  }
  threads.join();
  BOOST_TEST(t.value + t.late + t.aborted == 3000);
}

BOOST_AUTO_TEST_SUITE_END()
