// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/require.hpp>
#include <weir/retry_budget.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>

namespace weir {

namespace {

/// A retry, in the unit that is counted, so that a small ratio is not rounded away.
constexpr std::int64_t retry_price = 1'000'000;

}  // namespace

bool retry_budget_options::valid() const noexcept {
  return ratio >= 0 && ratio <= 1000 && min_per_second >= 0 && min_per_second <= 1'000'000 &&
         window >= std::chrono::milliseconds(1) && window <= std::chrono::hours(1);
}

retry_budget::retry_budget(const retry_budget_options& options)
    : options_((detail::require(options.valid(), "weir::retry_budget"), options)) {}

std::int64_t retry_budget::enter(time_point now) const noexcept {
  const auto tenth = options_.window.count() / static_cast<std::int64_t>(slots);
  last_ = std::max(last_, now.time_since_epoch().count() / tenth);
  return last_;
}

std::int64_t retry_budget::balance(std::int64_t number) const noexcept {
  std::int64_t sum = static_cast<std::int64_t>(std::llround(
      options_.min_per_second * std::chrono::duration<double>(options_.window).count() *
      static_cast<double>(retry_price)));
  for (const slot& s : slots_)
    if (s.number > number - static_cast<std::int64_t>(slots)) sum += s.sum;
  return sum;
}

void retry_budget::add(std::int64_t number, std::int64_t amount) noexcept {
  slot& s = slots_[static_cast<std::size_t>(number) % slots];
  if (s.number != number) s = {number, 0};
  s.sum += amount;
}

void retry_budget::deposit(time_point now) {
  const std::lock_guard lock(mutex_);
  add(enter(now),
      static_cast<std::int64_t>(std::llround(options_.ratio * static_cast<double>(retry_price))));
}

bool retry_budget::try_withdraw(time_point now) {
  const std::lock_guard lock(mutex_);
  const std::int64_t number = enter(now);
  if (balance(number) < retry_price) return false;
  add(number, -retry_price);
  return true;
}

std::int64_t retry_budget::available(time_point now) const {
  const std::lock_guard lock(mutex_);
  return std::max<std::int64_t>(0, balance(enter(now)) / retry_price);
}

}  // namespace weir
