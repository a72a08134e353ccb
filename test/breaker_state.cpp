// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/breaker_state.hpp>
#include <weir/test/random.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using weir::breaker_options;
using weir::breaker_state;
using weir::circuit;

BOOST_AUTO_TEST_SUITE(breaker_state_suite)

namespace {

constexpr weir::time_point start{std::chrono::hours(1)};

std::string state_of(const breaker_state& b) { return to_string(b.state()); }

/// Runs calls that begin and end at once: 'f' fails, 's' succeeds, 'd' is dropped; 'R' is to be
/// refused.
void run(breaker_state& b, const std::string& calls, weir::time_point now) {
  for (const char c : calls) {
    const auto call = b.try_begin(now);
    BOOST_TEST_REQUIRE(call.has_value() == (c != 'R'));
    if (c == 'f') b.fail(*call, now);
    if (c == 's') b.succeed(*call, now);
    if (c == 'd') b.drop(*call);
  }
}

const breaker_options small{.window_calls = 4, .minimum_calls = 2, .open_for = 10ms};

}  // namespace

BOOST_AUTO_TEST_CASE(options_out_of_range_are_not_valid) {
  BOOST_TEST(breaker_options{}.valid());
  BOOST_TEST((breaker_options{.window_time = 1s, .minimum_calls = 1000}.valid()));
  BOOST_TEST((breaker_options{.probes = 5, .successes = 5}.valid()));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const breaker_options wrong[] = {
      {.window_calls = 0},
      {.window_calls = -1},
      {.window_time = -1s},
      {.minimum_calls = 0},
      {.window_calls = 10, .minimum_calls = 11},
      {.failure_rate = 0},
      {.failure_rate = 1.01},
      {.failure_rate = nan},
      {.slow_call = -1ns},
      {.slow_rate = -0.5},
      {.slow_rate = nan},
      {.open_for = 0s},
      {.open_for = -1s},
      {.open_growth = 0.9},
      {.open_growth = nan},
      {.open_at_most = 0s},
      {.probes = 0, .successes = 0},
      {.successes = 0},
      {.probes = 2, .successes = 3},
      {.probe_timeout = -1s},
  };
  for (const breaker_options& o : wrong)
    BOOST_TEST(!o.valid(), "options " << &o - &wrong[0] << " are valid");
}

BOOST_AUTO_TEST_CASE(opens_at_the_rate_and_not_below_and_not_on_too_few) {
  struct line {
    int window;
    int minimum;
    double rate;
    std::string calls;
    std::string state;
  };
  const line table[] = {
      {4, 2, 0.5, "f", "closed"},     // fewer than the minimum
      {4, 2, 0.5, "ff", "open"},      //
      {4, 2, 0.5, "sf", "open"},      // exactly the rate
      {4, 2, 0.5, "ssf", "closed"},   //
      {4, 2, 0.5, "ssff", "open"},    //
      {4, 2, 0.5, "fsss", "closed"},  // a good one never opens it
      {4, 4, 0.5, "ffsssf",
       "closed"},                      // the second failure left the window with the third good one
      {4, 4, 0.5, "fffs", "closed"},   // the minimum is reached by a good one,
      {4, 4, 0.5, "fffsf", "open"},    // and the next bad one opens it
      {4, 2, 0.5, "ddddf", "closed"},  // what was dropped does not count
      {4, 2, 1.0, "ffff", "open"},     //
      {4, 4, 1.0, "fffs", "closed"},   //
      {1, 1, 1.0, "f", "open"},        //
  };
  for (const line& l : table) {
    breaker_state b({.window_calls = l.window, .minimum_calls = l.minimum, .failure_rate = l.rate},
                    start);
    for (const char c : l.calls) {
      if (b.state() == circuit::open) break;
      run(b, std::string(1, c), start);
    }
    BOOST_TEST(state_of(b) == l.state, l.calls << " of a window of " << l.window);
  }
}

