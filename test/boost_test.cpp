// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/boost_test.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <set>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(boost_test)

namespace {

std::set<std::uint64_t> seeds_seen;

}  // namespace

WEIR_COROUTINE_TEST_CASE(coroutine_case_runs_on_virtual_time) {
  weir::steady_timer timer(co_await asio::this_coro::executor, 24h);
  co_await timer.async_wait(asio::deferred);
  BOOST_TEST((time.elapsed() == 24h));
}

BOOST_AUTO_TEST_CASE(coroutine_case_fails_when_its_body_throws_or_leaves_something) {
  weir::test::virtual_time_fixture throwing;
  BOOST_CHECK_THROW(throwing.run(
                        []() -> asio::awaitable<void> {
                          co_await asio::this_coro::executor;
                          throw std::runtime_error("of the body");
                        }(),
                        std::source_location::current()),
                    std::runtime_error);
  throwing.teardown();

  weir::test::virtual_time_fixture leaving;
  leaving.time.spawn([]() -> asio::awaitable<void> {
    weir::steady_timer timer(co_await asio::this_coro::executor, 24h);
    co_await timer.async_wait(asio::deferred);
  });
  BOOST_CHECK_THROW(leaving.leaks.verify(), weir::test::leak_error);
}

BOOST_FIXTURE_TEST_CASE(fixture_gives_time_and_checks_for_leaks, weir::test::virtual_time_fixture) {
  bool fired = false;
  weir::steady_timer timer(time.get_executor(), 1s);
  timer.async_wait([&](auto) { fired = true; });
  time.run();
  BOOST_TEST(fired);
}

WEIR_SIMULATION_TEST_CASE(simulation_case_runs_once_a_seed, 20) {
  seeds_seen.insert(sim.seed());
  int ran = 0;
  for (int i = 0; i < 3; ++i) asio::post(sim.get_executor(), [&] { ++ran; });
  sim.run();
  BOOST_TEST(ran == 3);
  if (sim.seed() == 20) BOOST_TEST(seeds_seen.size() == 20U);
}

BOOST_AUTO_TEST_SUITE_END()
