// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// What a deadlock error says, word for word.

#include <weir/semaphore.hpp>
#include <weir/test/for_each_seed.hpp>
#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::test::deadlock_error;
using weir::test::simulation;
using weir::test::virtual_time;

BOOST_AUTO_TEST_SUITE(wait_report)

namespace {

/// What the run says when it is stuck, without what it says of the rest of the process: other cases
/// may have run in it, and left threads of Asio's there.
std::string report_of(weir::test::driver& d) {
  try {
    d.run();
  } catch (const deadlock_error& e) {
    const std::string report = e.what();
    return report.substr(0, report.find("\n  outside:"));
  }
  return "no deadlock";
}

asio::awaitable<void> take_both(weir::semaphore& first, weir::semaphore& second) {
  const weir::permit a = co_await first.async_acquire(asio::use_awaitable);
  weir::steady_timer timer(co_await asio::this_coro::executor, 5ms);
  co_await timer.async_wait(asio::deferred);
  const weir::permit b = co_await second.async_acquire(asio::use_awaitable);
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_who_take_two_locks_in_opposite_order) {
  virtual_time time;
  weir::semaphore accounts(time.get_executor(), 1, "accounts");
  weir::semaphore journal(time.get_executor(), 1, "journal");
  time.spawn("transfer", take_both(accounts, journal));
  time.spawn("audit", take_both(journal, accounts));
  const std::string line = std::to_string(__LINE__ - 2);
  const std::string next = std::to_string(__LINE__ - 2);
  BOOST_TEST(report_of(time) ==
             "deadlock at +5.000 ms: work is left, but nothing is ready and no timer is pending\n"
             "  #1 transfer (wait_report.cpp:" +
                 line +
                 ") [semaphore acquire] of 'journal' since +5.000 ms\n"
                 "  #2 audit (wait_report.cpp:" +
                 next +
                 ") [semaphore acquire] of 'accounts' since +5.000 ms\n"
                 "  held: 1 permit of 'accounts'\n"
                 "  held: 1 permit of 'journal'");
}

BOOST_AUTO_TEST_CASE(lock_order_bug_that_only_some_orders_show_is_found_by_seed_and_reported) {
  const auto body = [](simulation& sim) {
    weir::semaphore accounts(sim.get_executor(), 1, "accounts");
    weir::semaphore journal(sim.get_executor(), 1, "journal");
    const auto both = [](weir::semaphore& first, weir::semaphore& second) -> asio::awaitable<void> {
      const weir::permit a = co_await first.async_acquire(asio::use_awaitable);
      const weir::permit b = co_await second.async_acquire(asio::use_awaitable);
    };
    sim.spawn("transfer", both(accounts, journal));
    sim.spawn("audit", both(journal, accounts));
    sim.run();
  };
  std::uint64_t seed = 0;
  std::string first;
  try {
    weir::test::for_each_seed(200, body);
    BOOST_ERROR("not found");
  } catch (const weir::test::seed_failure& e) {
    seed = e.seed();
    first = e.what();
  }
  for (const char* part :
       {"transfer (wait_report.cpp:", "[semaphore acquire] of 'journal' since +0.000 ms",
        "audit (wait_report.cpp:", "[semaphore acquire] of 'accounts' since +0.000 ms"})
    BOOST_TEST(first.find(part) != std::string::npos, first);
  BOOST_TEST(first.find("seed " + std::to_string(seed)) != std::string::npos, first);
  // And the seed says the same again, to the letter.
  try {
    weir::test::for_each_seed(1, body, {.first = seed});
    BOOST_ERROR("not found again");
  } catch (const weir::test::seed_failure& e) {
    BOOST_TEST(first == e.what());
  }
}

BOOST_AUTO_TEST_CASE(tasks_of_a_pool_are_named_by_id_user_and_the_line_that_submitted_them) {
  virtual_time time;
  weir::worker_pool pool(time.get_executor(), {.workers = 1, .task_timeout = 0s, .name = "jobs"});
  weir::semaphore lock(time.get_executor(), 1, "lock");
  const weir::permit held = lock.try_acquire();
  const auto work = [&](weir::task_context&) -> asio::awaitable<void> {
    const weir::permit p = co_await lock.async_acquire(asio::use_awaitable);
  };
  time.spawn("caller", [&]() -> asio::awaitable<void> {
    co_await weir::co_spawn(pool, {.id = "job-1", .user = "ann"}, work, asio::use_awaitable);
  });
  const std::string caller = std::to_string(__LINE__ - 3);
  const std::string inside = std::to_string(__LINE__ - 3);
  BOOST_TEST(report_of(time) ==
             "deadlock at +0.000 ms: work is left, but nothing is ready and no timer is pending\n"
             "  #1 caller (wait_report.cpp:" +
                 caller +
                 ") [pool result] of 'jobs' since +0.000 ms\n"
                 "  task 'job-1' of user 'ann' (wait_report.cpp:" +
                 inside +
                 ") [semaphore acquire] of 'lock' since +0.000 ms\n"
                 "  held: 1 running task of 'jobs'\n"
                 "  held: 1 user with a slot of 'jobs'\n"
                 "  held: 1 permit of 'lock'");
}

BOOST_AUTO_TEST_CASE(coroutine_that_waits_outside_weir_is_listed_with_when_it_last_ran) {
  virtual_time time;
  time.spawn("receiver", [&]() -> asio::awaitable<void> {
    asio::experimental::channel<void(weir::error_code)> channel(co_await asio::this_coro::executor);
    weir::steady_timer timer(co_await asio::this_coro::executor, 7ms);
    co_await timer.async_wait(asio::deferred);
    co_await channel.async_receive(asio::use_awaitable);
  });
  const std::string report = report_of(time);
  BOOST_TEST(report.find("#1 receiver (wait_report.cpp:") != std::string::npos, report);
  BOOST_TEST(report.find("[not in weir] since +7.000 ms") != std::string::npos, report);
}

BOOST_AUTO_TEST_CASE(coroutine_that_was_started_from_a_spawned_one_counts_as_part_of_it) {
  virtual_time time;
  weir::semaphore lock(time.get_executor(), 1, "lock");
  const weir::permit held = lock.try_acquire();
  time.spawn("parent", [&]() -> asio::awaitable<void> {
    const auto child = [&]() -> asio::awaitable<void> {
      const weir::permit p = co_await lock.async_acquire(asio::use_awaitable);
    };
    const auto strand = asio::make_strand(co_await asio::this_coro::executor);
    auto running = asio::co_spawn(strand, child, asio::use_awaitable);
    co_await std::move(running);
  });
  const std::string report = report_of(time);
  BOOST_TEST(report.find("#1 parent (wait_report.cpp:") != std::string::npos, report);
  BOOST_TEST(report.find("[semaphore acquire] of 'lock'") != std::string::npos, report);
}

BOOST_AUTO_TEST_CASE(waiter_that_the_kit_did_not_spawn_is_still_told_of) {
  virtual_time time;
  weir::semaphore lock(time.get_executor(), 1);
  const weir::permit held = lock.try_acquire();
  lock.async_acquire([](auto...) {});
  const std::string report = report_of(time);
  BOOST_TEST(report.find("a handler or coroutine that the kit did not spawn [semaphore acquire]") !=
                 std::string::npos,
             report);
}

BOOST_AUTO_TEST_SUITE_END()