BOOST_AUTO_TEST_CASE(rate_is_compared_as_it_is_written) {
  // 0.07 * 100 is more than 7 in binary.
  breaker_state b({.window_calls = 100, .minimum_calls = 100, .failure_rate = 0.07}, start);
  run(b, std::string(93, 's') + std::string(6, 'f'), start);
  BOOST_TEST(state_of(b) == "closed");
  run(b, "f", start);
  BOOST_TEST(state_of(b) == "open");
}

BOOST_AUTO_TEST_CASE(slow_calls_open_it_though_all_succeed) {
  breaker_state b({.window_calls = 4, .minimum_calls = 4, .slow_call = 5ms, .slow_rate = 0.5},
                  start);
  const auto call = [&](weir::duration took) {
    const auto c = b.try_begin(start);
    BOOST_TEST_REQUIRE(c.has_value());
    b.succeed(*c, start + took);
  };
  call(5ms - 1ns);
  call(1s);
  call(0ms);
  call(5ms);
  BOOST_TEST(state_of(b) == "open");
  BOOST_TEST(b.metrics(start).slow == 2U);
}

BOOST_AUTO_TEST_CASE(window_by_time_forgets_a_tenth_at_a_time) {
  breaker_state b({.window_time = 100ms, .minimum_calls = 3, .failure_rate = 1}, start);
  run(b, "f", start);
  run(b, "f", start + 10ms);
  BOOST_TEST(b.metrics(start + 99ms).window_failures == 2);
  BOOST_TEST(b.metrics(start + 100ms).window_failures == 1);
  run(b, "f", start + 100ms);
  BOOST_TEST(state_of(b) == "closed");
  BOOST_TEST(b.metrics(start + 110ms).window_failures == 1);
  BOOST_TEST(b.metrics(start + 24h).window_failures == 0);
  run(b, "fff", start + 24h);
  BOOST_TEST(state_of(b) == "open");
}

BOOST_AUTO_TEST_CASE(window_of_a_few_nanoseconds_and_a_pause_of_centuries_are_borne) {
  breaker_state b({.window_time = 1ns, .minimum_calls = 2}, start);
  run(b, "f", start);
  run(b, "f", weir::time_point::max() - 1s);
  BOOST_TEST(state_of(b) == "closed");
  run(b, "f", weir::time_point::max());
  BOOST_TEST(b.metrics(weir::time_point::max()).failed == 3U);
}

BOOST_AUTO_TEST_CASE(half_open_lets_exactly_so_many_probes_through) {
  for (int probes = 1; probes <= 4; ++probes) {
    breaker_options o = small;
    o.probes = o.successes = probes;
    breaker_state b(o, start);
    run(b, "ffR", start);
    run(b, "R", start + 10ms - 1ns);
    std::vector<breaker_state::call> calls;
    for (int i = 0; i < probes; ++i) {
      const auto call = b.try_begin(start + 10ms);
      BOOST_TEST_REQUIRE(call.has_value());
      calls.push_back(*call);
    }
    BOOST_TEST(state_of(b) == "half_open");
    run(b, "R", start + 1h);
    for (const auto& c : calls) {
      BOOST_TEST(state_of(b) == "half_open");
      b.succeed(c, start + 1h);
      // A place that was used is not given out again.
      if (&c != &calls.back()) run(b, "R", start + 1h);
    }
    BOOST_TEST(state_of(b) == "closed");
    BOOST_TEST(b.metrics(start + 1h).window_calls == 0);
  }
}

BOOST_AUTO_TEST_CASE(round_of_probes_ends_as_soon_as_it_is_decided) {
  struct line {
    int probes;
    int successes;
    std::string calls;
    std::string state;
  };
  const line table[] = {
      {1, 1, "s", "closed"},     {1, 1, "f", "open"},     {3, 2, "s", "half_open"},
      {3, 2, "ss", "closed"},    {3, 2, "sfs", "closed"}, {3, 2, "ff", "open"},
      {3, 2, "sff", "open"},     {3, 3, "f", "open"},     {3, 1, "ff", "half_open"},
      {3, 1, "ffs", "closed"},   {3, 1, "fff", "open"},   {2, 2, "dddds", "half_open"},
      {2, 2, "ddsds", "closed"}, {2, 1, "fdddf", "open"},
  };
  for (const line& l : table) {
    breaker_options o = small;
    o.probes = l.probes;
    o.successes = l.successes;
    breaker_state b(o, start);
    run(b, "ff", start);
    run(b, l.calls, start + 10ms);
    BOOST_TEST(state_of(b) == l.state, l.calls << ' ' << l.successes << " of " << l.probes);
  }
}

