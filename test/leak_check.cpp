// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sleep_for.hpp"

#include <weir/semaphore.hpp>
#include <weir/test/leak_check.hpp>
#include <weir/test/simulation.hpp>
#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::test::leak_check;
using weir::test::leak_error;
using weir::test::virtual_time;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(leak_check_suite)

namespace {

/// What the check says of what is left.
std::string verdict(leak_check& check) {
  try {
    check.verify();
  } catch (const leak_error& e) {
    return e.what();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  BOOST_TEST(found, "\"" << part << "\" is not in: " << text);
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(scope_that_cleans_up_passes) {
  virtual_time time;
  leak_check check(time);
  {
    weir::semaphore s(time.get_executor(), 1);
    const weir::permit p = s.try_acquire();
    time.spawn(sleep_for(1s));
    time.run();
  }
  BOOST_TEST(verdict(check).empty());
}

BOOST_AUTO_TEST_CASE(coroutine_that_is_left_is_named_with_its_line_and_its_timer) {
  virtual_time time;
  leak_check check(time);
  const auto line = std::to_string(__LINE__ + 1);
  time.spawn("napper", sleep_for(1h));
  const std::string said = verdict(check);
  has(said, "coroutine #1 napper (leak_check.cpp:" + line + ")");
  has(said, "timer due at +3600000.000 ms");
}

BOOST_AUTO_TEST_CASE(permit_and_waiter_that_are_left_are_named) {
  virtual_time time;
  weir::semaphore s(time.get_executor(), 3, "connections");
  const weir::permit before = s.try_acquire();
  leak_check check(time);
  weir::permit p = s.try_acquire(2);
  time.spawn("client",
             [&]() -> asio::awaitable<void> { p = co_await s.async_acquire(asio::use_awaitable); });
  const std::string said = verdict(check);
  has(said, "held: 2 permit of 'connections'");
  has(said, "waiter [semaphore acquire] of 'connections', #1 client (leak_check.cpp:");
  s.close();
  BOOST_CHECK_THROW(time.run(), std::exception);
}

BOOST_AUTO_TEST_CASE(task_slot_and_submission_of_a_pool_that_are_left_are_named) {
  virtual_time time;
  weir::worker_pool pool(time.get_executor(), {.workers = 1, .queue_size = 1, .name = "jobs"});
  leak_check check(time);
  const auto submit = [&](const char* user) {
    pool.async_submit({.id = {}, .user = user, .fn = [](auto&) { return sleep_for(1h); }},
                      [](auto) {});
    time.settle();
  };
  submit("ann");
  submit("bob");
  submit("cleo");
  const std::string said = verdict(check);
  has(said, "held: 1 running task of 'jobs'");
  has(said, "held: 1 queued task of 'jobs'");
  has(said, "held: 3 user with a slot of 'jobs'");
  has(said, "waiter [pool submit] of 'jobs'");
}

BOOST_AUTO_TEST_CASE(what_was_there_before_is_not_its_concern) {
  virtual_time time;
  weir::semaphore s(time.get_executor(), 1);
  const weir::permit p = s.try_acquire();
  time.spawn(sleep_for(1h));
  leak_check check(time);
  BOOST_TEST(verdict(check).empty());
}

BOOST_AUTO_TEST_CASE(destructor_verifies_unless_it_was_done_or_an_exception_is_on_its_way) {
  virtual_time time;
  BOOST_CHECK_THROW(
      {
        leak_check check(time);
        time.spawn(sleep_for(1h));
      },
      leak_error);
  BOOST_CHECK_THROW(
      {
        leak_check check(time);
        time.spawn(sleep_for(1h));
        throw std::runtime_error("the cause");
      },
      std::runtime_error);
  {
    leak_check check(time);
    time.spawn(sleep_for(1h));
    BOOST_CHECK_THROW(check.verify(), leak_error);
  }
}

BOOST_AUTO_TEST_CASE(it_watches_a_simulation_too) {
  weir::test::simulation sim(1);
  leak_check check(sim);
  sim.spawn("napper", sleep_for(1h));
  has(verdict(check), "coroutine #1 napper");
}

BOOST_AUTO_TEST_SUITE_END()
