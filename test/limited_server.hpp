// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_LIMITED_SERVER_HPP
#define WEIR_TEST_LIMITED_SERVER_HPP

#include <weir/clock.hpp>
#include <weir/test/random.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <vector>

namespace weir_test {

/// A server that serves so many calls at once, the others in turn, and a client that always has as
/// many under way as its limit and its own number of callers allow. Arithmetic on time points: no
/// clock, no threads.
///
/// It tells a `Limit` how each call went, as whoever holds the permits would.
template <typename Limit>
class limited_server {
 public:
  struct conditions {
    std::size_t serves = 20;  ///< at once
    weir::duration takes = std::chrono::milliseconds(10);
    double spread = 0;             ///< 0: each takes the same; 1: exponential
    std::size_t room = 1'000'000;  ///< calls inside; more are refused
    int callers = std::numeric_limits<int>::max();
    double ignores = 0;  ///< the share of calls that are given up
  };

  /// What was seen since the last `run`.
  struct seen {
    int least = std::numeric_limits<int>::max();  ///< limit, but for probes
    int most = 0;                                 ///< limit
    weir::duration longest_wait{};                ///< at the server
    weir::duration took{};                        ///< all of it
    std::size_t dropped = 0;
  };

  explicit limited_server(Limit& limit, conditions c, std::uint64_t seed = 1)
      : now(c), limit_(limit), draw_(seed) {}

  /// Until so many calls have ended.
  seen run(std::size_t calls) {
    seen s;
    const weir::time_point began = time_;
    for (std::size_t i = 0; i < calls; ++i) {
      while (static_cast<int>(under_way_.size()) < std::min(limit_.limit(), now.callers)) start();
      const call c = under_way_.top();
      time_ = c.ends;
      const int in_flight = static_cast<int>(under_way_.size());
      under_way_.pop();
      if (!c.dropped) --inside_;
      if (c.dropped) ++s.dropped;
      if (!draw_.chance(now.ignores))
        limit_.on_sample(time_, c.ends - c.began, in_flight, c.dropped);
      bool probing = false;
      if constexpr (requires { limit_.probing(); }) probing = limit_.probing();
      if (!probing) s.least = std::min(s.least, limit_.limit());
      s.most = std::max(s.most, limit_.limit());
      s.longest_wait = std::max(s.longest_wait, c.waited);
    }
    s.took = time_ - began;
    return s;
  }

  /// May be changed between runs.
  conditions now;

 private:
  struct call {
    weir::time_point began;
    weir::time_point ends;
    weir::duration waited{};
    bool dropped = false;
    bool operator>(const call& other) const { return ends > other.ends; }
  };

  void start() {
    call c{.began = time_, .ends = time_ + std::chrono::milliseconds(1)};
    if (inside_ >= now.room) {
      c.dropped = true;
      under_way_.push(c);
      return;
    }
    ++inside_;
    // Whoever is free first takes it. Fewer than before: those who are free go first.
    while (busy_until_.size() > now.serves) busy_until_.pop();
    while (busy_until_.size() < now.serves) busy_until_.push(time_);
    const weir::time_point starts = std::max(time_, busy_until_.top());
    busy_until_.pop();
    const double exponential = -std::log(1 - std::generate_canonical<double, 53>(draw_));
    const double factor = 1 - now.spread + now.spread * exponential;
    c.ends = starts + weir::duration(1 + static_cast<weir::duration::rep>(
                                             static_cast<double>(now.takes.count()) * factor));
    c.waited = starts - time_;
    busy_until_.push(c.ends);
    under_way_.push(c);
  }

  Limit& limit_;
  weir::test::random draw_;
  weir::time_point time_{std::chrono::hours(1)};
  std::size_t inside_ = 0;
  std::priority_queue<weir::time_point, std::vector<weir::time_point>, std::greater<>> busy_until_;
  std::priority_queue<call, std::vector<call>, std::greater<>> under_way_;
};

}  // namespace weir_test

#endif  // WEIR_TEST_LIMITED_SERVER_HPP
