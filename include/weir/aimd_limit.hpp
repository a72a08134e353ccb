// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_AIMD_LIMIT_HPP
#define WEIR_AIMD_LIMIT_HPP

#include <weir/clock.hpp>

namespace weir {

/// How a limit is found from refusals alone.
struct aimd_options {
  int initial = 20;        ///< from `min` to `max`
  int min = 1;             ///< at least 1
  int max = 1000;          ///< at least `min`
  double increase = 1;     ///< what a round of successes adds; above 0
  double backoff = 0.9;    ///< what a refusal multiplies by; above 0, below 1
  duration too_slow = {};  ///< a success that takes longer counts as a refusal; zero: none does

  /// Whether the values are in range.
  bool valid() const noexcept;
};

/// A concurrency limit by additive increase and multiplicative decrease: up by one with each round
/// of calls that went well, down by a share when the other side says that it is too much. Among
/// many clients of one server this comes to fair shares.
///
/// It finds the point where the server refuses, again and again, so it suits servers that refuse
/// early and cheaply. `gradient_limit` looks at times and stays below that point.
///
/// All calls that were under way when the limit was lowered count once: what they tell is of the
/// old limit. Without this a full house that is refused would take the limit to `min`.
///
/// A limit that is not used is not raised: only while at least half of it is in flight.
///
/// A pure policy: no Asio, no lock, and the time is handed in. A time earlier than one seen before
/// does no harm.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
///
/// Source: Chiu, Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance
/// in Computer Networks" (1989). One decrease for each window of what is under way, as NewReno has
/// it: RFC 6582. The half: RFC 7661.
class aimd_limit {
 public:
  /// `options` are valid.
  explicit aimd_limit(const aimd_options& options) noexcept
      : options_(options), limit_(options.initial) {}

  const aimd_options& options() const noexcept { return options_; }

  int limit() const noexcept { return static_cast<int>(limit_); }

  /// A call has ended. One that was given up says nothing and is not to be handed in.
  ///
  /// \param took from its start to its end
  /// \param in_flight calls under way, this one included
  /// \param dropped the other side refused it, or it came to its timeout
  /// \returns the limit from now on
  int on_sample(time_point now, duration took, int in_flight, bool dropped) noexcept;

 private:
  aimd_options options_;
  double limit_;
  time_point lowered_ = time_point::min();
};

}  // namespace weir

#endif  // WEIR_AIMD_LIMIT_HPP
