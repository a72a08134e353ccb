// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/scale_policy.hpp>
#include <weir/test/random.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <vector>

using namespace std::chrono_literals;
using weir::scale_policy;
using weir::scale_reason;

BOOST_AUTO_TEST_SUITE(scale_policy_suite)

namespace {

/// Workers that each take a task after 10 ms, and a queue before them, by steps of 100 ms.
class scaled {
 public:
  explicit scaled(weir::scale_options options) : policy(options) {}

  /// So many tasks come each second, for so long.
  void run(double rate, weir::duration length) {
    for (const auto end = now + length; now < end; now += 100ms) {
      const double served = workers / takes;  // a second
      backlog = std::max(0.0, backlog + (rate - served) * 0.1);
      const double busy = backlog > 0 ? workers : rate * takes;
      const weir::scale_load load{workers, static_cast<std::size_t>(busy),
                                  static_cast<std::size_t>(backlog),
                                  std::chrono::duration_cast<weir::duration>(
                                      std::chrono::duration<double>(backlog / served))};
      if (const auto c = policy.on_load(now, load)) {
        BOOST_TEST(c->from == workers);
        BOOST_TEST(c->to != workers);
        workers = c->to;
        changes.push_back(*c);
        times.push_back(now);
      }
    }
  }

  scale_policy policy;
  int workers = 1;
  weir::time_point now{1h};
  double takes = 0.01;
  double backlog = 0;
  std::vector<weir::scale_change> changes;
  std::vector<weir::time_point> times;
};

constexpr weir::time_point start{1h};

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_changes_while_no_task_waits_longer_than_the_target) {
  scale_policy p({.min = 1, .max = 10, .target = 20ms});
  BOOST_TEST(!p.on_load(start, {.workers = 4, .active = 4, .queued = 1000, .wait = 20ms}));
  BOOST_TEST(
      p.on_load(start, {.workers = 4, .active = 4, .queued = 1000, .wait = 21ms}).has_value());
}

BOOST_AUTO_TEST_CASE(growth_follows_the_wait_and_is_bounded) {
  const auto grown = [](weir::duration wait, std::size_t queued, int max = 1000) {
    scale_policy p({.min = 1, .max = max, .target = 20ms, .growth = 0.5});
    const auto c =
        p.on_load(start, {.workers = 100, .active = 100, .queued = queued, .wait = wait});
    return c ? c->to : 100;
  };
  BOOST_TEST(grown(21ms, 1000) == 105);
  BOOST_TEST(grown(24ms, 1000) == 120);
  BOOST_TEST(grown(30ms, 1000) == 150);
  BOOST_TEST(grown(10s, 1000) == 150);
  BOOST_TEST(grown(10s, 1000, 130) == 130);
  BOOST_TEST(grown(10s, 1000, 100) == 100);
  BOOST_TEST(grown(10s, 3) == 103, "not more workers than tasks");
  BOOST_TEST(grown(10s, 0) == 100);
  BOOST_TEST(grown(20ms + 1ns, 1000) == 101, "one at least");
}

BOOST_AUTO_TEST_CASE(a_number_outside_the_bounds_is_brought_inside_at_once) {
  scale_policy p({.min = 3, .max = 5});
  const auto up = p.on_load(start, {.workers = 1});
  BOOST_TEST((up == weir::scale_change{1, 3, scale_reason::bounds}));
  const auto down = p.on_load(start, {.workers = 9, .active = 9});
  BOOST_TEST((down == weir::scale_change{9, 5, scale_reason::bounds}));
}

BOOST_AUTO_TEST_CASE(options_are_clamped_as_they_say) {
  const auto o = scale_policy({.min = -1,
                               .max = -7,
                               .target = -1s,
                               .grow_after = -1s,
                               .shrink_after = -1s,
                               .growth = -1,
                               .shrinkage = 7,
                               .utilisation = std::numeric_limits<double>::quiet_NaN()})
                     .options();
  BOOST_TEST(o.min == 1);
  BOOST_TEST(o.max == 1);
  BOOST_TEST((o.target == 0s && o.grow_after == 0s && o.shrink_after == 0s));
  BOOST_TEST(o.growth == 0.0);
  BOOST_TEST(o.shrinkage == 1.0);
  BOOST_TEST(o.utilisation == 0.1);
}

