// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/clock.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <type_traits>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The suite would be a namespace with the name of a function of the C library.
namespace {

BOOST_AUTO_TEST_SUITE(clock)

using std_clock = std::chrono::steady_clock;

BOOST_AUTO_TEST_CASE(steady_clock_shows_the_time_of_std) {
  static_assert(std::is_same_v<weir::time_point, std_clock::time_point>);
  static_assert(std::is_same_v<weir::duration, std_clock::duration>);
  static_assert(std::chrono::is_clock_v<weir::steady_clock>);
  static_assert(weir::steady_clock::is_steady);
  for (int i = 0; i < 100; ++i) {
    const auto before = std_clock::now();
    const auto shown = weir::steady_clock::now();
    const auto after = std_clock::now();
    BOOST_TEST((before <= shown && shown <= after));
  }
}

BOOST_AUTO_TEST_CASE(steady_clock_never_goes_back) {
  auto last = weir::steady_clock::now();
  for (int i = 0; i < 1000; ++i) {
    const auto now = weir::steady_clock::now();
    BOOST_TEST_REQUIRE((now >= last));
    last = now;
  }
}

BOOST_AUTO_TEST_CASE(saturating_add_is_plus_where_that_fits) {
  using weir::saturating_add;
  using weir::time_point;
  constexpr auto max = time_point::max();
  constexpr time_point t(1h);
  static_assert(saturating_add(t, 0s) == t);
  static_assert(saturating_add(t, 5min) == t + 5min);
  static_assert(saturating_add(time_point(0ns), 1ns) == time_point(1ns));
  static_assert(saturating_add(max - 1ns, 1ns) == max);
  static_assert(saturating_add(max - 2ns, 1ns) == max - 1ns);
}

BOOST_AUTO_TEST_CASE(saturating_add_stops_at_the_last_time_point) {
  using weir::saturating_add;
  using weir::time_point;
  constexpr auto max = time_point::max();
  constexpr auto ever = weir::duration::max();
  static_assert(saturating_add(max, 1ns) == max);
  static_assert(saturating_add(max, ever) == max);
  static_assert(saturating_add(max - 1ns, 2ns) == max);
  static_assert(saturating_add(time_point(1ns), ever) == max);
  static_assert(saturating_add(time_point(0ns), ever) == max);
  BOOST_TEST((saturating_add(weir::steady_clock::now(), ever) == max));
}

BOOST_AUTO_TEST_CASE(steady_timer_expires_on_a_real_context_and_not_early) {
  asio::io_context context;
  weir::steady_timer timer(context, 2ms);
  const auto expiry = timer.expiry();
  bool fired = false;
  timer.async_wait([&](boost::system::error_code ec) {
    BOOST_TEST(!ec);
    BOOST_TEST((std_clock::now() >= expiry));
    fired = true;
  });
  context.run();
  BOOST_TEST(fired);
}

BOOST_AUTO_TEST_CASE(steady_timers_fire_in_order_of_expiry_on_a_real_context) {
  asio::io_context context;
  std::vector<int> order;
  weir::steady_timer late(context, 3ms);
  weir::steady_timer early(context, 1ms);
  weir::steady_timer past(context, -1h);
  late.async_wait([&](auto) { order.push_back(3); });
  early.async_wait([&](auto) { order.push_back(2); });
  past.async_wait([&](auto) { order.push_back(1); });
  context.run();
  BOOST_TEST(order == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(steady_timer_without_an_end_can_be_cancelled) {
  asio::io_context context;
  weir::steady_timer never(context, weir::time_point::max());
  boost::system::error_code result;
  never.async_wait([&](boost::system::error_code ec) { result = ec; });
  // Long enough for a wait that had overflowed into the past to have fired.
  weir::steady_timer soon(context, 1ms);
  soon.async_wait([&](auto) { BOOST_TEST(never.cancel() == 1U); });
  context.run();
  BOOST_TEST(result == asio::error::operation_aborted);
}

BOOST_AUTO_TEST_CASE(steady_timer_waits_in_place_too) {
  asio::io_context context;
  weir::steady_timer timer(context, 1ms);
  timer.wait();
  BOOST_TEST((std_clock::now() >= timer.expiry()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
