// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_BREAKER_STATE_HPP
#define WEIR_BREAKER_STATE_HPP

#include <weir/clock.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir {

/// Where a circuit breaker stands.
enum class circuit : std::uint8_t {
  closed,     ///< calls go through, and their results are counted
  open,       ///< calls are refused
  half_open,  ///< a few calls go through, as probes
  disabled,   ///< calls go through, and nothing is counted
};

/// The name of a state, for logs and reports: "closed", "open", "half_open", "disabled".
const char* to_string(circuit state) noexcept;

/// When a breaker opens, and how it closes again.
struct breaker_options {
  int window_calls = 100;  ///< it looks at the last so many results; at least 1
  duration window_time{};  ///< above zero: instead at those of the last so long, in ten steps
  int minimum_calls = 20;  ///< it does not open on fewer; at least 1, no more than a window holds
  double failure_rate = 0.5;  ///< it opens when so great a share has failed; above 0, at most 1
  duration slow_call{};       ///< a call that takes so long is slow; zero: none is
  double slow_rate = 1;       ///< it opens when so great a share was slow; above 0, at most 1

  duration open_for = std::chrono::seconds(5);  ///< then it is half open; above zero
  double open_growth = 1;  ///< `open_for` times this when a round of probes has failed; 1 or more
  duration open_at_most = std::chrono::minutes(5);  ///< where that growth ends; above zero

  int probes = 1;            ///< calls that go through while it is half open; at least 1
  int successes = 1;         ///< probes that have to succeed, and not be slow; 1 to `probes`
  duration probe_timeout{};  ///< probes that all take so long have failed; zero: they may

  bool valid() const noexcept;
};

/// A circuit breaker at one moment.
struct breaker_metrics {
  circuit state = circuit::closed;
  time_point since{};  ///< when that began
  int probing = 0;     ///< probes that have not ended

  // What it looks at, while it is closed.
  std::int64_t window_calls = 0;
  std::int64_t window_failures = 0;
  std::int64_t window_slow = 0;

  // Since it was made. Each call that has ended is one of the first four.
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t dropped = 0;  ///< ended without a result
  std::uint64_t late = 0;     ///< ended after the state had changed, or while disabled
  std::uint64_t slow = 0;     ///< of those that succeeded or failed
  std::uint64_t refused = 0;
  std::uint64_t transitions = 0;
};

/// The policy of a circuit breaker.
///
/// Closed, it counts the results in a sliding window and opens when, among at least
/// `minimum_calls`, too many have failed or were slow. Only a bad result opens it: that a good one
/// leaves the window is no news. After `open_for` it is half open: `probes` calls go through, no
/// more, and it closes when `successes` of them have succeeded, and opens again when so many no
/// longer can.
///
/// A window by count holds the last `window_calls` results, a byte for each. A window by time is
/// ten parts that expire whole, so that what is looked at is between nine tenths of `window_time`
/// and all of it; an exact one would have to keep every result.
///
/// A pure policy: no Asio, no lock, no timer, and the time is handed in. It leaves the open state
/// with the first call that asks once the time has come. A time that is earlier than one seen
/// before counts as that one.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
///
/// Source: Nygard, "Release It!" (2007), Circuit Breaker: the three states. The windows and the
/// share of slow calls are as in Resilience4j.
class breaker_state {
 public:
  /// A call that was let through. Its owner ends it once.
  struct call {
    std::uint64_t generation = 0;  ///< of the state that let it through
    time_point began{};
  };

  /// Closed. `options` are valid.
  breaker_state(const breaker_options& options, time_point now);

  const breaker_options& options() const noexcept { return options_; }
  circuit state() const noexcept { return state_; }
  std::uint64_t transitions() const noexcept { return totals_.transitions; }

  /// Lets a call through, or refuses it.
  std::optional<call> try_begin(time_point now) noexcept;

  /// The generation whose calls need not ask: as long as it is this one, `try_begin` would return
  /// `call{generation, now}` and do no more. Zero if there is none.
  std::uint64_t free_generation() const noexcept;

  /// Whether the time of a success matters while it is closed; that of a call's beginning does
  /// where calls may be slow. Where it does not matter the clock need not be read.
  bool timed() const noexcept;

  // The ends of a call. One that was let through before the state changed is not counted.
  void succeed(const call& c, time_point now) noexcept;
  void fail(const call& c, time_point now) noexcept;

  /// Neither a success nor a failure. A probe's place is free again.
  void drop(const call& c) noexcept;

  /// Opens for `d`, which is above zero; until `reset` if `d` is `duration::max()`.
  void trip(duration d, time_point now) noexcept;

  /// Closes, with an empty window.
  void reset(time_point now) noexcept;

  /// Lets everything through until `reset` or `trip`.
  void disable(time_point now) noexcept;

  /// From when the next call may be let through; `now` unless open.
  time_point retry_at(time_point now) const noexcept;

  breaker_metrics metrics(time_point now) noexcept;

 private:
  struct tally {
    std::int64_t calls = 0;
    std::int64_t failures = 0;
    std::int64_t slow = 0;
  };
  static constexpr std::size_t parts = 10;

  time_point seen(time_point now) noexcept;
  void change(circuit to, time_point now) noexcept;
  void open(duration d, time_point now) noexcept;
  void reopen(time_point now) noexcept;
  void end(const call& c, bool failed, time_point now) noexcept;
  void record(bool failed, bool slow) noexcept;
  void expire() noexcept;
  bool too_bad() const noexcept;

  breaker_options options_;
  circuit state_ = circuit::closed;
  std::uint64_t generation_ = 1;
  time_point last_;  ///< the latest time seen
  time_point since_;
  time_point open_until_{};
  duration opened_for_;

  // Half open.
  int probing_ = 0;
  int passed_ = 0;
  int broken_ = 0;
  time_point last_probe_{};

  // Closed.
  tally window_;
  std::vector<std::uint8_t> ring_;  ///< by count
  std::size_t oldest_ = 0;
  std::array<tally, parts> parts_{};  ///< by time
  std::size_t part_ = 0;
  time_point part_end_;

  breaker_metrics totals_;
};

}  // namespace weir

#endif  // WEIR_BREAKER_STATE_HPP
