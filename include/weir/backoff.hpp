// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_BACKOFF_HPP
#define WEIR_BACKOFF_HPP

#include <weir/clock.hpp>

#include <chrono>
#include <cstdint>
#include <random>

namespace weir {

/// How a delay is drawn. The ceiling of the n-th delay is `base * factor^(n - 1)`, at most the cap.
enum class jitter : std::uint8_t {
  full,          ///< evenly from zero to the ceiling: the least load where many fail together
  equal,         ///< half of the ceiling, and evenly up to the other half
  decorrelated,  ///< evenly from the base to three times the delay before
  none,          ///< the ceiling: callers that failed together come back together
};

/// Delays between attempts.
struct backoff_options {
  duration base = std::chrono::milliseconds(100);  ///< above zero
  double factor = 2;                               ///< at least 1
  duration cap = std::chrono::seconds(30);         ///< at least the base
  weir::jitter jitter = weir::jitter::full;
  duration floor{};  ///< no delay is shorter; from zero to the cap

  /// Whether the values are in range.
  bool valid() const noexcept;
};

/// The delays before a second, third and further attempt: they grow, and are drawn so that callers
/// who failed together do not come back together.
///
/// A delay is never below the floor, which is zero by default, nor above the cap, and however many
/// there are, nothing overflows. With the base as the floor, no delay is shorter than the base and
/// they are spread all the same; the first then has a ceiling equal to it, so start from a base of
/// half the first delay that you mean, or use `equal`.
///
/// A pure policy: no Asio, no clock. What it draws comes from a generator that is handed in.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
///
/// Source: Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog (2015).
class backoff {
 public:
  /// `options` are valid.
  explicit backoff(const backoff_options& options) noexcept
      : options_(options), ceiling_(options.base), last_(options.base) {}

  const backoff_options& options() const noexcept { return options_; }

  /// The next delay. Takes one number from `generator`, a uniform random bit generator.
  template <typename Generator>
  duration next(Generator& generator) {
    return next_by(std::uniform_int_distribution<std::uint64_t>()(generator));
  }

  /// Starts anew: the next delay is a first one.
  void reset() noexcept {
    ceiling_ = options_.base;
    last_ = options_.base;
  }

 private:
  duration next_by(std::uint64_t drawn) noexcept;

  backoff_options options_;
  duration ceiling_;
  duration last_;
};

}  // namespace weir

#endif  // WEIR_BACKOFF_HPP
