// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "limited_server.hpp"

#include <weir/gradient_limit.hpp>
#include <weir/test/random.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

using namespace std::chrono_literals;
using weir::gradient_limit;
using weir::gradient_options;

BOOST_AUTO_TEST_SUITE(gradient_limit_suite)

using server = weir_test::limited_server<gradient_limit>;

namespace {

constexpr weir::time_point start{std::chrono::hours(1)};

/// Above this the limit does not settle where `c` are served at once; from its documentation, with
/// the square root of the limit written out. A sixth and one are for "about": the first calls of
/// a window to end are those that waited least.
double highest(std::size_t c) {
  const double t = 1.5 * static_cast<double>(c);
  return (t + 0.5 + std::sqrt(t + 0.25)) * 7 / 6 + 1;
}

/// How long `calls` take where the server is never idle.
double busy_ms(std::size_t calls, const server::conditions& s) {
  return static_cast<double>(calls) * std::chrono::duration<double, std::milli>(s.takes).count() /
         static_cast<double>(s.serves);
}

double ms(weir::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// Windows of calls that follow each other, one at a time in a crowd of `in_flight`.
class caller {
 public:
  explicit caller(gradient_limit& l) : limit_(l) {}
  int call(weir::duration takes, int in_flight, bool dropped = false) {
    now_ += takes + 1ns;  // begins after whatever the last one has led to
    return limit_.on_sample(now_, takes, in_flight, dropped);
  }
  int window(weir::duration takes, int in_flight) {
    for (int i = std::max(limit_.options().window, limit_.limit()); i != 0; --i)
      call(takes, in_flight);
    return limit_.limit();
  }
  weir::time_point now() const { return now_; }

 private:
  gradient_limit& limit_;
  weir::time_point now_ = start;
};

}  // namespace

BOOST_AUTO_TEST_CASE(options_out_of_range_are_not_valid) {
  BOOST_TEST(gradient_options{}.valid());
  BOOST_TEST((gradient_options{.initial = 1, .min = 1, .max = 1}.valid()));
  BOOST_TEST((gradient_options{.tolerance = 1, .smoothing = 1, .window = 1}.valid()));
  BOOST_TEST((!gradient_options{.min = 0}.valid()));
  BOOST_TEST((!gradient_options{.initial = 4, .min = 5}.valid()));
  BOOST_TEST((!gradient_options{.initial = 6, .max = 5}.valid()));
  BOOST_TEST((!gradient_options{.initial = 5, .min = 6, .max = 5}.valid()));
  BOOST_TEST((!gradient_options{.queue = -1}.valid()));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double t : {0.9, 2.0, -1.0, nan})
    BOOST_TEST((!gradient_options{.tolerance = t}.valid()));
  for (const double s : {0.0, 1.1, -1.0, nan})
    BOOST_TEST((!gradient_options{.smoothing = s}.valid()));
  for (const double b : {0.0, 1.0, -1.0, nan})
    BOOST_TEST((!gradient_options{.backoff = b}.valid()));
  BOOST_TEST((!gradient_options{.window = 0}.valid()));
  BOOST_TEST((!gradient_options{.probe_every = 0}.valid()));
}

