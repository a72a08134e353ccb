// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/random.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <set>

BOOST_AUTO_TEST_SUITE(random_suite)

BOOST_AUTO_TEST_CASE(numbers_are_those_of_the_published_generator) {
  // The first outputs of SplitMix64 for the seed 1234567.
  weir::test::random r(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317U, 3203168211198807973U, 9817491932198370423U, 4593380528125082431U,
        16408922859458223821U})
    BOOST_TEST(r() == expected);
}

BOOST_AUTO_TEST_CASE(below_reaches_every_number_and_none_beyond) {
  weir::test::random r(1);
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i) ++seen.at(r.below(7));
  for (const int n : seen) BOOST_TEST((n > 800 && n < 1200));
  for (int i = 0; i < 100; ++i) BOOST_TEST(r.below(1) == 0U);
}

BOOST_AUTO_TEST_CASE(between_includes_both_ends) {
  weir::test::random r(2);
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) seen.insert(r.between(-1, 2));
  BOOST_TEST((seen == std::set<int>{-1, 0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(chance_is_never_at_0_always_at_1_and_about_right_between) {
  weir::test::random r(3);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    BOOST_TEST_REQUIRE(!r.chance(0));
    BOOST_TEST_REQUIRE(r.chance(1));
    hits += r.chance(0.3);
  }
  BOOST_TEST((hits > 2800 && hits < 3200));
}

BOOST_AUTO_TEST_SUITE_END()
