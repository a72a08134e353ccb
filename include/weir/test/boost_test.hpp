// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_BOOST_TEST_HPP
#define WEIR_TEST_BOOST_TEST_HPP

#include <weir/test/for_each_seed.hpp>
#include <weir/test/leak_check.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <source_location>
#include <utility>

namespace weir::test {

/// A Boost.Test fixture: the case runs on virtual time, and fails if it leaves anything behind.
///
/// \code
/// BOOST_FIXTURE_TEST_CASE(name, weir::test::virtual_time_fixture) {
///   time.spawn(something(time.get_executor()));
///   time.run();
/// }
/// \endcode
struct virtual_time_fixture {
  virtual_time time;
  leak_check leaks{time};

  /// Called by Boost.Test after the case.
  void teardown() {
    time.run();
    leaks.verify();
  }

  /// Runs a coroutine, and all that it starts, to the end.
  void run(boost::asio::awaitable<void> body, std::source_location where) {
    time.spawn("test case", std::move(body), where);
    time.run();
  }
};

}  // namespace weir::test

/// A test case that is a coroutine, on a `virtual_time_fixture`, whose members are in scope:
///
/// \code
/// WEIR_COROUTINE_TEST_CASE(timer_waits) {
///   weir::steady_timer timer(time.get_executor(), 5s);
///   co_await timer.async_wait(boost::asio::use_awaitable);
///   BOOST_TEST((time.elapsed() == 5s));
/// }
/// \endcode
#define WEIR_COROUTINE_TEST_CASE(name)                           \
  struct name##_coroutine : ::weir::test::virtual_time_fixture { \
    ::boost::asio::awaitable<void> body();                       \
  };                                                             \
  BOOST_FIXTURE_TEST_CASE(name, name##_coroutine) {              \
    this->run(this->body(), ::std::source_location::current());  \
  }                                                              \
  ::boost::asio::awaitable<void> name##_coroutine::body()

/// A test case that is run for each of `seeds` seeds with a `weir::test::simulation& sim`. A check
/// of Boost.Test that fails in it names the seed.
///
/// \code
/// WEIR_SIMULATION_TEST_CASE(nothing_is_lost, 2000) {
///   sim.spawn(producer(sim.get_executor()));
///   sim.spawn(consumer(sim.get_executor()));
///   sim.run();
/// }
/// \endcode
#define WEIR_SIMULATION_TEST_CASE(name, seeds)                             \
  static void name##_simulation(::weir::test::simulation& sim);            \
  BOOST_AUTO_TEST_CASE(name) {                                             \
    ::weir::test::for_each_seed(seeds, [](::weir::test::simulation& sim) { \
      BOOST_TEST_INFO_SCOPE("seed " << sim.seed());                        \
      const ::weir::test::leak_check leaks(sim);                           \
      name##_simulation(sim);                                              \
    });                                                                    \
  }                                                                        \
  static void name##_simulation(::weir::test::simulation& sim)

#endif  // WEIR_TEST_BOOST_TEST_HPP
