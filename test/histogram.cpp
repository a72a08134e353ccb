// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/histogram.hpp>
#include <weir/test/random.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace std::chrono_literals;
using weir::duration;

BOOST_AUTO_TEST_SUITE(histogram)

BOOST_AUTO_TEST_CASE(an_empty_one_says_nothing_but_zero) {
  const weir::histogram h;
  BOOST_TEST(h.count() == 0U);
  BOOST_TEST((h.quantile(0.5) == 0s && h.max() == 0s && h.mean() == 0s && h.sum() == 0s));
  BOOST_TEST(h.at_most(1h) == 0U);
}

BOOST_AUTO_TEST_CASE(small_numbers_are_exact_and_less_than_nothing_is_nothing) {
  weir::histogram h;
  for (int n = -3; n < 16; ++n) h.record(duration(n));
  BOOST_TEST(h.count() == 19U);
  BOOST_TEST((h.sum() == 120ns && h.max() == 15ns));
  for (int n = 0; n < 16; ++n)
    BOOST_TEST(h.at_most(duration(n)) == static_cast<std::uint64_t>(n + 4));
  BOOST_TEST(h.at_most(-1ns) == 0U);
  BOOST_TEST((h.quantile(0) == 0ns && h.quantile(1) == 15ns));
}

BOOST_AUTO_TEST_CASE(a_quantile_is_too_great_by_an_eighth_at_most) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    weir::test::random random(seed);
    weir::histogram h;
    std::vector<std::int64_t> all;
    const std::uint64_t n = 1 + random.below(2000);
    for (std::uint64_t i = 0; i < n; ++i) {
      // From a nanosecond to nine hours, each magnitude as often as any other.
      const auto ns = static_cast<std::int64_t>(random() >> (19 + random.below(44)));
      all.push_back(ns);
      h.record(duration(ns));
    }
    std::sort(all.begin(), all.end());
    BOOST_TEST_REQUIRE(h.max().count() == all.back());
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
      const double rank = std::max(std::ceil(q * static_cast<double>(n)), 1.0);
      const std::int64_t exact = all[static_cast<std::size_t>(rank) - 1];
      const std::int64_t told = h.quantile(q).count();
      BOOST_TEST_REQUIRE(told >= exact, seed << " " << q);
      BOOST_TEST_REQUIRE(told <= exact + exact / 8, seed << " " << q);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_too_long_is_counted_and_its_maximum_is_exact) {
  weir::histogram h;
  h.record(1ms);
  h.record(100h);
  h.record(duration::max());
  BOOST_TEST(h.count() == 3U);
  BOOST_TEST((h.max() == duration::max()));
  BOOST_TEST((h.quantile(1) == duration::max()));
  BOOST_TEST(h.at_most(1h) == 1U);
  BOOST_TEST(h.at_most(duration::max()) == 3U);
}

BOOST_AUTO_TEST_CASE(adds_up_and_subtracts) {
  weir::histogram a;
  weir::histogram b;
  for (int i = 1; i <= 100; ++i) a.record(std::chrono::milliseconds(i));
  for (int i = 1; i <= 10; ++i) b.record(std::chrono::seconds(i));
  weir::histogram both = a;
  both += b;
  BOOST_TEST(both.count() == 110U);
  BOOST_TEST((both.sum() == a.sum() + b.sum() && both.max() == 10s));
  const weir::histogram again = both.since(a);
  BOOST_TEST(again.count() == 10U);
  BOOST_TEST((again.sum() == b.sum() && again.max() == 10s));
  BOOST_TEST((again.quantile(0.5) == b.quantile(0.5)));
  BOOST_TEST((both.since(both) == weir::histogram()));
}

BOOST_AUTO_TEST_SUITE_END()
