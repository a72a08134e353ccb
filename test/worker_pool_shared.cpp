// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Pools on the executor of another pool: limits of their own on threads that they share.

#include "pool_fixture.hpp"

#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <optional>
#include <thread>

using namespace weir_test;

BOOST_AUTO_TEST_SUITE(worker_pool_shared)

namespace {

weir::pool_options limits(int workers) {
  return {.workers = workers, .threads = 2, .queue_size = 1000, .max_per_user = 0, .grace = 10ms};
}

/// Waits for ever, and is seen where its frame is not destroyed.
auto endless(std::atomic<int>& begun) {
  return [&begun, alive = counted()](task_context&) -> asio::awaitable<void> {
    const counted in_frame;
    ++begun;
    co_await sleep_for(24h);
  };
}

void until(const std::atomic<int>& value, int n) {
  while (value < n) std::this_thread::yield();
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(each_has_its_own_limit_and_the_parent_does_not_count_them, virtual_pool) {
  auto& parent = make(limits(4));
  weir::worker_pool sub(parent.get_executor(), limits(1));
  for (int i = 0; i < 8; ++i) {
    BOOST_TEST(!parent.submit(task_of("", sleeper(1s))));
    BOOST_TEST(!sub.submit(task_of("", sleeper(1s))));
  }
  time.run_for(500ms);
  BOOST_TEST(parent.metrics().active == 4U);
  BOOST_TEST(sub.metrics().active == 1U);
  time.run();
  BOOST_TEST(parent.metrics().submitted == 8U);
  BOOST_TEST(sub.metrics().completed == 8U);
}

BOOST_FIXTURE_TEST_CASE(workers_are_weights_where_there_is_always_work, virtual_pool) {
  auto& parent = make(limits(1));
  weir::worker_pool heavy(parent.get_executor(), limits(3));
  weir::worker_pool light(parent.get_executor(), limits(1));
  for (int i = 0; i < 400; ++i) {
    BOOST_TEST(!heavy.submit(task_of("", sleeper(10ms))));
    BOOST_TEST(!light.submit(task_of("", sleeper(10ms))));
  }
  time.run_for(1s);
  BOOST_TEST(heavy.metrics().completed == 300U);
  BOOST_TEST(light.metrics().completed == 100U);
  time.run();
}

BOOST_AUTO_TEST_CASE(a_sub_pool_that_goes_first_ends_its_own_tasks_and_no_others) {
  std::atomic<int> begun{0};
  {
    weir::worker_pool parent{limits(2)};
    std::optional<weir::worker_pool> sub(std::in_place, parent.get_executor(), limits(1));
    BOOST_TEST(!sub->submit(task_of("", endless(begun))));
    until(begun, 1);
    auto alive = co_spawn(
        parent, {}, [](task_context&) -> asio::awaitable<int> { co_return 7; }, asio::use_future);
    sub.reset();
    BOOST_TEST(alive.get() == 7);
    BOOST_TEST(!parent.submit(task_of("", nothing())));
  }
  BOOST_TEST(counted::alive == 0);
}

BOOST_AUTO_TEST_CASE(a_parent_that_goes_first_closes_the_sub_pool_and_ends_its_tasks) {
  std::atomic<int> begun{0};
  std::optional<weir::worker_pool> parent(std::in_place, limits(2));
  {
    weir::worker_pool sub(parent->get_executor(), limits(2));
    for (int i = 0; i < 4; ++i) BOOST_TEST(!sub.submit(task_of("", endless(begun))));
    until(begun, 2);
    parent.reset();
    BOOST_TEST(counted::alive == 0);
    BOOST_TEST(sub.submit(task_of("", nothing())) == errc::pool_closed);
    check_at_rest(sub.metrics());
    BOOST_TEST(sub.metrics().cancelled == 4U);
  }
}

BOOST_AUTO_TEST_CASE(a_parent_that_is_shut_down_lets_the_sub_pool_work_until_it_is_destroyed) {
  weir::worker_pool parent{limits(1)};
  weir::worker_pool sub(parent.get_executor(), limits(1));
  std::atomic<bool> go_on{false};
  std::atomic<int> begun{0};
  BOOST_TEST(!sub.submit(task_of("", [&](task_context&) -> asio::awaitable<void> {
    ++begun;
    while (!go_on) std::this_thread::yield();
    co_return;
  })));
  until(begun, 1);
  const auto report = parent.async_shutdown({.deadline = 10s}, asio::use_future).get();
  BOOST_TEST(report.drained, "the work of the sub pool is not the parent's");
  go_on = true;
  auto later = co_spawn(
      sub, {}, [](task_context&) -> asio::awaitable<int> { co_return 3; }, asio::use_future);
  BOOST_TEST(later.get() == 3);
  BOOST_TEST(sub.async_shutdown({.deadline = 10s}, asio::use_future).get().drained);
}

BOOST_AUTO_TEST_CASE(a_sub_pool_that_is_idle_does_not_hold_its_parent) {
  asio::io_context context;
  weir::worker_pool parent(context.get_executor(), limits(2));
  weir::worker_pool sub(parent.get_executor(), limits(2));
  weir::worker_pool sub_of_sub(sub.get_executor(), limits(2));
  BOOST_TEST(!sub_of_sub.submit(task_of("", nothing())));
  context.run();
  BOOST_TEST(sub_of_sub.metrics().completed == 1U);

  std::optional<weir::worker_pool> owner(std::in_place, limits(1));
  weir::worker_pool on_owner(owner->get_executor(), limits(1));
  owner.reset();
  BOOST_TEST(on_owner.submit(task_of("", nothing())) == errc::pool_closed);
}

BOOST_AUTO_TEST_CASE(the_three_of_them_go_in_any_order) {
  std::array<int, 3> order{0, 1, 2};
  do {
    std::atomic<int> begun{0};
    std::array<std::optional<weir::worker_pool>, 3> pools;
    pools[0].emplace(limits(1));
    pools[1].emplace(pools[0]->get_executor(), limits(1));
    pools[2].emplace(pools[1]->get_executor(), limits(1));
    for (auto& p : pools)
      for (int i = 0; i < 2; ++i) BOOST_TEST(!p->submit(task_of("", endless(begun))));
    until(begun, 3);
    for (const int i : order) pools[static_cast<std::size_t>(i)].reset();
    BOOST_TEST(counted::alive == 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

BOOST_AUTO_TEST_SUITE_END()
