// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_RETRY_BUDGET_HPP
#define WEIR_RETRY_BUDGET_HPP

#include <weir/clock.hpp>
#include <weir/detail/spin_mutex.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir {

/// How many retries a number of calls may cause.
struct retry_budget_options {
  double ratio = 0.2;                          ///< retries for each call; from 0 to 1000
  int min_per_second = 10;                     ///< these are free; from 0 to a million
  duration window = std::chrono::seconds(10);  ///< calls and retries older than this are forgotten;
                                               ///< from a millisecond to an hour

  /// Whether the values are in range.
  bool valid() const noexcept;
};

/// What all callers of one service may spend on retries together, so that a storm of retries
/// starves itself: when everything fails, the load grows by `ratio` and not by the number of
/// attempts.
///
/// Each call puts `ratio` of a retry in, each retry takes one out, and over the window there are
/// `min_per_second` more, without which a caller that calls seldom could never retry. Calls that a
/// quiet time follows are forgotten: it does not save up for a storm.
///
/// A policy: no Asio, and the time is handed in. One that is earlier than one seen before counts as
/// that one.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
///
/// Source: the RetryBudget of Finagle (Twitter); Brooker, "Fixing retries with token buckets and
/// circuit breakers" (2022).
class retry_budget {
 public:
  /// \throws system_error with `invalid_argument` if `options` are not valid.
  explicit retry_budget(const retry_budget_options& options = {});
  retry_budget(const retry_budget&) = delete;
  retry_budget& operator=(const retry_budget&) = delete;

  const retry_budget_options& options() const noexcept { return options_; }

  /// A first attempt is made.
  void deposit(time_point now);

  /// A further attempt is wanted. \returns whether it may be made.
  bool try_withdraw(time_point now);

  /// How many further attempts could be made now.
  std::int64_t available(time_point now) const;

 private:
  static constexpr std::size_t slots = 10;
  struct slot {
    std::int64_t number = -1;  ///< which tenth of a window since the clock's epoch
    std::int64_t sum = 0;
  };

  std::int64_t enter(time_point now) const noexcept;
  std::int64_t balance(std::int64_t number) const noexcept;
  void add(std::int64_t number, std::int64_t amount) noexcept;

  const retry_budget_options options_;
  mutable detail::spin_mutex mutex_;
  mutable std::int64_t last_ = 0;
  std::array<slot, slots> slots_;
};

}  // namespace weir

#endif  // WEIR_RETRY_BUDGET_HPP
