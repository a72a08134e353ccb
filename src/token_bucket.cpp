// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/token_bucket.hpp>

#include <algorithm>
#include <limits>
#include <ratio>
#include <type_traits>

namespace weir {

static_assert(std::is_same_v<duration::period, std::nano>);

namespace {

// A quarter of what fits: a burst above nothing and a debt of twice as much have room.
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t divide_up(std::int64_t a, std::int64_t b) noexcept { return a / b + (a % b > 0); }

}  // namespace

bool rate_options::valid() const noexcept {
  return rate >= 1 && burst >= 1 && per > duration::zero() && rate <= most / 2 &&
         burst <= most / per.count();
}

token_bucket::token_bucket(const rate_options& options, time_point now) noexcept
    : options_(options), level_(capacity()), last_(now) {}

void token_bucket::refill(time_point now) noexcept {
  if (now <= last_) return;
  const std::int64_t elapsed = (now - last_).count();
  last_ = now;
  const std::int64_t missing = capacity() - level_;
  // Compared before it is multiplied: a long pause would not fit.
  level_ =
      elapsed >= divide_up(missing, options_.rate) ? capacity() : level_ + elapsed * options_.rate;
}

bool token_bucket::try_take(std::int64_t n, time_point now) noexcept {
  refill(now);
  if (n > options_.burst || level_ < price(n)) return false;
  level_ -= price(n);
  return true;
}

time_point token_bucket::take(std::int64_t n, time_point now) noexcept {
  const time_point ready = when(n, now);
  level_ -= price(n);
  return ready;
}

bool token_bucket::may_owe(std::int64_t n) const noexcept {
  return n <= options_.burst && level_ - price(n) >= -2 * most;
}

void token_bucket::refund(std::int64_t n) noexcept {
  level_ = std::min(capacity(), level_ + price(std::min(n, options_.burst)));
}

time_point token_bucket::when(std::int64_t n, time_point now) noexcept {
  refill(now);
  const std::int64_t missing = price(n) - level_;
  if (missing <= 0) return now;
  return saturating_add(last_, duration(divide_up(missing, options_.rate)));
}

std::int64_t token_bucket::available(time_point now) noexcept {
  refill(now);
  const std::int64_t per = options_.per.count();
  return level_ >= 0 ? level_ / per : -divide_up(-level_, per);
}

void token_bucket::reconfigure(const rate_options& options, time_point now) noexcept {
  refill(now);
  // Whole tokens, and the rest of one by its share; each fits, as the product need not.
  const std::int64_t per = options_.per.count();
  const std::int64_t whole = level_ / per;
  const double share = static_cast<double>(level_ % per) / static_cast<double>(per);
  options_ = options;
  if (whole >= options_.burst) {
    level_ = capacity();
    return;
  }
  // All of a debt stays, up to what can be counted: it was let through on credit.
  const std::int64_t new_per = options_.per.count();
  level_ = price(std::max(whole, -(2 * most / new_per))) +
           static_cast<std::int64_t>(share * static_cast<double>(new_per));
}

}  // namespace weir