BOOST_AUTO_TEST_CASE(settles_between_what_is_served_at_once_and_the_tolerated_share_above_it) {
  for (const double spread : {0.0, 0.3})
    for (const std::size_t c : {1U, 4U, 20U, 200U})
      for (const int initial : {1, 500}) {
        BOOST_TEST_CONTEXT("spread " << spread << ", " << c << " at once, from " << initial) {
          gradient_limit limit({.initial = initial});
          server s(limit, {.serves = c, .spread = spread});
          s.run(20'000);
          const auto seen = s.run(20'000);
          BOOST_TEST(seen.least >= static_cast<int>(c));
          BOOST_TEST(seen.most <= highest(c));
          // The server is busy but for the probes, and what waits there is bounded.
          BOOST_TEST(ms(seen.took) <= 1.05 * busy_ms(20'000, s.now));
          if (spread == 0.0)
            BOOST_TEST(ms(seen.longest_wait) <= (highest(c) / static_cast<double>(c)) * 10);
        }
      }
}

BOOST_AUTO_TEST_CASE(settles_where_times_vary_as_much_as_they_can) {
  for (const std::size_t c : {1U, 4U, 20U, 200U})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      BOOST_TEST_CONTEXT(c << " at once, seed " << seed) {
        gradient_limit limit({});
        server s(limit, {.serves = c, .spread = 1}, seed);
        s.run(20'000);
        const auto seen = s.run(20'000);
        BOOST_TEST(seen.least >= static_cast<int>(c) / 2);
        BOOST_TEST(seen.most <= highest(c));
        BOOST_TEST(ms(seen.took) <= 1.2 * busy_ms(20'000, s.now));
      }
    }
}

BOOST_AUTO_TEST_CASE(
    comes_down_within_a_few_windows_when_the_capacity_halves_and_not_to_the_least) {
  for (const std::size_t c : {2U, 4U, 10U, 20U, 50U, 200U}) {
    BOOST_TEST_CONTEXT(c << " at once") {
      gradient_limit limit({});
      server s(limit, {.serves = c});
      s.run(30'000);
      s.now.serves = c / 2;
      s.run(10 * std::max<std::size_t>(50, 2 * c));
      const auto seen = s.run(10'000);
      BOOST_TEST(seen.most <= highest(c / 2));
      BOOST_TEST(seen.least >= static_cast<int>(c / 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(goes_up_when_the_capacity_doubles) {
  gradient_limit limit({});
  server s(limit, {.serves = 10});
  s.run(10'000);
  s.now.serves = 20;
  s.run(2000);
  const auto seen = s.run(10'000);
  BOOST_TEST(seen.least >= 20);
  BOOST_TEST(seen.most <= highest(20));
}

BOOST_AUTO_TEST_CASE(finds_back_when_each_call_takes_twice_as_long_and_as_many_are_served) {
  // What one who only remembers the shortest time ever seen does not.
  gradient_limit limit({});
  server s(limit, {.serves = 20});
  s.run(10'000);
  s.now.takes = 20ms;
  const auto lost = s.run(3000);
  BOOST_TEST(lost.least >= 5);  // half of it is given away meanwhile, not all
  const auto seen = s.run(10'000);
  BOOST_TEST(seen.least >= 20);
  BOOST_TEST(seen.most <= highest(20));
}

BOOST_AUTO_TEST_CASE(does_not_drift_while_the_house_stays_full) {
  // What one who takes a long-term average for the unloaded time does.
  gradient_limit limit({});
  server s(limit, {.serves = 20, .spread = 0.3});
  s.run(200'000);
  BOOST_TEST(s.run(5000).most <= highest(20));
}

BOOST_AUTO_TEST_CASE(limit_that_is_not_used_does_not_grow) {
  gradient_limit limit({.initial = 20});
  server s(limit, {.serves = 100, .callers = 5});
  const auto seen = s.run(20'000);
  BOOST_TEST(seen.most == 20);
  s.now.callers = 9;
  BOOST_TEST(s.run(20'000).most == 20);
  s.now.callers = 10;
  BOOST_TEST(s.run(2'000).most > 20);
}

BOOST_AUTO_TEST_CASE(load_that_is_no_trouble_is_probed_once_and_then_left_alone) {
  gradient_limit limit({.initial = 20});
  caller c(limit);
  c.call(10ms, 4);  // what ends first only opens the window
  c.window(10ms, 4);
  BOOST_TEST(limit.probing());
  BOOST_TEST(limit.limit() == 1);
  c.window(10ms, 1);
  for (int i = 0; i < 200; ++i) {
    BOOST_TEST_REQUIRE(!limit.probing());
    c.window(10ms, 4);
  }
  BOOST_TEST(limit.limit() == 20);
  c.window(30ms, 4);  // now it is slow
  BOOST_TEST(limit.probing());
}

BOOST_AUTO_TEST_CASE(full_house_that_is_refused_counts_once) {
  gradient_limit limit({.initial = 100, .backoff = 0.9});
  const auto now = start + 1s;
  limit.on_sample(start, 1ms, 100, false);
  for (int i = 0; i < 100; ++i) limit.on_sample(now, 10ms, 100 - i, true);
  BOOST_TEST(limit.limit() == 90);
  limit.on_sample(now + 5ms, 6ms, 90, true);  // began before that
  limit.on_sample(now, 0ms, 90, true);        // in that instant
  BOOST_TEST(limit.limit() == 90);
  limit.on_sample(now + 5ms, 1ms, 90, true);
  BOOST_TEST(limit.limit() == 81);
}

BOOST_AUTO_TEST_CASE(refusals_take_it_down_to_the_least_and_no_further_and_it_comes_back) {
  gradient_limit limit({.initial = 20, .min = 3});
  caller c(limit);
  for (int i = 0; i < 100; ++i) c.call(1ms, 3, true);
  BOOST_TEST(limit.limit() == 3);
  server s(limit, {.serves = 20});
  s.run(10'000);
  BOOST_TEST(limit.limit() >= 20);
}

BOOST_AUTO_TEST_CASE(refusal_during_a_probe_lowers_what_it_comes_back_to) {
  gradient_limit limit({.initial = 100});
  caller c(limit);
  c.call(10ms, 100);
  c.window(10ms, 100);
  BOOST_TEST(limit.probing());
  const int probe = limit.limit();
  for (int i = 0; i < 30; ++i) c.call(10ms, 40, true);
  BOOST_TEST(limit.probing());
  BOOST_TEST(limit.limit() < probe);
  c.window(10ms, 1);
  BOOST_TEST(!limit.probing());
  BOOST_TEST(limit.limit() < 10);
}

BOOST_AUTO_TEST_CASE(times_that_are_not_above_zero_say_nothing) {
  gradient_limit limit({});
  caller c(limit);
  for (int i = 0; i < 10; ++i) c.window(10ms, 20);
  const int before = limit.limit();
  const auto unloaded = limit.unloaded_time();
  for (int i = 0; i < 10'000; ++i) {
    limit.on_sample(c.now() + i * 1ns, 0ms, before, false);
    limit.on_sample(c.now() + i * 1ns, -1ms, before, false);
    limit.on_sample(c.now() + i * 1ns, 0ms, 0, false);
  }
  BOOST_TEST(limit.limit() == before);
  BOOST_TEST((limit.unloaded_time() == unloaded));
}

BOOST_AUTO_TEST_CASE(timestamps_out_of_order_do_no_harm) {
  gradient_limit limit({.initial = 20});
  for (int i = 0; i < 1000; ++i) {
    const auto now = start + 1ms * i;
    limit.on_sample(now, 1us, 20, false);
    limit.on_sample(now - 1s, 1us, 20, true);
    limit.on_sample(now - 1s, 1us, 20, false);
  }
  // Refusals of the second before count as of the window that was open then: for nothing.
  BOOST_TEST(limit.limit() >= 20);
}

BOOST_AUTO_TEST_CASE(one_call_that_hangs_moves_little) {
  gradient_limit limit({});
  server s(limit, {.serves = 20});
  s.run(10'000);
  caller c(limit);
  const int before = limit.limit();
  for (int i = 0; i < 20; ++i) {
    c.call(10s, before);
    c.window(10ms, before);
  }
  BOOST_TEST(limit.limit() >= before - 1);
}

BOOST_AUTO_TEST_CASE(stays_within_its_bounds_whatever_it_is_told) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    weir::test::random draw(seed);
    const int least = draw.between(1, 10);
    const int most = least + draw.between(0, 50);
    gradient_limit limit({.initial = draw.between(least, most),
                          .min = least,
                          .max = most,
                          .queue = draw.between(0, 3),
                          .tolerance = 1 + 0.3 * draw.between(0, 3),
                          .smoothing = 0.25 * draw.between(1, 4),
                          .window = draw.between(1, 5),
                          .probe_every = draw.between(1, 5)});
    auto now = start;
    for (int i = 0; i < 500; ++i) {
      now += draw.between(0, 3) * 1ms - 1ms * draw.between(0, 1);
      const int n =
          limit.on_sample(now, draw.between(-1, 3) * 1ms, draw.between(0, 70), draw.chance(0.1));
      BOOST_TEST_REQUIRE(n == limit.limit());
      BOOST_TEST_REQUIRE(n >= least);
      BOOST_TEST_REQUIRE(n <= most);
      BOOST_TEST_REQUIRE((limit.time() >= 0ns));
      BOOST_TEST_REQUIRE((limit.unloaded_time() >= 0ns));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
