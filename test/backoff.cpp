// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/backoff.hpp>
#include <weir/test/random.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

using namespace std::chrono_literals;
using weir::backoff;
using weir::backoff_options;
using weir::duration;
using weir::jitter;

BOOST_AUTO_TEST_SUITE(backoff_suite)

namespace {

constexpr jitter every_jitter[] = {jitter::full, jitter::equal, jitter::decorrelated, jitter::none};

/// Draws the same number each time: the lowest, the highest.
struct constant {
  using result_type = std::uint64_t;
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~result_type{0}; }
  result_type operator()() noexcept { return value; }
  result_type value;
};

std::vector<duration> delays(const backoff_options& o, std::uint64_t drawn, int count) {
  backoff b(o);
  constant generator{drawn};
  std::vector<duration> all;
  for (int i = 0; i < count; ++i) all.push_back(b.next(generator));
  return all;
}

constexpr std::uint64_t lowest = 0;
constexpr std::uint64_t highest = ~std::uint64_t{0};

}  // namespace

BOOST_AUTO_TEST_CASE(options_out_of_range_are_not_valid) {
  BOOST_TEST(backoff_options{}.valid());
  BOOST_TEST((backoff_options{.factor = 1, .floor = 30s}.valid()));
  BOOST_TEST((!backoff_options{.base = 0s}.valid()));
  BOOST_TEST((!backoff_options{.base = -1s}.valid()));
  BOOST_TEST((!backoff_options{.factor = 0.9}.valid()));
  BOOST_TEST((!backoff_options{.factor = std::numeric_limits<double>::infinity()}.valid()));
  BOOST_TEST((!backoff_options{.factor = std::numeric_limits<double>::quiet_NaN()}.valid()));
  BOOST_TEST((!backoff_options{.base = 2s, .cap = 1s}.valid()));
  BOOST_TEST((!backoff_options{.floor = -1ns}.valid()));
  BOOST_TEST((!backoff_options{.floor = 31s}.valid()));
}

BOOST_AUTO_TEST_CASE(bounds_of_each_kind_are_those_of_its_source) {
  const backoff_options o{.base = 100ms, .factor = 2, .cap = 500ms};
  const auto with = [&](jitter j) {
    backoff_options changed = o;
    changed.jitter = j;
    return changed;
  };
  using list = std::vector<duration>;
  const list ceilings{100ms, 200ms, 400ms, 500ms, 500ms};
  BOOST_TEST((delays(with(jitter::none), lowest, 5) == ceilings));
  BOOST_TEST((delays(with(jitter::none), highest, 5) == ceilings));
  BOOST_TEST((delays(with(jitter::full), lowest, 5) == list{0s, 0s, 0s, 0s, 0s}));
  BOOST_TEST((delays(with(jitter::full), highest, 5) == ceilings));
  BOOST_TEST((delays(with(jitter::equal), lowest, 5) == list{50ms, 100ms, 200ms, 250ms, 250ms}));
  BOOST_TEST((delays(with(jitter::equal), highest, 5) == ceilings));
  BOOST_TEST((delays(with(jitter::decorrelated), lowest, 3) == list{100ms, 100ms, 100ms}));
  BOOST_TEST((delays(with(jitter::decorrelated), highest, 3) == list{300ms, 500ms, 500ms}));
}

BOOST_AUTO_TEST_CASE(no_delay_is_below_the_floor_or_above_the_cap_at_any_attempt) {
  for (const jitter j : every_jitter)
    for (const duration cap : {duration(1s), duration(24h), duration::max()})
      for (const double factor : {1.0, 1.5, 2.0, 1e300}) {
        const backoff_options o{
            .base = 1ms, .factor = factor, .cap = cap, .jitter = j, .floor = 1ms};
        BOOST_TEST_REQUIRE(o.valid());
        for (const std::uint64_t drawn : {lowest, highest}) {
          for (const duration d : delays(o, drawn, 5000)) {
            BOOST_TEST_REQUIRE((d >= 1ms));
            BOOST_TEST_REQUIRE((d <= cap));
          }
        }
      }
}

BOOST_AUTO_TEST_CASE(floor_above_the_ceiling_is_the_delay) {
  for (const jitter j : every_jitter) {
    const backoff_options o{.base = 1ms, .cap = 1s, .jitter = j, .floor = 1s};
    BOOST_TEST((delays(o, highest, 3) == std::vector<duration>{1s, 1s, 1s}));
  }
}

BOOST_AUTO_TEST_CASE(thousand_that_fail_together_come_back_spread_and_not_before_the_base) {
  for (const jitter j : {jitter::full, jitter::equal, jitter::decorrelated}) {
    weir::test::random generator(7);
    std::vector<duration> second;
    for (int i = 0; i < 1000; ++i) {
      backoff b({.base = 100ms, .factor = 3, .cap = 10s, .jitter = j, .floor = 100ms});
      b.next(generator);
      second.push_back(b.next(generator));
    }
    BOOST_TEST((*std::min_element(second.begin(), second.end()) >= 100ms));
    // No tenth of the time gets more than three times its share.
    const auto [from, to] = std::minmax_element(second.begin(), second.end());
    const duration width = (*to - *from) / 10 + 1ns;
    int in[10] = {};
    for (const duration d : second) ++in[(d - *from) / width];
    BOOST_TEST(*std::max_element(std::begin(in), std::end(in)) < 300);
    BOOST_TEST((std::set<duration>(second.begin(), second.end()).size() > 990U));
  }
}

BOOST_AUTO_TEST_CASE(full_jitter_is_even_over_the_whole_range) {
  weir::test::random generator(1);
  std::int64_t sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    backoff b({.base = 1s});
    sum += b.next(generator).count();
  }
  const double mean = static_cast<double>(sum) / 20'000 / 1e9;
  BOOST_TEST(mean > 0.49);
  BOOST_TEST(mean < 0.51);
}

BOOST_AUTO_TEST_CASE(same_generator_gives_the_same_delays_and_reset_starts_anew) {
  weir::test::random one(5);
  weir::test::random two(5);
  backoff a({.jitter = jitter::decorrelated});
  backoff b({.jitter = jitter::decorrelated});
  for (int i = 0; i < 20; ++i) BOOST_TEST((a.next(one) == b.next(two)));
  backoff c({.base = 1ms, .jitter = jitter::none});
  BOOST_TEST((c.next(one) == 1ms));
  BOOST_TEST((c.next(one) == 2ms));
  c.reset();
  BOOST_TEST((c.next(one) == 1ms));
}

BOOST_AUTO_TEST_SUITE_END()
