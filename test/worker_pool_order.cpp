// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Which of those who wait goes first, who has waited for too long, and what the pool tells of it.

#include "pool_fixture.hpp"

#include <weir/pool_observer.hpp>
#include <weir/semaphore.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace weir_test;

BOOST_FIXTURE_TEST_SUITE(worker_pool_order, virtual_pool)

namespace {

/// A task that notes its name when it starts, and takes a millisecond.
weir::task noting(std::string& order, char name, std::string user, int priority = 0) {
  weir::task t = task_of(std::move(user), [&order, name](task_context&) -> asio::awaitable<void> {
    order.push_back(name);
    return sleep_for(1ms);
  });
  t.priority = priority;
  return t;
}

/// What an observer has heard, a word for each call.
struct listener : weir::pool_observer {
  std::vector<std::string> heard;
  std::vector<weir::task_event> events;

  void note(const char* what, const weir::task_event& task, const std::string& more = {}) {
    heard.push_back(std::string(what) + ' ' + std::string(task.id) + more);
    events.push_back(task);
  }
  void on_task_started(const weir::task_event& t) noexcept override { note("started", t); }
  void on_task_ended(const weir::task_event& t, weir::task_outcome how,
                     error_code why) noexcept override {
    const char* const names[] = {" completed", " failed", " timed out", " cancelled"};
    note("ended", t, names[static_cast<int>(how)] + (why ? ": " + why.message() : std::string()));
  }
  void on_task_failed(std::string_view id, std::string_view,
                      const std::exception_ptr&) noexcept override {
    heard.push_back("failed " + std::string(id));
  }
  void on_task_stuck(const weir::task_event& t) noexcept override { note("stuck", t); }
  void on_rejected(std::string_view user, error_code why) noexcept override {
    heard.push_back("rejected " + std::string(user) + ": " + why.message());
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(priority_starts_the_greater_first) {
  weir::worker_pool& p = make({.workers = 1,
                               .queue_size = 10,
                               .max_per_user = 0,
                               .discipline = weir::discipline::priority});
  std::string order;
  p.submit(noting(order, '-', ""));
  time.settle();
  for (const auto& [name, priority] : std::map<char, int>{{'a', 0}, {'b', 5}, {'c', 0}, {'d', 7}})
    p.submit(noting(order, name, "", priority));
  time.run();
  BOOST_TEST(order == "-dbac");
}

BOOST_AUTO_TEST_CASE(aging_lets_nobody_starve) {
  weir::worker_pool& p = make({.workers = 1,
                               .queue_size = 10,
                               .max_per_user = 0,
                               .discipline = weir::discipline::priority,
                               .aging = 3ms});
  std::string order;
  p.submit(noting(order, '-', ""));
  time.settle();
  p.submit(noting(order, 'l', "", 0));
  // One of greater priority each millisecond. Three are ahead of the low one, the fourth is its
  // equal, and so goes first too.
  for (int i = 0; i < 9; ++i) {
    p.submit(noting(order, 'h', "", 1));
    time.run_for(1ms);
  }
  time.run();
  BOOST_TEST(order == "-hhhhlhhhhh");
}

BOOST_AUTO_TEST_CASE(fair_lets_a_user_with_one_task_in_after_one_of_each_other) {
  weir::worker_pool& p = make({.workers = 1,
                               .queue_size = 100,
                               .max_per_user = 0,
                               .discipline = weir::discipline::fair,
                               .weights = {{"heavy", 2}}});
  std::string order;
  p.submit(noting(order, '-', "greedy"));
  time.settle();
  for (int i = 0; i < 6; ++i) p.submit(noting(order, 'g', "greedy"));
  for (int i = 0; i < 4; ++i) p.submit(noting(order, 'h', "heavy"));
  p.submit(noting(order, 'o', "one"));
  time.run();
  BOOST_TEST(order == "-ghhoghhgggg");
}

BOOST_AUTO_TEST_CASE(task_that_has_waited_too_long_is_shed_at_once_though_all_workers_are_busy) {
  weir::worker_pool& p =
      make({.workers = 1, .queue_size = 2, .max_per_user = 1, .max_queue_wait = 10ms});
  p.submit(task_of("busy", sleeper(1s)));
  time.settle();
  error_code ec;
  weir::time_point answered;
  asio::co_spawn(time.context(), weir::co_spawn(p, {.user = "ann"}, nothing(), asio::use_awaitable),
                 [&](const std::exception_ptr& e) {
                   ec = code_of(e);
                   answered = time.now();
                 });
  time.run_for(4ms);
  p.submit(task_of("bob", nothing()));
  // There is no room: who waits for it comes in when the first is shed.
  error_code entered = errc::pool_closed;
  p.async_submit(task_of("cat", nothing()), [&](error_code e) { entered = e; });
  const weir::time_point start = time.now() - 4ms;
  time.run_for(5ms);
  BOOST_TEST(p.metrics().shed == 0U);
  time.run_for(1ms);
  BOOST_TEST(ec == errc::queue_wait_expired);
  BOOST_TEST((answered - start == 10ms));
  BOOST_TEST(!entered);
  BOOST_TEST(p.metrics().shed == 1U);
  BOOST_TEST(p.metrics().users == 3U);  // the slot of the one that was shed is free
  time.run_for(4ms);
  BOOST_TEST(p.metrics().shed == 2U);
  time.run_for(6ms);
  BOOST_TEST(p.metrics().shed == 3U);  // counted from when it came in
  check_balanced(p.metrics());
  time.run();
  BOOST_TEST(p.metrics().cancelled == 3U);
  BOOST_TEST(p.metrics().completed == 1U);
}

BOOST_AUTO_TEST_CASE(task_that_starts_in_time_is_not_shed) {
  weir::worker_pool& p =
      make({.workers = 1, .queue_size = 5, .max_per_user = 0, .max_queue_wait = 10ms});
  for (int i = 0; i < 5; ++i) p.submit(task_of("", sleeper(3ms)));
  time.run();
  // They start after 0, 3, 6 and 9 ms; the fifth would after 12.
  BOOST_TEST(p.metrics().completed == 4U);
  BOOST_TEST(p.metrics().shed == 1U);
  // And once more, when it has been at rest.
  p.submit(task_of("", sleeper(11ms)));
  p.submit(task_of("", nothing()));
  time.run();
  BOOST_TEST(p.metrics().shed == 2U);
}

BOOST_AUTO_TEST_CASE(histograms_tell_how_long_tasks_waited_and_ran) {
  weir::worker_pool& p = make({.workers = 1, .queue_size = 5, .max_per_user = 0});
  for (int i = 0; i < 4; ++i) p.submit(task_of("", sleeper(2ms)));
  time.run_for(3ms);
  BOOST_TEST(p.metrics().queue_wait.count() == 2U);
  BOOST_TEST(p.metrics().run_time.count() == 1U);
  time.run();
  const weir::pool_metrics m = p.metrics();
  BOOST_TEST(m.queue_wait.count() == 4U);
  BOOST_TEST((m.queue_wait.sum() == 12ms && m.queue_wait.max() == 6ms));
  BOOST_TEST(m.run_time.count() == 4U);
  BOOST_TEST((m.run_time.sum() == 8ms && m.run_time.quantile(0.99) == 2ms));
}

BOOST_AUTO_TEST_CASE(observer_hears_of_each_task_when_it_starts_and_how_it_ends) {
  const auto ear = std::make_shared<listener>();
  weir::worker_pool& p = make({.workers = 1,
                               .queue_size = 5,
                               .max_per_user = 1,
                               .task_timeout = 5ms,
                               .max_queue_wait = 8ms,
                               .observer = ear});
  const auto task = [](const char* id, auto f) {
    return weir::task{.id = id, .user = id, .fn = std::move(f)};
  };
  p.submit(task("good", sleeper(2ms)));
  p.submit(task("good", nothing()));
  p.submit(task("bad", [](task_context&) { throw std::runtime_error("bad"); }));
  p.submit(task("slow", sleeper(1h)));
  p.submit(task("late", sleeper(1ms)));
  p.submit(task("last", nothing()));
  time.run();
  const std::vector<std::string> expected = {
      "rejected good: " + make_error_code(errc::user_limit_reached).message(),
      "started good",
      "ended good completed",
      "started bad",
      "failed bad",
      "ended bad failed",
      "started slow",
      "ended slow timed out: " + make_error_code(errc::task_timed_out).message(),
      "started late",
      "ended last cancelled: " + make_error_code(errc::queue_wait_expired).message(),
      "ended late completed"};
  BOOST_TEST(ear->heard == expected, boost::test_tools::per_element());
  const weir::task_event& slow = ear->events[5];
  BOOST_TEST((slow.waited == 2ms && slow.ran == 5ms));
  BOOST_TEST(slow.spawned.line() != 0U);
  const weir::task_event& shed = ear->events[7];
  BOOST_TEST((shed.waited == 8ms && shed.ran == 0ms));
}

BOOST_AUTO_TEST_CASE(task_that_does_not_stop_is_stuck_after_the_grace_until_it_ends) {
  const auto ear = std::make_shared<listener>();
  weir::worker_pool& p = make({.workers = 2,
                               .queue_size = 5,
                               .max_per_user = 1,
                               .task_timeout = 10ms,
                               .grace = 20ms,
                               .observer = ear});
  const auto deaf = [](task_context&) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(1s);
  };
  error_code ec;
  asio::co_spawn(time.context(),
                 weir::co_spawn(p, {.id = "deaf", .user = "ann"}, deaf, asio::use_awaitable),
                 [&](const std::exception_ptr& e) { ec = code_of(e); });
  p.submit(weir::task{.id = "polite", .user = "bob", .fn = sleeper(1h)});
  time.run_for(29ms);
  BOOST_TEST(p.metrics().stuck == 0U);
  time.run_for(1ms);
  BOOST_TEST(p.metrics().stuck == 1U);
  BOOST_TEST(p.metrics().active == 1U);
  BOOST_TEST(ear->heard.back() == "stuck deaf");
  BOOST_TEST((ear->events.back().ran == 30ms));
  BOOST_TEST(!ec);  // the caller is told a hundred milliseconds after the deadline
  time.run_for(80ms);
  BOOST_TEST(ec == errc::task_timed_out);
  time.run();
  BOOST_TEST(p.metrics().stuck == 0U);
  BOOST_TEST(p.metrics().timed_out == 2U);
}

BOOST_AUTO_TEST_CASE(task_that_ends_within_the_grace_is_never_stuck) {
  const auto ear = std::make_shared<listener>();
  weir::worker_pool& p =
      make({.workers = 1, .max_per_user = 0, .task_timeout = 10ms, .grace = 20ms, .observer = ear});
  const auto slow_to_stop = [](task_context&) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(29ms);
  };
  for (int i = 0; i < 3; ++i) p.submit(task_of("", slow_to_stop));
  time.run();
  BOOST_TEST(p.metrics().timed_out == 3U);
  for (const std::string& word : ear->heard) BOOST_TEST(!word.starts_with("stuck"));
}

BOOST_AUTO_TEST_CASE(nobody_is_told_of_a_shed_task_twice_whoever_gives_it_up) {
  // A caller gives up in the same instant in which its task is shed.
  weir::worker_pool& p =
      make({.workers = 1, .queue_size = 2, .max_per_user = 0, .max_queue_wait = 10ms});
  p.submit(task_of("", sleeper(1s)));
  time.settle();
  asio::cancellation_signal give_up;
  int told = 0;
  asio::co_spawn(
      time.context(), weir::co_spawn(p, {}, nothing(), asio::use_awaitable),
      asio::bind_cancellation_slot(give_up.slot(), [&](const std::exception_ptr&) { ++told; }));
  time.settle();
  weir::steady_timer timer(time.get_executor());
  timer.expires_after(10ms);
  timer.async_wait([&](error_code) { give_up.emit(asio::cancellation_type::terminal); });
  time.run();
  BOOST_TEST(told == 1);
  BOOST_TEST(p.metrics().cancelled == 1U);
}

BOOST_AUTO_TEST_CASE(dump_shows_each_task_its_state_and_what_it_waits_for) {
  weir::worker_pool& p = make({.workers = 4,
                               .queue_size = 5,
                               .max_per_user = 0,
                               .task_timeout = 10ms,
                               .grace = 20ms,
                               .name = "jobs"});
  weir::semaphore database(time.get_executor(), 1, "database");
  const weir::permit held = database.try_acquire();
  const auto deaf = [](task_context&) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(60ms);
  };
  const auto waits = [&](task_context&) -> asio::awaitable<void> {
    co_await database.async_acquire(asio::use_awaitable);
  };
  const auto hand_over = [&p](const char* id, auto f, std::optional<weir::duration> timeout = {}) {
    p.submit(weir::task{.id = id, .user = "ann", .fn = std::move(f), .timeout = timeout});
  };
  hand_over("stuck", deaf);
  time.run_for(15ms);
  hand_over("stopping", deaf);
  time.run_for(12ms);
  hand_over("waits", waits, 1s);
  time.run_for(3ms);
  hand_over("runs", sleeper(1h), 0s);
  hand_over("queued", nothing());
  time.run_for(1ms);
  const weir::task_dump d = p.dump();
  std::string seen;
  for (const weir::task_info& t : d.tasks) {
    seen += t.id + ": " + std::string(to_string(t.state)) + ", " + to_string(t.cause);
    if (!t.waits_for.empty()) seen += ", " + t.waits_for;
    seen += '\n';
  }
  BOOST_TEST(seen ==
             "stuck: stuck, timeout\n"
             "stopping: stopping, timeout\n"
             "waits: running, none, semaphore acquire of 'database'\n"
             "runs: running, none\n"
             "queued: queued, none\n");
  BOOST_REQUIRE(d.tasks.size() == 5U);
  BOOST_TEST((d.tasks[0].ran == 31ms && *d.tasks[0].left == -21ms));
  BOOST_TEST((d.tasks[2].age == 4ms && *d.tasks[2].left == 996ms));
  BOOST_TEST(!d.tasks[3].left);
  BOOST_TEST((d.tasks[4].age == 1ms && d.tasks[4].ran == 0ms));
  std::ostringstream text;
  text << d;
  BOOST_TEST(text.str().starts_with("pool 'jobs': 5 tasks\n  stuck    'stuck' of 'ann'"));
  BOOST_TEST(text.str().find("from worker_pool_order.cpp:") != std::string::npos);
  p.async_shutdown({.deadline = 0s}, [](error_code, const weir::shutdown_report&) {});
}

