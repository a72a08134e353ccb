// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "limited_server.hpp"

#include <weir/aimd_limit.hpp>
#include <weir/test/random.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

using namespace std::chrono_literals;
using weir::aimd_limit;
using weir::aimd_options;

BOOST_AUTO_TEST_SUITE(aimd_limit_suite)

using server = weir_test::limited_server<aimd_limit>;

namespace {

constexpr weir::time_point start{std::chrono::hours(1)};

}  // namespace

BOOST_AUTO_TEST_CASE(options_out_of_range_are_not_valid) {
  BOOST_TEST(aimd_options{}.valid());
  BOOST_TEST((aimd_options{.initial = 1, .min = 1, .max = 1}.valid()));
  BOOST_TEST((!aimd_options{.min = 0}.valid()));
  BOOST_TEST((!aimd_options{.initial = 4, .min = 5}.valid()));
  BOOST_TEST((!aimd_options{.initial = 6, .max = 5}.valid()));
  BOOST_TEST((!aimd_options{.initial = 5, .min = 6, .max = 5}.valid()));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double i : {0.0, -1.0, nan, infinity})
    BOOST_TEST((!aimd_options{.increase = i}.valid()));
  for (const double b : {0.0, 1.0, -1.0, nan}) BOOST_TEST((!aimd_options{.backoff = b}.valid()));
  BOOST_TEST((!aimd_options{.too_slow = -1ns}.valid()));
}

BOOST_AUTO_TEST_CASE(round_of_successes_adds_one) {
  aimd_limit limit({.initial = 10});
  for (int i = 0; i < 10; ++i) limit.on_sample(start + i * 1ms, 1ms, 10, false);
  BOOST_TEST(limit.limit() ==
             10);  // a little less than one: each raises what the next is a share of
  limit.on_sample(start + 10ms, 1ms, 10, false);
  BOOST_TEST(limit.limit() == 11);
}

BOOST_AUTO_TEST_CASE(full_house_that_is_refused_counts_once) {
  aimd_limit limit({.initial = 100, .backoff = 0.9});
  for (int i = 0; i < 100; ++i) limit.on_sample(start, 10ms, 100 - i, true);
  BOOST_TEST(limit.limit() == 90);
  limit.on_sample(start + 5ms, 6ms, 90, true);  // began before that
  limit.on_sample(start, 0ms, 90, true);        // in that instant
  BOOST_TEST(limit.limit() == 90);
  limit.on_sample(start + 5ms, 1ms, 90, true);
  BOOST_TEST(limit.limit() == 81);
}

BOOST_AUTO_TEST_CASE(settles_just_below_where_the_server_refuses) {
  for (const std::size_t room : {2U, 10U, 40U, 200U})
    for (const int initial : {1, 20, 500}) {
      BOOST_TEST_CONTEXT("room for " << room << ", from " << initial) {
        aimd_limit limit({.initial = initial});
        server s(limit, {.serves = room, .spread = 0.3, .room = room});
        s.run(20'000 + room * 500);
        const auto seen = s.run(20'000);
        BOOST_TEST(seen.least >= static_cast<int>(0.9 * static_cast<double>(room)) - 1);
        BOOST_TEST(seen.most <= static_cast<int>(room) + 2);
      }
    }
}

BOOST_AUTO_TEST_CASE(comes_down_when_the_capacity_halves_and_not_to_the_least) {
  aimd_limit limit({});
  server s(limit, {.serves = 40, .spread = 0.3, .room = 40});
  s.run(20'000);
  s.now.serves = s.now.room = 20;
  s.run(1000);
  const auto seen = s.run(20'000);
  BOOST_TEST(seen.most <= 22);
  BOOST_TEST(seen.least >= 17);
}

BOOST_AUTO_TEST_CASE(success_that_takes_too_long_counts_as_a_refusal) {
  // A server that never refuses: without this the limit would go to the most.
  aimd_limit limit({.initial = 20, .too_slow = 25ms});
  server s(limit, {.serves = 10});
  s.run(10'000);
  const auto seen = s.run(10'000);
  BOOST_TEST(seen.most <= 22);
  BOOST_TEST(seen.least >= 17);
  BOOST_TEST((seen.longest_wait <= 21ms));
}

BOOST_AUTO_TEST_CASE(limit_that_is_not_used_does_not_grow) {
  aimd_limit limit({.initial = 20});
  server s(limit, {.serves = 100, .callers = 9});
  BOOST_TEST(s.run(10'000).most == 20);
  s.now.callers = 12;
  BOOST_TEST(s.run(10'000).most == 24);  // half of more is more than there are callers
}

BOOST_AUTO_TEST_CASE(times_of_zero_and_out_of_order_do_no_harm) {
  aimd_limit limit({.initial = 20});
  for (int i = 0; i < 1000; ++i) {
    const auto now = start + 1ms * i;
    limit.on_sample(now, 0ms, 0, false);
    limit.on_sample(now, -1ms, 0, false);
    if (i == 0) limit.on_sample(now, 0ms, 20, true);
    limit.on_sample(now - 1s, 0ms, 20, true);  // of before that
  }
  BOOST_TEST(limit.limit() == 18);
}

BOOST_AUTO_TEST_CASE(stays_within_its_bounds_whatever_it_is_told) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    weir::test::random draw(seed);
    const int least = draw.between(1, 10);
    const int most = least + draw.between(0, 50);
    aimd_limit limit({.initial = draw.between(least, most),
                      .min = least,
                      .max = most,
                      .increase = 1.0 * draw.between(1, 5),
                      .backoff = 0.2 * draw.between(1, 4),
                      .too_slow = draw.between(0, 2) * 1ms});
    auto now = start;
    for (int i = 0; i < 500; ++i) {
      now += draw.between(0, 3) * 1ms - 1ms * draw.between(0, 1);
      const int n =
          limit.on_sample(now, draw.between(-1, 3) * 1ms, draw.between(0, 70), draw.chance(0.1));
      BOOST_TEST_REQUIRE(n == limit.limit());
      BOOST_TEST_REQUIRE(n >= least);
      BOOST_TEST_REQUIRE(n <= most);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
