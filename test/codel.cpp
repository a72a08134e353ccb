// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/codel.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <random>
#include <vector>

BOOST_AUTO_TEST_SUITE(codel)

namespace {

using namespace std::chrono_literals;

weir::time_point at(weir::duration d) { return weir::time_point(1h + d); }

constexpr weir::codel_options five{.target = 5ms, .interval = 100ms};

/// A policy that has seen one wait from 0 on, and was looked at after 100 ms.
weir::codel overloaded_at_100ms() {
  weir::codel c(five);
  c.on_first(at(0ms));
  c.look(at(10ms), at(100ms));
  return c;
}

}  // namespace

BOOST_AUTO_TEST_CASE(is_off_without_a_target) {
  BOOST_TEST(!weir::codel({}).enabled());
  BOOST_TEST(!weir::codel({.target = -1ms}).enabled());
  BOOST_TEST(weir::codel({.target = 1ms}).enabled());
}

BOOST_AUTO_TEST_CASE(interval_is_no_shorter_than_the_target) {
  weir::codel c({.target = 5ms, .interval = 1ms});
  c.on_first(at(0ms));
  BOOST_TEST((c.due(at(0ms)) == at(5ms)));
}

BOOST_AUTO_TEST_CASE(lasting_delay_is_overload_and_a_burst_is_none) {
  weir::codel c(five);
  c.on_first(at(0ms));
  c.on_served(6ms, at(50ms));
  c.look(at(20ms), at(99ms));
  BOOST_TEST(!c.overloaded(at(99ms)));
  c.look(at(20ms), at(100ms));
  BOOST_TEST(c.overloaded(at(100ms)));
}

BOOST_AUTO_TEST_CASE(one_served_within_the_target_puts_overload_off) {
  weir::codel c(five);
  c.on_first(at(0ms));
  c.on_served(5ms, at(50ms));
  c.look(at(20ms), at(149ms));
  BOOST_TEST(!c.overloaded(at(149ms)));
  c.look(at(20ms), at(150ms));
  BOOST_TEST(c.overloaded(at(150ms)));
}

BOOST_AUTO_TEST_CASE(queue_of_those_who_have_just_come_is_not_overloaded) {
  weir::codel c(five);
  c.on_first(at(0ms));
  c.look(at(196ms), at(200ms));
  BOOST_TEST(!c.overloaded(at(200ms)));
  c.look(at(196ms), at(201ms));
  BOOST_TEST(c.overloaded(at(201ms)));
}

BOOST_AUTO_TEST_CASE(empty_queue_puts_overload_off_but_does_not_end_it) {
  weir::codel c(five);
  c.on_first(at(0ms));
  c.on_first(at(60ms));
  c.look(at(60ms), at(159ms));
  BOOST_TEST(!c.overloaded(at(159ms)));
  c.look(at(60ms), at(160ms));
  BOOST_TEST(c.overloaded(at(160ms)));
  c.on_first(at(170ms));
  BOOST_TEST(c.overloaded(at(170ms)));
}

BOOST_AUTO_TEST_CASE(overload_ends_when_nobody_was_shed_for_an_interval) {
  weir::codel c = overloaded_at_100ms();
  c.on_served(0ms, at(110ms));  // the newest is always in time
  c.on_shed(at(150ms));
  BOOST_TEST(c.overloaded(at(249ms)));
  BOOST_TEST(!c.overloaded(at(250ms)));
  c.look(at(240ms), at(250ms));
  c.look(at(240ms), at(349ms));
  BOOST_TEST(!c.overloaded(at(349ms)));  // and it takes an interval to come back
  c.look(at(240ms), at(350ms));
  BOOST_TEST(c.overloaded(at(350ms)));
}

BOOST_AUTO_TEST_CASE(wait_is_limited_by_the_interval_in_calm_and_by_the_target_under_overload) {
  weir::codel c(five);
  c.on_first(at(0ms));
  BOOST_TEST((c.due(at(0ms)) == at(100ms)));
  BOOST_TEST((c.due(at(50ms)) == at(100ms)));  // when overload begins, unless it is put off
  BOOST_TEST((c.due(at(97ms)) == at(102ms)));
  c.on_served(5ms, at(60ms));
  BOOST_TEST((c.due(at(0ms)) == at(100ms)));
  BOOST_TEST((c.due(at(50ms)) == at(150ms)));
  BOOST_TEST((overloaded_at_100ms().due(at(100ms)) == at(105ms)));
}

BOOST_AUTO_TEST_CASE(end_of_time_does_not_overflow) {
  weir::codel c({.target = weir::duration::max(), .interval = weir::duration::max()});
  c.on_first(at(0ms));
  BOOST_TEST((c.due(at(0ms)) == weir::time_point::max()));
  c.look(at(0ms), at(10h));
  BOOST_TEST(!c.overloaded(at(10h)));
}

// A queue with one server against what the docstring says, in steps of one unit. The state is
// derived from the whole history.
BOOST_AUTO_TEST_CASE(any_history_is_judged_as_the_rules_say_and_no_due_time_becomes_earlier) {
  constexpr weir::codel_options options{.target = 2ms, .interval = 6ms};
  int overloads = 0;
  int ends = 0;
  for (unsigned seed = 1; seed <= 500; ++seed) {
    std::minstd_rand random(seed);
    const auto one_in = [&](unsigned n) { return random() % n == 0; };
    struct waiting {
      weir::time_point since;
      weir::time_point due;
    };
    weir::codel c(options);
    std::deque<waiting> queue;
    bool over = false;
    std::vector<weir::time_point> signs{at(0ms)};  // of calm, or, under overload, of overload
    for (int step = 1; step <= 200; ++step) {
      const weir::time_point now = at(step * 1ms);
      const bool quiet = now - signs.back() >= options.interval;
      const bool late = !queue.empty() && now - queue.front().since >= options.target;
      if (!queue.empty()) {
        const bool before = over;
        if (over && quiet)
          over = false;
        else if (!over && quiet && late)
          over = true;
        if (over != before) {
          signs.assign(1, now);
          ++(over ? overloads : ends);
        }
        c.look(queue.front().since, now);
        BOOST_REQUIRE(c.overloaded(now) == over);
        while (!queue.empty() && c.due(queue.front().since) <= now) {
          const weir::duration waited = now - queue.front().since;
          BOOST_REQUIRE((waited >= options.target && waited <= options.interval));
          queue.pop_front();
          c.on_shed(now);
          if (over) signs.push_back(now);
        }
      }
      for (waiting& w : queue) {
        BOOST_REQUIRE((c.due(w.since) >= w.due && c.due(w.since) > now));
        w.due = c.due(w.since);
        if (over) BOOST_REQUIRE((w.due == w.since + options.target));
      }
      if (!queue.empty() && one_in(step % 80 < 40 ? 4 : 1)) {
        const weir::duration waited = now - (over ? queue.back() : queue.front()).since;
        over ? queue.pop_back() : queue.pop_front();
        c.on_served(waited, now);
        if (!over && waited <= options.target) signs.push_back(now);
      }
      if (one_in(2)) {
        if (queue.empty()) {
          c.on_first(now);
          if (over && now - signs.back() >= options.interval) over = false;
          if (!over) signs.push_back(now);
        }
        queue.push_back({now, c.due(now)});
      }
    }
  }
  BOOST_TEST(overloads > 500);
  BOOST_TEST(ends > 100);
}

BOOST_AUTO_TEST_SUITE_END()
