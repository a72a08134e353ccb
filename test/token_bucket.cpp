// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/random.hpp>
#include <weir/token_bucket.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>

using namespace std::chrono_literals;
using weir::rate_options;
using weir::token_bucket;

BOOST_AUTO_TEST_SUITE(token_bucket_suite)

namespace {

constexpr weir::time_point start{std::chrono::hours(1)};

}  // namespace

BOOST_AUTO_TEST_CASE(options_out_of_range_are_not_valid) {
  BOOST_TEST(rate_options{}.valid());
  BOOST_TEST((rate_options{.rate = 50, .per = 1s, .burst = 10}.valid()));
  BOOST_TEST((rate_options{.rate = 1, .per = 1h, .burst = 500'000}.valid()));
  BOOST_TEST((!rate_options{.rate = 0}.valid()));
  BOOST_TEST((!rate_options{.rate = -1}.valid()));
  BOOST_TEST((!rate_options{.per = 0s}.valid()));
  BOOST_TEST((!rate_options{.per = -1s}.valid()));
  BOOST_TEST((!rate_options{.burst = 0}.valid()));
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  BOOST_TEST((!rate_options{.rate = huge}.valid()));
  BOOST_TEST((!rate_options{.burst = huge}.valid()));
}

BOOST_AUTO_TEST_CASE(burst_is_there_at_once_and_then_the_rate) {
  token_bucket b({.rate = 50, .per = 1s, .burst = 10}, start);
  for (int i = 0; i < 10; ++i) BOOST_TEST(b.try_take(1, start));
  BOOST_TEST(!b.try_take(1, start));
  BOOST_TEST(!b.try_take(1, start + 20ms - 1ns));
  BOOST_TEST(b.try_take(1, start + 20ms));
  BOOST_TEST(!b.try_take(1, start + 20ms));
}

BOOST_AUTO_TEST_CASE(long_sleep_gives_the_burst_and_no_more) {
  token_bucket b({.rate = 1'000'000, .per = 1s, .burst = 5}, start);
  BOOST_TEST(b.try_take(5, start));
  const auto later = start + std::chrono::hours(24 * 365 * 100);
  BOOST_TEST(b.available(later) == 5);
  BOOST_TEST(b.try_take(5, later));
  BOOST_TEST(!b.try_take(1, later));
}

BOOST_AUTO_TEST_CASE(no_burst_across_the_edge_of_a_window) {
  // What a counter that starts anew each second allows: twice the rate around the edge.
  token_bucket b({.rate = 10, .per = 1s, .burst = 10}, start);
  int taken = 0;
  for (auto t = start + 900ms; t < start + 1100ms; t += 1ms) taken += b.try_take(1, t);
  BOOST_TEST(taken == 11);  // the burst, and what comes in 0.2 s less the part of a token
}

BOOST_AUTO_TEST_CASE(more_than_the_burst_is_never_there) {
  token_bucket b({.rate = 10, .per = 1s, .burst = 3}, start);
  BOOST_TEST(!b.try_take(4, start + 1h));
}

BOOST_AUTO_TEST_CASE(timestamps_out_of_order_mint_nothing_and_freeze_nothing) {
  token_bucket b({.rate = 10, .per = 1s, .burst = 1}, start);
  std::int64_t taken = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto now = start + 1ms * i;
    taken += b.try_take(1, now);
    taken += b.try_take(1, now - 1s);
  }
  BOOST_TEST(taken <= 1 + 10);
  BOOST_TEST(taken >= 10);
}

BOOST_AUTO_TEST_CASE(time_of_readiness_is_exact_to_the_nanosecond) {
  token_bucket b({.rate = 3, .per = 1s, .burst = 2}, start);
  BOOST_TEST(b.try_take(2, start));
  const auto ready = b.when(1, start);
  BOOST_TEST(((ready - start) == 333'333'334ns));
  BOOST_TEST(!b.try_take(1, ready - 1ns));
  BOOST_TEST(b.try_take(1, ready));
}

BOOST_AUTO_TEST_CASE(thirds_add_up_without_drift) {
  token_bucket b({.rate = 3, .per = 1s, .burst = 1}, start);
  std::int64_t taken = 0;
  for (auto t = start; t <= start + 1000s; t += 1ms) taken += b.try_take(1, t);
  BOOST_TEST(taken >= 2995);
  BOOST_TEST(taken <= 3001);
}

BOOST_AUTO_TEST_CASE(debt_is_paid_before_anybody_is_served) {
  token_bucket b({.rate = 10, .per = 1s, .burst = 2}, start);
  BOOST_TEST((b.take(2, start) == start));
  BOOST_TEST((b.take(2, start) == start + 200ms));
  BOOST_TEST(b.available(start) == -2);
  BOOST_TEST(!b.try_take(1, start + 200ms));
  BOOST_TEST(b.try_take(1, start + 300ms));
}

BOOST_AUTO_TEST_CASE(refund_is_exact_and_gathers_no_more_than_the_burst) {
  token_bucket b({.rate = 10, .per = 1s, .burst = 4}, start);
  BOOST_TEST((b.take(4, start) == start));
  BOOST_TEST((b.take(3, start) == start + 300ms));
  b.refund(3);
  BOOST_TEST((b.when(1, start) == start + 100ms));
  b.refund(4);
  b.refund(4);
  BOOST_TEST(b.available(start) == 4);
}

BOOST_AUTO_TEST_CASE(reconfiguration_keeps_what_has_gathered_up_to_the_new_burst) {
  token_bucket b({.rate = 10, .per = 1s, .burst = 10}, start);
  BOOST_TEST(b.try_take(4, start));
  b.reconfigure({.rate = 1, .per = 1min, .burst = 20}, start);
  BOOST_TEST(b.available(start) == 6);
  BOOST_TEST(b.available(start + 1min) == 7);
  b.reconfigure({.rate = 1, .per = 1s, .burst = 2}, start + 1min);
  BOOST_TEST(b.available(start + 1min) == 2);
}

BOOST_AUTO_TEST_CASE(reconfiguration_forgives_no_debt) {
  token_bucket b({.rate = 10, .per = 1s, .burst = 10}, start);
  for (int i = 0; i < 6; ++i) b.take(10, start);
  b.reconfigure({.rate = 1, .per = 1min, .burst = 2}, start);
  BOOST_TEST(b.available(start) == -50);
  BOOST_TEST((b.when(1, start) == start + 51min));
}

BOOST_AUTO_TEST_CASE(debt_that_new_options_cannot_count_is_as_great_as_they_can) {
  constexpr std::int64_t many = 1'000'000'000;
  token_bucket b({.rate = 1, .per = 1ns, .burst = many}, start);
  for (int i = 0; i < 1'000'000; ++i) b.take(many, start);
  b.reconfigure({.rate = 1, .per = 24h, .burst = 2}, start);
  BOOST_TEST(!b.may_owe(2));
  BOOST_TEST(b.available(start) < -50'000);
}

BOOST_AUTO_TEST_CASE(never_more_than_burst_plus_rate_in_any_stretch_of_any_program) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    weir::test::random draw(seed);
    const rate_options o{.rate = draw.between(1, 1000),
                         .per = std::chrono::microseconds(draw.between(1, 100'000)),
                         .burst = draw.between(1, 50)};
    token_bucket b(o, start);
    auto now = start;
    std::int64_t taken = 0;
    for (int i = 0; i < 300; ++i) {
      now += std::chrono::nanoseconds(draw.below(2'000'000));
      const int n = draw.between(1, 5);
      if (b.try_take(n, now - std::chrono::nanoseconds(draw.below(1000)))) taken += n;
      const double most =
          static_cast<double>(o.burst) + static_cast<double>(o.rate) *
                                             std::chrono::duration<double>(now - start).count() /
                                             std::chrono::duration<double>(o.per).count();
      BOOST_TEST_REQUIRE(static_cast<double>(taken) <= most + 1e-6);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
