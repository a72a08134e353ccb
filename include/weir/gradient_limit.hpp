// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_GRADIENT_LIMIT_HPP
#define WEIR_GRADIENT_LIMIT_HPP

#include <weir/clock.hpp>

namespace weir {

/// How a limit is found from how long calls take.
struct gradient_options {
  int initial = 20;  ///< from `min` to `max`
  int min = 1;       ///< at least 1
  int max = 1000;    ///< at least `min`

  /// Calls that may wait at the server for a turn, so that it is never idle for want of one; 0: the
  /// square root of the limit.
  int queue = 0;

  /// A call may take so many times as long as one at an unloaded server before that is taken for
  /// waiting; from 1, below 2. What it gives away in waiting it wins in calm: times vary.
  double tolerance = 1.5;

  /// The share of the way that one decision goes; above 0, at most 1.
  double smoothing = 0.5;

  /// Calls on which a decision is based, at the least; it is one round of calls where that is more.
  int window = 50;

  /// Decisions between two looks at how long calls take when fewer are under way.
  int probe_every = 30;

  /// What a refusal multiplies by; above 0, below 1.
  double backoff = 0.9;

  /// Whether the values are in range.
  bool valid() const noexcept;
};

/// A concurrency limit that comes down before the server refuses: when calls take longer than at an
/// unloaded server, they wait there, and the limit is above what it serves at once.
///
/// At a server that serves `c` at once, and always has more to do, the limit settles between `c`
/// and about `tolerance * c + queue`, or `2 * queue` where that is more. Where the times of calls
/// vary as much as they can, it is below `c` now and then.
///
/// Decisions are made once a window of calls that all began after the one before, so each sees what
/// that did. At each,
///
///     gradient = tolerance * unloaded time / time, from 1/2 to 1
///     limit    = limit + smoothing * (gradient * limit + queue - limit)
///
/// A time is the geometric mean of a window: one call that takes a thousand times as long moves it
/// by a seventh. The unloaded time is that of a *probe*, a window in which the limit is half of
/// what was under way. Where that makes calls faster in the same measure the server is still full,
/// and half of that is tried. Where calls take less than the unloaded time, it follows them.
///
/// A refusal multiplies by `backoff`, once for all calls under way. A limit that is not used is not
/// raised: only where at least half of it was in flight. Nor is it probed, after the first time,
/// unless calls get slower.
///
/// A pure policy: no Asio, no lock, and the time is handed in. Times that are not above zero say
/// nothing and are left out; a time earlier than one seen before does no harm.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
///
/// Sources: Brakmo, Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet"
/// (1995), for what is told by times; Netflix, "Performance Under Load" (2018), for the gradient
/// and the queue of its concurrency-limits; Cardwell et al., "BBR: Congestion-Based Congestion
/// Control" (2016), for the probe: a long-term average in its place drifts up with the waiting that
/// the limit itself makes. RFC 7661 for the half.
class gradient_limit {
 public:
  /// `options` are valid.
  explicit gradient_limit(const gradient_options& options) noexcept
      : options_(options), limit_(options.initial) {}

  const gradient_options& options() const noexcept { return options_; }

  /// The limit in force; that of the probe during one.
  int limit() const noexcept { return probing_ ? probe_limit_ : static_cast<int>(limit_); }

  bool probing() const noexcept { return probing_; }

  /// How long calls took as of the last decision; zero before the first.
  duration time() const noexcept { return duration(static_cast<duration::rep>(time_)); }

  /// How long they take at an unloaded server, as far as is known; zero before the first decision.
  duration unloaded_time() const noexcept {
    return duration(static_cast<duration::rep>(unloaded_));
  }

  /// A call has ended. One that was given up says nothing and is not to be handed in.
  ///
  /// \param took from its start to its end
  /// \param in_flight calls under way, this one included
  /// \param dropped the other side refused it, or it came to its timeout
  /// \returns the limit from now on
  int on_sample(time_point now, duration took, int in_flight, bool dropped) noexcept;

 private:
  double queue() const noexcept;
  void decide() noexcept;
  void probe(double load, double limit, double time) noexcept;
  void open(time_point now) noexcept;

  gradient_options options_;
  double limit_;
  double time_ = 0;      ///< nanoseconds, as all times here
  double unloaded_ = 0;  ///< zero: not known yet

  int until_probe_ = 1;  ///< decisions
  bool probed_ = false;  ///< ever
  bool probing_ = false;
  int probe_limit_ = 0;
  double probed_load_ = 0;  ///< what was under way before the limit was lowered to that
  double probed_time_ = 0;  ///< and how long calls took

  // The window.
  time_point opened_ = time_point::min();
  int count_ = 0;
  double logs_ = 0;  ///< sum of the logarithms of the times
  int most_ = 0;     ///< that were in flight
};

}  // namespace weir

#endif  // WEIR_GRADIENT_LIMIT_HPP
