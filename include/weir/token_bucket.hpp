// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TOKEN_BUCKET_HPP
#define WEIR_TOKEN_BUCKET_HPP

#include <weir/clock.hpp>

#include <chrono>
#include <cstdint>

namespace weir {

/// So many in so long, and so many at once after a pause.
struct rate_options {
  std::int64_t rate = 1;                   ///< tokens that come in `per`; at least 1
  duration per = std::chrono::seconds(1);  ///< above zero
  std::int64_t burst = 1;                  ///< the most that gather; at least 1

  /// Whether the values are in range, and `burst * per` and `rate` small enough to be counted
  /// exactly: a burst of a billion in an hour is.
  bool valid() const noexcept;
};

/// A token bucket by arithmetic on time points: no tick, no rounding, no credit beyond the burst.
///
/// A pure policy: no Asio, no lock, and the time is handed in. Its unit is a nanosecond's share of
/// a token, so that what comes in any stretch of time is exact.
///
/// A time that is earlier than one seen before counts as that one: it mints nothing, and what was
/// minted stays.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
///
/// Source: Turner, "New Directions in Communications" (1986), the leaky bucket as a meter.
class token_bucket {
 public:
  /// Full at `now`. `options` are valid.
  token_bucket(const rate_options& options, time_point now) noexcept;

  const rate_options& options() const noexcept { return options_; }

  /// Takes `n` if they are there now.
  bool try_take(std::int64_t n, time_point now) noexcept;

  /// Takes `n`, at most the burst, even where they are not there yet: the level goes below zero.
  ///
  /// \returns the time from which they are there: `now`, or later by the debt.
  time_point take(std::int64_t n, time_point now) noexcept;

  /// Whether a debt that is greater by `n` could still be counted.
  bool may_owe(std::int64_t n) const noexcept;

  /// Gives back `n` that were taken and not used. No more than the burst gathers.
  void refund(std::int64_t n) noexcept;

  /// When `n` will be there if nobody else takes any; `now` if they are. Below zero it is a debt,
  /// and the time is that at which no more than it is owed.
  time_point when(std::int64_t n, time_point now) noexcept;

  /// Whole tokens that are there; below zero while there is a debt.
  std::int64_t available(time_point now) noexcept;

  /// From now on by `options`, which are valid. Tokens that have gathered stay, up to the new
  /// burst.
  void reconfigure(const rate_options& options, time_point now) noexcept;

 private:
  std::int64_t price(std::int64_t n) const noexcept { return n * options_.per.count(); }
  std::int64_t capacity() const noexcept { return price(options_.burst); }
  void refill(time_point now) noexcept;

  rate_options options_;
  std::int64_t level_;  ///< a token is `per` in nanoseconds; `rate` of these come each nanosecond
  time_point last_;
};

}  // namespace weir

#endif  // WEIR_TOKEN_BUCKET_HPP