// resilience4j#935, #903: permits of probes that never reported were lost, and with them the way
// out of the half-open state.
BOOST_AUTO_TEST_CASE(probe_that_is_dropped_gives_its_place_back) {
  breaker_state b(small, start);
  run(b, "ff", start);
  for (int i = 0; i < 1000; ++i) {
    const auto probe = b.try_begin(start + 10ms);
    BOOST_TEST_REQUIRE(probe.has_value());
    BOOST_TEST_REQUIRE(!b.try_begin(start + 10ms));
    b.drop(*probe);
  }
  run(b, "s", start + 10ms);
  BOOST_TEST(state_of(b) == "closed");
}

BOOST_AUTO_TEST_CASE(probe_that_hangs_has_failed_after_its_time) {
  breaker_options o = small;
  o.probe_timeout = 30ms;
  breaker_state b(o, start);
  run(b, "ff", start);
  // Half open, idle for long: that is not the probe's fault.
  run(b, "d", start + 10ms);
  const auto hung = b.try_begin(start + 1h);
  BOOST_TEST_REQUIRE(hung.has_value());
  run(b, "R", start + 1h + 30ms - 1ns);
  BOOST_TEST(state_of(b) == "half_open");
  run(b, "R", start + 1h + 30ms);
  BOOST_TEST(state_of(b) == "open");
  b.succeed(*hung, start + 1h + 31ms);
  BOOST_TEST(state_of(b) == "open");
  run(b, "s", start + 1h + 40ms);
  BOOST_TEST(state_of(b) == "closed");
  BOOST_TEST(b.metrics(start + 2h).late == 1U);
}

BOOST_AUTO_TEST_CASE(slow_probe_does_not_close_it) {
  breaker_options o = small;
  o.slow_call = 5ms;
  breaker_state b(o, start);
  run(b, "ff", start);
  const auto probe = b.try_begin(start + 10ms);
  b.succeed(*probe, start + 15ms);
  BOOST_TEST(state_of(b) == "open");
}

BOOST_AUTO_TEST_CASE(results_of_an_older_state_are_not_counted) {
  breaker_state b(small, start);
  const auto before = b.try_begin(start);
  const auto also = b.try_begin(start);
  run(b, "ff", start);
  b.succeed(*before, start);
  BOOST_TEST(state_of(b) == "open");
  const auto probe = b.try_begin(start + 10ms);
  b.fail(*also, start + 10ms);
  BOOST_TEST(state_of(b) == "half_open");
  b.succeed(*probe, start + 10ms);
  BOOST_TEST(state_of(b) == "closed");
  b.drop(*probe);
  const auto m = b.metrics(start + 10ms);
  BOOST_TEST(m.window_calls == 0);
  BOOST_TEST(m.late == 3U);
  BOOST_TEST(m.probing == 0);
}

BOOST_AUTO_TEST_CASE(open_time_grows_with_each_round_that_fails_up_to_its_end) {
  breaker_options o = small;
  o.open_growth = 2;
  o.open_at_most = 50ms;
  breaker_state b(o, start);
  auto now = start;
  const auto opened_for = [&] { return (b.retry_at(now) - now).count() / 1'000'000; };
  run(b, "ff", now);
  for (const int ms : {10, 20, 40, 50, 50}) {
    BOOST_TEST(opened_for() == ms);
    now = b.retry_at(now);
    run(b, "f", now);
  }
  now = b.retry_at(now);
  run(b, "sff", now);
  BOOST_TEST(opened_for() == 10);
  o.open_at_most = 1ms;  // below the first one: no growth, and no less either
  breaker_state fixed(o, start);
  run(fixed, "ff", start);
  run(fixed, "f", start + 10ms);
  BOOST_TEST((fixed.retry_at(start) == start + 20ms));
}