BOOST_AUTO_TEST_CASE(dump_shows_those_who_wait_in_order_of_arrival) {
  weir::worker_pool& p = make(
      {.workers = 1, .queue_size = 5, .max_per_user = 0, .discipline = weir::discipline::priority});
  std::string order;
  p.submit(noting(order, '-', ""));
  time.settle();
  for (int priority : {0, 3, 1}) {
    p.submit({.id = std::to_string(priority), .fn = nothing(), .priority = priority});
    time.run_for(100us);
  }
  p.submit(task_of("", nothing()));
  std::string ids;
  for (const weir::task_info& t : p.dump().tasks) ids += t.id + ' ';
  BOOST_TEST(ids == "task-1 0 3 1 task-5 ");
}

BOOST_AUTO_TEST_CASE(dump_of_a_large_pool_shows_each_task_once_in_order) {
  // So many that it is made in many portions, and no number of them divides what there is.
  constexpr int running = 333;
  constexpr int queued = 707;
  weir::worker_pool& p = make({.workers = running, .queue_size = 2000, .max_per_user = 0});
  for (int i = 0; i < running; ++i) {
    p.submit({.fn = sleeper(1h), .lane = std::to_string(i)});
    if (i % 10 == 0) time.run_for(1us);
  }
  time.settle();
  // A third of them have no lane, and of the others some are the first of theirs.
  for (int i = 0; i < queued; ++i) {
    p.submit({.fn = nothing(), .lane = i % 3 == 0 ? "" : std::to_string(i / 3 + i % 3 * 200)});
    if (i % 10 == 0) time.run_for(1us);
  }
  const weir::task_dump d = p.dump();
  BOOST_REQUIRE(d.tasks.size() == std::size_t{running + queued});
  std::size_t in_lane = 0;
  for (std::size_t i = 0; i < d.tasks.size(); ++i) {
    BOOST_TEST_REQUIRE(d.tasks[i].id == "task-" + std::to_string(i + 1));
    BOOST_TEST_REQUIRE((d.tasks[i].state == weir::task_state::running) == (i < running));
    if (d.tasks[i].state == weir::task_state::in_lane) ++in_lane;
  }
  BOOST_TEST(in_lane == p.metrics().in_lane);
  BOOST_TEST(in_lane > 100U);
  p.async_shutdown({.deadline = 0s}, [](error_code, const weir::shutdown_report&) {});
}

BOOST_AUTO_TEST_CASE(growth_names_the_line_whose_tasks_become_more) {
  weir::worker_pool& p = make({.workers = 8, .queue_size = 50, .max_per_user = 0});
  const auto leak = [&p] { p.submit(task_of("", sleeper(1h))); };
  const auto honest = [&p] { p.submit(task_of("", sleeper(5ms))); };
  leak();
  honest();
  time.settle();
  const weir::task_dump before = p.dump();
  for (int i = 0; i < 3; ++i) leak();
  time.run_for(10ms);
  honest();
  time.settle();
  const weir::task_dump after = p.dump();
  const auto changes = growth(before, after);
  BOOST_REQUIRE(changes.size() == 1U);
  BOOST_TEST(changes[0].change == 3);
  BOOST_TEST(changes[0].now == 4U);
  BOOST_TEST(changes[0].spawned.line() == before.tasks[0].spawned.line());
  BOOST_TEST(growth(after, after).empty());
  BOOST_TEST(growth(after, before)[0].change == -3);
  p.async_shutdown({.deadline = 0s}, [](error_code, const weir::shutdown_report&) {});
}

BOOST_AUTO_TEST_SUITE_END()
