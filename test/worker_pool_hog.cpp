// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Tasks that hold their thread: who is found, when, and by whom that is seen.

#include "pool_fixture.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <semaphore>
#include <sstream>
#include <thread>
#include <vector>

using namespace weir_test;

BOOST_AUTO_TEST_SUITE(worker_pool_hog)

namespace {

constexpr weir::duration short_while = 5ms;

class hog_ear final : public weir::pool_observer {
 public:
  void on_task_hogging(const weir::task_event& t, weir::duration held) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      ids_.emplace_back(t.id);
      shortest_ = std::min(shortest_, held);
    }
    heard_.release();
  }

  /// Blocks the thread of a task until the task has been told of.
  void wait() {
    if (!heard_.try_acquire_for(30s)) missed_ = true;
  }
  /// A task was not told of. Not checked where it waits: Boost.Test is of one thread.
  bool missed() const { return missed_; }

  std::vector<std::string> ids() const {
    const std::lock_guard lock(mutex_);
    return ids_;
  }
  weir::duration shortest() const {
    const std::lock_guard lock(mutex_);
    return shortest_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> ids_;
  weir::duration shortest_ = weir::duration::max();
  std::counting_semaphore<> heard_{0};
  std::atomic<bool> missed_{false};
};

/// Holds its thread until it has been told of, `times` times, with a suspension between them.
///
/// None after the last: on a busy machine a turn that only ends the task may be told of too.
auto hog(const std::shared_ptr<hog_ear>& ear, int times = 1) {
  return [ear, times](task_context&) -> asio::awaitable<void> {
    for (int i = 0; i < times; ++i) {
      if (i != 0) co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
      ear->wait();
    }
  };
}

weir::task named(std::string id, weir::task_function fn) {
  return {.id = std::move(id), .user = {}, .fn = std::move(fn)};
}

/// Computes for so long, and no more is known of it.
void hold_thread(weir::duration d) {
  const auto until = weir::steady_clock::now() + d;
  while (weir::steady_clock::now() < until) std::this_thread::yield();
}

template <typename Condition>
void until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_task_that_blocks_is_told_of_and_counted_until_it_lets_go) {
  const auto ear = std::make_shared<hog_ear>();
  weir::worker_pool p{{.workers = 2, .max_per_user = 0, .hog_after = short_while, .observer = ear}};
  std::binary_semaphore go_on(0);
  BOOST_TEST(!p.submit(named("wide", [&](task_context&) -> asio::awaitable<void> {
    ear->wait();
    go_on.acquire();
    co_return;
  })));
  until([&] { return p.metrics().hogging == 1; });
  BOOST_TEST(!ear->missed());
  BOOST_TEST(p.metrics().hogged == 1U);
  BOOST_TEST((ear->ids() == std::vector<std::string>{"wide"}));
  BOOST_TEST((ear->shortest() >= short_while));
  const auto dump = p.dump();
  BOOST_REQUIRE(dump.tasks.size() == 1U);
  BOOST_TEST((dump.tasks[0].hogs >= short_while));
  std::ostringstream text;
  text << dump;
  BOOST_TEST(text.str().find(", holds its thread for 0.") != std::string::npos);
  go_on.release();
  until([&] { return p.metrics().hogging == 0; });
  until([&] { return p.metrics().completed == 1; });
  BOOST_TEST(p.metrics().hogged == 1U);
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(each_stretch_is_told_of_once) {
  const auto ear = std::make_shared<hog_ear>();
  weir::worker_pool p{{.workers = 1, .max_per_user = 0, .hog_after = short_while, .observer = ear}};
  std::atomic<bool> ended{false};
  BOOST_TEST(!p.submit(named("thrice", [&](task_context& c) -> asio::awaitable<void> {
    co_await hog(ear, 3)(c);
    ended = true;
  })));
  until([&] { return ended.load(); });
  BOOST_TEST(!ear->missed());
  BOOST_TEST(ear->ids().size() == 3U);
  BOOST_TEST(p.metrics().hogged == 3U);
}

BOOST_AUTO_TEST_CASE(two_tasks_of_one_worker_are_two_though_it_does_not_suspend_between_them) {
  const auto ear = std::make_shared<hog_ear>();
  weir::worker_pool p{{.workers = 1, .max_per_user = 0, .hog_after = short_while, .observer = ear}};
  const auto block = [ear](task_context&) -> asio::awaitable<void> {
    ear->wait();
    co_return;
  };
  for (const char* id : {"one", "two", "three"}) BOOST_TEST(!p.submit(named(id, block)));
  until([&] { return p.metrics().completed == 3; });
  BOOST_TEST((ear->ids() == std::vector<std::string>{"one", "two", "three"}));
}

BOOST_AUTO_TEST_CASE(an_observer_is_not_needed_and_the_pool_may_end_with_a_hog_in_it) {
  std::optional<weir::worker_pool> p;
  p.emplace(weir::pool_options{.workers = 1, .max_per_user = 0, .hog_after = short_while});
  BOOST_TEST(!p->submit(named("last", [](task_context& c) -> asio::awaitable<void> {
    const auto token = c.stop_token();
    while (!token.stop_requested()) std::this_thread::yield();
    co_return;
  })));
  until([&] { return p->metrics().hogged == 1; });
  p.reset();
}

BOOST_AUTO_TEST_CASE(nobody_looks_where_it_is_off) {
  const auto ear = std::make_shared<hog_ear>();
  weir::worker_pool p{{.workers = 1, .max_per_user = 0, .observer = ear}};
  BOOST_TEST(!p.submit(named("", [](task_context&) -> asio::awaitable<void> {
    hold_thread(4 * short_while);
    co_return;
  })));
  until([&] { return p.metrics().completed == 1; });
  BOOST_TEST(ear->ids().empty());
}

BOOST_AUTO_TEST_CASE(on_a_borrowed_context_a_hog_is_seen_by_a_thread_that_is_free) {
  const auto ear = std::make_shared<hog_ear>();
  asio::io_context context;
  weir::worker_pool p(context.get_executor(),
                      {.workers = 1, .max_per_user = 0, .hog_after = short_while, .observer = ear});
  BOOST_TEST(!p.submit(named("seen", hog(ear))));
  std::thread other([&] { context.run(); });
  context.run();  // ends: a pool that has nothing to run has no look to take
  other.join();
  BOOST_TEST((ear->ids() == std::vector<std::string>{"seen"}));
  BOOST_TEST(p.metrics().hogging == 0U);
}

BOOST_AUTO_TEST_CASE(on_a_borrowed_context_of_one_thread_no_hog_is_seen) {
  const auto ear = std::make_shared<hog_ear>();
  asio::io_context context(1);
  weir::worker_pool p(context.get_executor(),
                      {.workers = 1, .max_per_user = 0, .hog_after = short_while, .observer = ear});
  BOOST_TEST(!p.submit(named("unseen", [](task_context&) -> asio::awaitable<void> {
    co_await sleep_for(2 * short_while);
    hold_thread(4 * short_while);
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  })));
  context.run();
  BOOST_TEST(ear->ids().empty());
  BOOST_TEST(p.metrics().completed == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_task_that_awaits_is_no_hog_however_long_and_no_timer_is_left,
                        virtual_pool) {
  auto& p = make({.workers = 70, .queue_size = 100, .max_per_user = 0, .hog_after = 1ms});
  for (int i = 0; i < 100; ++i)
    BOOST_TEST(!p.submit(named("", sleeper(std::chrono::milliseconds(i % 4 * 10)))));
  time.run();
  BOOST_TEST(p.metrics().completed == 100U);
  BOOST_TEST(p.metrics().hogged == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
