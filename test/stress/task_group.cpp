// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/clock.hpp>
#include <weir/task_group.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::errc;
using weir::error_code;

BOOST_AUTO_TEST_SUITE(task_group_stress)

namespace {

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

asio::awaitable<void> pause_for(weir::duration d) {
  weir::steady_timer timer(co_await asio::this_coro::executor, d);
  co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace

// panjf2000/ants#374
BOOST_AUTO_TEST_CASE(limit_holds_under_64_producers_and_every_accepted_member_runs_once) {
  asio::thread_pool threads(4);
  weir::task_group<std::size_t> g(threads.get_executor(), {.limit = 5});
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<std::size_t> accepted{0};
  std::vector<std::future<void>> producers;
  for (int p = 0; p < 64; ++p)
    producers.push_back(asio::co_spawn(
        asio::make_strand(threads),
        [&, p]() -> asio::awaitable<void> {
          for (int i = 0; i < 50; ++i) {
            auto member = [&, i]() -> asio::awaitable<std::size_t> {
              const int now = inside.fetch_add(1) + 1;
              for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
              if (i % 8 == 0) co_await asio::post(asio::use_awaitable);
              inside.fetch_sub(1);
              co_return 1;
            };
            if ((p + i) % 4 == 0) {
              if (!g.try_spawn(std::move(member))) accepted.fetch_add(1);
            } else {
              co_await g.async_spawn(std::move(member), asio::use_awaitable);
              accepted.fetch_add(1);
            }
          }
        },
        asio::use_future));
  for (auto& p : producers) p.get();
  const auto result = g.async_wait(asio::use_future).get();
  threads.join();
  BOOST_TEST(most <= 5);
  BOOST_TEST(most >= 1);
  BOOST_TEST(result.succeeded == accepted);
  BOOST_TEST(result.outcomes.size() == accepted);
  BOOST_TEST(accepted >= 2400U);
}

BOOST_AUTO_TEST_CASE(cancellations_and_failures_race_the_ends_of_members) {
  asio::thread_pool threads(4);
  std::atomic<int> alive{0};
  struct counted {
    explicit counted(std::atomic<int>& n) : count(&n) { ++*count; }
    counted(const counted& o) : count(o.count) { ++*count; }
    ~counted() { --*count; }
    std::atomic<int>* count;
  };
  for (int round = 0; round < 600; ++round) {
    weir::task_group g(threads.get_executor(), {.limit = 4});
    auto producer = asio::co_spawn(
        asio::make_strand(threads),
        [&, round]() -> asio::awaitable<void> {
          error_code last;
          for (int i = 0; i < 12 && !last; ++i) {
            auto member = [i, round, c = counted(alive)]() -> asio::awaitable<void> {
              const counted here(c);
              if (i % 3 == 0) co_await pause_for(1us);
              if (i % 4 == 1) co_await pause_for(1h);
              if (round % 3 == 0 && i == 7) throw std::runtime_error("failed");
              if (i % 4 == 2) co_await asio::post(asio::use_awaitable);
            };
            auto op = g.async_spawn(std::move(member), as_tuple);
            std::tie(last) = co_await std::move(op);
          }
        },
        asio::use_future);
    std::thread canceller([&] {
      for (int i = 0; i < round % 7; ++i) std::this_thread::yield();
      g.cancel();
    });
    producer.get();
    canceller.join();
    auto wait = asio::co_spawn(
        threads,
        [&]() -> asio::awaitable<std::size_t> {
          auto [e, r] = co_await g.async_wait(as_tuple);
          co_return e ? r.succeeded + r.failed + r.cancelled : 0;
        },
        asio::use_future);
    BOOST_TEST_REQUIRE(wait.get() <= 12U);
    BOOST_TEST_REQUIRE(alive == 0);
    BOOST_TEST_REQUIRE(g.members() == 0U);
  }
  threads.join();
}

BOOST_AUTO_TEST_CASE(outer_cancellation_races_inner_groups_from_another_thread) {
  asio::thread_pool threads(4);
  for (int round = 0; round < 200; ++round) {
    weir::task_group outer(threads.get_executor(), {.limit = 3, .on_error = weir::collect_all});
    for (int i = 0; i < 3; ++i) {
      auto member = []() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        weir::task_group inner(executor, {.limit = 2});
        for (int k = 0; k < 2; ++k) {
          auto leaf = [k]() -> asio::awaitable<void> { co_await pause_for(k * 1h); };
          inner.try_spawn(std::move(leaf));
        }
        co_await inner.async_wait(asio::use_awaitable);
      };
      outer.try_spawn(std::move(member));
    }
    auto wait = outer.async_wait(asio::use_future);
    for (int i = 0; i < round % 5; ++i) std::this_thread::yield();
    outer.cancel();
    const auto result = wait.get();
    BOOST_TEST_REQUIRE(result.cancelled == 3U);
  }
  threads.join();
}

BOOST_AUTO_TEST_CASE(groups_are_made_and_destroyed_by_many_with_members_that_race_the_end) {
  asio::thread_pool threads(4);
  std::vector<std::future<void>> all;
  for (int p = 0; p < 8; ++p)
    all.push_back(asio::co_spawn(
        asio::make_strand(threads),
        [p]() -> asio::awaitable<void> {
          const auto ex = co_await asio::this_coro::executor;
          for (int i = 0; i < 200; ++i) {
            weir::task_group g(ex, {.limit = 3,
                                    .on_error = p % 2 ? weir::quorum(1) : weir::tolerate(1),
                                    .unwaited = weir::unwaited_policy::log});
            for (int k = 0; k < 3; ++k) {
              auto member = [k]() -> asio::awaitable<void> {
                if (k == 1) co_await asio::post(asio::use_awaitable);
                if (k == 2) co_await pause_for(1us);
              };
              g.try_spawn(std::move(member));
            }
            co_await g.async_wait(asio::use_awaitable);
          }
        },
        asio::use_future));
  for (auto& a : all) a.get();
  threads.join();
}

BOOST_AUTO_TEST_SUITE_END()
