// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/codel.hpp>

#include <algorithm>

namespace weir {

codel::codel(const codel_options& options) noexcept
    : target_(std::max(options.target, duration::zero())),
      interval_(std::max(options.interval, target_)) {}

bool codel::overloaded(time_point now) const noexcept {
  return overloaded_ && now < saturating_add(marked_, interval_);
}

void codel::on_first(time_point now) noexcept {
  if (overloaded(now)) return;
  overloaded_ = false;
  marked_ = now;
}

void codel::on_served(duration waited, time_point now) noexcept {
  if (!overloaded_ && waited <= target_) marked_ = now;
}

void codel::on_shed(time_point now) noexcept {
  if (overloaded_) marked_ = now;
}

void codel::look(time_point oldest, time_point now) noexcept {
  if (overloaded_) {
    if (overloaded(now)) return;
    overloaded_ = false;
    marked_ = now;
  } else if (now >= saturating_add(marked_, interval_) && now >= saturating_add(oldest, target_)) {
    overloaded_ = true;
    marked_ = now;
  }
}

time_point codel::due(time_point since) const noexcept {
  const time_point good_until = saturating_add(since, target_);
  if (overloaded_) return good_until;
  return std::min(saturating_add(since, interval_),
                  std::max(good_until, saturating_add(marked_, interval_)));
}

}  // namespace weir
