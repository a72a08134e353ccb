// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_CODEL_HPP
#define WEIR_CODEL_HPP

#include <weir/clock.hpp>

#include <chrono>

namespace weir {

struct codel_options {
  /// The wait that is good; several times what it takes to serve one. Zero or less: off.
  duration target = {};

  /// How long a burst may last before it counts as overload. Less than `target` becomes `target`.
  duration interval = std::chrono::milliseconds(100);
};

/// Tells a burst, which a queue is there to take, from overload, which it only makes late; and for
/// how long one may wait in either.
///
/// A pure policy: no Asio, no lock, and the time is handed in. Constant time, no allocation.
///
/// - Calm: first come, first served, and one waits for at most `interval`.
/// - Overload begins when for a whole `interval` the queue was never empty and nobody was served
///   within `target`. Then one waits for at most `target`, and whoever came last is to be served
///   first: those who came before are late, and would make all others late too.
/// - Overload ends when for a whole `interval` nobody was shed.
///
/// So of those who are served under overload none has waited longer than `target`; the burst that
/// led to it had waits of up to `interval`.
///
/// The end is this policy's own. At twice the capacity (four workers, exponential service of 2 ms,
/// target 5 ms) the 99th percentile of the wait is 0.7 targets by it. If overload ends as soon as
/// the queue is empty, as in Maurer's, it is 10.6, since a queue that sheds is empty every so
/// often, and each time a burst of `interval` is let in; if it ends with the first who is served
/// within `target`, 11.9, since the last who came always is. The control law of Nichols and
/// Jacobson, one drop each `interval / sqrt(n)`, gives 194: it waits for senders to slow down, and
/// clients do not.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
///
/// Sources: Nichols, Jacobson, "Controlling Queue Delay" (ACM Queue, 2012); Maurer, "Fail at Scale"
/// (ACM Queue, 2015), for the two limits on a wait and for serving the newest first.
class codel {
 public:
  explicit codel(const codel_options& options) noexcept;

  bool enabled() const noexcept { return target_ > duration::zero(); }

  /// Somebody joins a queue that was empty.
  void on_first(time_point now) noexcept;

  /// Somebody is served who has waited for so long.
  void on_served(duration waited, time_point now) noexcept;

  /// Somebody is shed.
  void on_shed(time_point now) noexcept;

  /// Takes note of the time: to be called before whoever is next is chosen.
  /// \param oldest when the one joined who has waited longest
  void look(time_point oldest, time_point now) noexcept;

  /// Whether the newest go first now.
  bool overloaded(time_point now) const noexcept;

  /// When one who joined at `since` has waited for too long. It never becomes earlier by what
  /// happens afterwards; so a timer that was set by it never comes too late.
  time_point due(time_point since) const noexcept;

 private:
  duration target_;
  duration interval_;
  bool overloaded_ = false;
  time_point marked_{};  ///< calm: last sign of it; overload: when it began, or last shed
};

}  // namespace weir

#endif  // WEIR_CODEL_HPP