// golang/go#56287, tikv/pd#10744, juju/ratelimit#26: timestamps out of order.
BOOST_AUTO_TEST_CASE(timestamps_out_of_order_neither_open_nor_close_anything_early) {
  breaker_options o{.window_time = 100ms, .minimum_calls = 3, .slow_call = 1ms, .open_for = 1s};
  breaker_state b(o, start);
  const auto late = b.try_begin(start + 5ms);
  b.succeed(*late, start);  // it took less than no time
  BOOST_TEST(b.metrics(start).slow == 0U);
  for (int i = 0; i < 1000; ++i) run(b, "s", start + 1ms * (i % 2 == 0 ? i : i - 1000));
  const auto seen = b.metrics(start + 999ms);
  BOOST_TEST(seen.succeeded == 1001U);
  BOOST_TEST(seen.window_calls >= 90);
  BOOST_TEST(seen.window_calls <= 102);
  run(b, std::string(90, 'f'), start - 1h);
  BOOST_TEST_REQUIRE(state_of(b) == "closed");
  while (b.state() == circuit::closed) run(b, "f", start + 999ms);
  // Open since 999 ms, whatever a clock says that is behind.
  for (int i = 0; i < 1000; ++i) run(b, "R", start - 1s);
  BOOST_TEST((b.retry_at(start) == start + 1999ms));
  run(b, "R", start + 1999ms - 1ns);
  run(b, "s", start + 1999ms);
  BOOST_TEST(state_of(b) == "closed");
}

BOOST_AUTO_TEST_CASE(trip_reset_and_disable_do_as_they_are_told) {
  breaker_state b(small, start);
  b.trip(1s, start);
  run(b, "R", start + 1s - 1ns);
  run(b, "s", start + 1s);
  BOOST_TEST(state_of(b) == "closed");
  b.trip(weir::duration::max(), start);
  BOOST_TEST((b.retry_at(start) == weir::time_point::max()));
  run(b, "R", start + 24h * 365 * 100);
  b.reset(start);
  BOOST_TEST(state_of(b) == "closed");
  run(b, "f", start);
  b.reset(start);
  run(b, "f", start);
  BOOST_TEST(state_of(b) == "closed");
  b.disable(start);
  run(b, "ffffffff", start);
  BOOST_TEST(state_of(b) == "disabled");
  b.trip(1ms, start);
  BOOST_TEST(state_of(b) == "open");
}

BOOST_AUTO_TEST_CASE(calls_that_need_not_ask_are_those_of_a_state_that_lets_all_through) {
  breaker_state b(small, start);
  BOOST_TEST(b.free_generation() == b.try_begin(start)->generation);
  run(b, "ff", start);
  BOOST_TEST(b.free_generation() == 0U);
  run(b, "d", start + 10ms);
  BOOST_TEST(b.free_generation() == 0U);
  b.disable(start);
  BOOST_TEST(b.free_generation() == b.try_begin(start)->generation);
  BOOST_TEST(!b.timed());
  BOOST_TEST((breaker_state({.slow_call = 1ms}, start).timed()));
  BOOST_TEST((breaker_state({.window_time = 1ms}, start).timed()));
}

/// The same from all results that ever were, without a sum that could drift.
class model {
 public:
  model(const breaker_options& o, weir::time_point t) : options_(o), begin_(t), last_(t) {}

  bool try_begin(weir::time_point now) {
    last_ = std::max(last_, now);
    if (state == circuit::open && last_ >= until_) enter(circuit::half_open);
    if (state == circuit::closed) return true;
    if (state == circuit::open || probing + good_ + bad_ == options_.probes) return false;
    ++probing;
    return true;
  }