BOOST_AUTO_TEST_CASE(a_step_up_is_met_in_seconds_and_a_step_down_in_minutes) {
  scaled s({.min = 1, .max = 100});
  s.run(2000, 20s);  // 20 workers are busy all the time
  BOOST_TEST(s.workers >= 29, "of which 0.7 are 20");
  BOOST_TEST(s.backlog == 0);
  s.run(100, 29s);
  BOOST_TEST(s.workers >= 29, "the peak is too near");
  s.run(100, 10min);
  BOOST_TEST(s.workers == 2, "of which 0.7 are busy");
  for (std::size_t i = 1; i < s.changes.size(); ++i)
    if (s.changes[i].why == scale_reason::utilisation)
      BOOST_TEST((s.times[i] - s.times[i - 1] >= 30s));
}

BOOST_AUTO_TEST_CASE(a_load_that_oscillates_does_not_flap) {
  scaled s({.min = 1, .max = 100});
  for (int i = 0; i < 15; ++i) {  // what the first backlog asked for goes again
    s.run(2000, 10s);
    s.run(50, 10s);
  }
  const auto settled = s.changes.size();
  for (int i = 0; i < 100; ++i) {
    s.run(2000, 10s);
    s.run(50, 10s);
  }
  BOOST_TEST(s.workers == 29);
  BOOST_TEST(s.changes.size() == settled);
}

BOOST_AUTO_TEST_CASE(what_it_settles_at_serves_the_load_within_the_target) {
  for (const double rate : {50.0, 300.0, 1000.0, 5000.0}) {
    scaled s({.min = 1, .max = 200});
    s.run(rate, 10min);
    const auto settled = s.changes.size();
    s.run(rate, 10min);
    BOOST_TEST(s.changes.size() == settled, "at " << rate);
    BOOST_TEST(s.backlog == 0);
    BOOST_TEST(s.workers * 100 >= rate);
    BOOST_TEST(s.workers * 100 * 0.7 <= rate + 100, "no more than utilisation asks for");
  }
}

BOOST_AUTO_TEST_CASE(at_the_hard_cap_nothing_more_comes_however_long_the_queue) {
  scaled s({.min = 1, .max = 4});
  s.run(10'000, 5min);
  BOOST_TEST(s.workers == 4);
}

BOOST_AUTO_TEST_CASE(bounds_and_cooldowns_hold_under_any_load) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    weir::test::random random(seed);
    const weir::scale_options options{
        .min = random.between(1, 4),
        .max = random.between(1, 20),
        .target = std::chrono::milliseconds(random.between(0, 3)),
        .grow_after = std::chrono::milliseconds(random.between(0, 3)),
        .shrink_after = std::chrono::milliseconds(random.between(0, 5)),
        .growth = random.between(0, 3) * 0.5,
        .shrinkage = random.between(0, 4) * 0.25,
        .utilisation = random.between(1, 4) * 0.25};
    scale_policy p(options);
    const auto o = p.options();
    int workers = random.between(1, 25);
    weir::time_point now = start;
    std::optional<weir::time_point> last;
    for (int i = 0; i < 60; ++i, now += std::chrono::milliseconds(random.between(0, 2))) {
      const weir::scale_load load{workers, static_cast<std::size_t>(random.between(0, workers)),
                                  static_cast<std::size_t>(random.between(0, 3)),
                                  std::chrono::milliseconds(random.between(0, 4))};
      const auto c = p.on_load(now, load);
      if (!c) {
        BOOST_REQUIRE(workers >= o.min);
        BOOST_REQUIRE(workers <= o.max);
        continue;
      }
      BOOST_REQUIRE(c->to >= o.min);
      BOOST_REQUIRE(c->to <= o.max);
      BOOST_REQUIRE(c->to != workers);
      if (c->why == scale_reason::queue_wait) {
        BOOST_REQUIRE((c->to > workers && load.wait > o.target));
        BOOST_REQUIRE((!last || now - *last >= o.grow_after));
        BOOST_REQUIRE(c->to - workers <= std::max(1.0, workers * o.growth));
      } else if (c->why == scale_reason::utilisation) {
        BOOST_REQUIRE(c->to < workers);
        BOOST_REQUIRE((!last || now - *last >= o.shrink_after));
        BOOST_REQUIRE(workers - c->to <= std::max(1.0, workers * o.shrinkage));
      }
      last = now;
      workers = c->to;
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
