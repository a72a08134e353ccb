// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/adaptive_limit.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::limited_call;

BOOST_AUTO_TEST_SUITE(adaptive_limit_stress)

namespace {

void raise_to(std::atomic<int>& peak, int value) {
  int seen = peak.load();
  while (seen < value && !peak.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_more_than_the_most_are_inside_while_threads_report_and_the_limit_moves) {
  asio::thread_pool threads(4);
  constexpr int most = 5;
  weir::adaptive_limit limit(
      threads.get_executor(),
      weir::aimd_options{.initial = 2, .max = most, .increase = 3, .backoff = 0.5});
  std::atomic<int> inside{0}, peak{0}, told{0}, telling{0}, overlaps{0};
  limit.drive([&](int n) {
    if (telling.fetch_add(1) != 0) overlaps.fetch_add(1);
    std::this_thread::yield();  // time for others to be told of something newer
    told.store(n);
    telling.fetch_sub(1);
  });
  std::atomic<std::uint64_t> samples{0}, ignored{0};
  std::vector<std::future<void>> ended;
  for (int i = 0; i < 16; ++i)
    ended.push_back(asio::co_spawn(
        asio::make_strand(threads),
        [&, i]() -> asio::awaitable<void> {
          for (int round = 0; round < 200; ++round) {
            limited_call c = round % 3 == 0 ? limit.try_acquire() : limited_call();
            if (!c) c = co_await limit.async_acquire(asio::use_awaitable);
            raise_to(peak, inside.fetch_add(1) + 1);
            if (round % 8 == 0) co_await asio::post(asio::use_awaitable);
            inside.fetch_sub(1);
            const int how = (i + round) % 5;
            (how == 0 ? ignored : samples).fetch_add(1);
            if (how == 1) c.dropped();
            if (how >= 2) c.success();
          }
        },
        asio::use_future));
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) {
      const auto m = limit.metrics();
      if (m.limit < 1 || m.limit > most || m.in_flight < 0 || m.waiting > 16) std::abort();
      if (i % 8 == 0) {
        limit.measure().success();
        samples.fetch_add(1);
      }
    }
  });
  for (auto& e : ended) e.get();
  other.join();
  threads.join();
  BOOST_TEST(peak.load() <= most);
  BOOST_TEST(overlaps.load() == 0);
  const auto m = limit.metrics();
  BOOST_TEST(told.load() == m.limit);
  BOOST_TEST(m.in_flight == 0);
  BOOST_TEST(m.samples == samples.load());
  BOOST_TEST(m.ignored == ignored.load());
}

// Two threads that each hand on the limit which they have found, in the wrong order, would leave
// the older one in force.
BOOST_AUTO_TEST_CASE(last_limit_that_a_target_is_told_is_the_one_in_force) {
  asio::thread_pool threads(1);
  for (int round = 0; round < 1000; ++round) {
    weir::adaptive_limit limit(threads.get_executor(),
                               weir::aimd_options{.initial = 4, .max = 8, .increase = 8});
    std::atomic<int> told{0};
    limit.drive([&](int n) {
      std::this_thread::yield();
      told.store(n);
    });
    std::atomic<bool> go{false};
    const auto report = [&](bool well) {
      while (!go.load()) std::this_thread::yield();
      for (int i = 0; i < 8; ++i) {
        limited_call c = limit.measure();
        if (well)
          c.success();
        else
          c.dropped();
      }
    };
    std::thread one([&] { report(true); });
    std::thread two([&] { report(false); });
    go.store(true);
    one.join();
    two.join();
    BOOST_TEST_REQUIRE(told.load() == limit.limit());
    int places = 0;
    std::vector<limited_call> all;
    while (auto c = limit.try_acquire()) {
      all.push_back(std::move(c));
      ++places;
    }
    BOOST_TEST_REQUIRE(places == limit.limit());
  }
}

BOOST_AUTO_TEST_CASE(limits_are_destroyed_while_their_calls_are_reported) {
  asio::thread_pool threads(3);
  for (int round = 0; round < 500; ++round) {
    std::optional<weir::adaptive_limit> limit(std::in_place, threads.get_executor(),
                                              weir::gradient_options{.initial = 4, .window = 1});
    const auto told = std::make_shared<std::atomic<int>>(0);
    limit->drive([told](int) { told->fetch_add(1); });
    std::vector<std::future<void>> ended;
    for (int i = 0; i < 8; ++i) {
      auto call = limit->async_acquire(asio::use_future([i](weir::error_code ec, limited_call c) {
        if (ec) return;
        if (i % 3 == 0) c.dropped();
        if (i % 3 == 1) c.success();
      }));
      ended.push_back(std::move(call));
    }
    limit.reset();
    for (auto& e : ended) e.get();
  }
  threads.join();
}

BOOST_AUTO_TEST_SUITE_END()