  void end(int generation_of_call, weir::duration took, std::optional<bool> failed,
           weir::time_point now) {
    if (failed) last_ = std::max(last_, now);
    if (generation_of_call != generation) return;
    if (state == circuit::half_open) --probing;
    if (!failed) return;
    const bool slow = options_.slow_call > 0ms && took >= options_.slow_call;
    if (state == circuit::closed) {
      results_.push_back({*failed, slow, part()});
      if ((*failed || slow) && bad_enough()) open();
      return;
    }
    ++(*failed || slow ? bad_ : good_);
    if (good_ == options_.successes)
      enter(circuit::closed);
    else if (options_.probes - bad_ < options_.successes)
      open();
  }

  circuit state = circuit::closed;
  int generation = 0;
  int probing = 0;

 private:
  struct result {
    bool failed;
    bool slow;
    weir::duration::rep part;
  };

  weir::duration::rep part() const {
    return options_.window_time > 0ms ? (last_ - begin_) / (options_.window_time / 10) : 0;
  }

  bool bad_enough() const {
    double calls = 0;
    double failures = 0;
    double slow = 0;
    for (auto r = results_.rbegin(); r != results_.rend(); ++r) {
      if (options_.window_time > 0ms ? r->part <= part() - 10 : calls == options_.window_calls)
        break;
      ++calls;
      failures += r->failed;
      slow += r->slow;
    }
    return calls >= options_.minimum_calls &&
           (failures / calls >= options_.failure_rate ||
            (options_.slow_call > 0ms && slow / calls >= options_.slow_rate));
  }

  void enter(circuit to) {
    state = to;
    ++generation;
    probing = good_ = bad_ = 0;
    results_.clear();
  }

  void open() {
    enter(circuit::open);
    until_ = last_ + options_.open_for;
  }

  breaker_options options_;
  weir::time_point begin_;
  weir::time_point last_;
  weir::time_point until_;
  std::deque<result> results_;
  int good_ = 0;
  int bad_ = 0;
};

BOOST_AUTO_TEST_CASE(does_as_the_model_in_any_program) {
  int opened = 0;
  int closed = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    BOOST_TEST_INFO_SCOPE("seed " << seed);
    weir::test::random draw(seed);
    breaker_options o{.window_calls = draw.between(1, 8),
                      .failure_rate = 0.25 * draw.between(1, 4),
                      .slow_call = 1ms * draw.between(0, 3),
                      .slow_rate = 0.25 * draw.between(1, 4),
                      .open_for = 1ms * draw.between(1, 4),
                      .probes = draw.between(1, 3)};
    o.minimum_calls = draw.between(1, o.window_calls);
    o.successes = draw.between(1, o.probes);
    if (draw.chance(0.5)) o.window_time = 10ms;
    BOOST_TEST_REQUIRE(o.valid());
    breaker_state b(o, start);
    model m(o, start);
    struct open_call {
      breaker_state::call call;
      int generation;
    };
    std::vector<open_call> calls;
    auto now = start;
    for (int i = 0; i < 200; ++i) {
      now += 1ms * draw.between(0, 3) * draw.between(0, 1);
      const auto at = now - (draw.chance(0.1) ? 2ms : 0ms);
      if (draw.chance(0.5)) {
        const auto call = b.try_begin(at);
        BOOST_TEST_REQUIRE(call.has_value() == m.try_begin(at));
        if (call) calls.push_back({*call, m.generation});
      } else if (!calls.empty()) {
        const auto which = calls.begin() + static_cast<int>(draw.below(calls.size()));
        const open_call c = *which;
        calls.erase(which);
        std::optional<bool> failed;
        if (!draw.chance(0.2)) failed = draw.chance(0.4);
        m.end(c.generation, at - c.call.began, failed, at);
        if (!failed)
          b.drop(c.call);
        else if (*failed)
          b.fail(c.call, at);
        else
          b.succeed(c.call, at);
      }
      BOOST_TEST_REQUIRE(state_of(b) == to_string(m.state));
      BOOST_TEST_REQUIRE(b.metrics(start).probing == m.probing);
      opened += b.state() == circuit::open;
      closed += b.state() == circuit::closed && b.transitions() != 0;
    }
  }
  BOOST_TEST(opened > 1000);
  BOOST_TEST(closed > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
