// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/firing_plan.hpp>

#include <algorithm>
#include <utility>

namespace weir::detail {

firing_plan::firing_plan(schedule next, duration catch_up, wall_time now)
    : next_(std::move(next)), catch_up_(catch_up), settled_(now - catch_up) {}

std::optional<firing_plan::firing> firing_plan::due(wall_time now) {
  if (quiet_from_ <= now && (!quiet_until_ || now < *quiet_until_)) return std::nullopt;
  if (settled_ > now) {
    const auto following = next_(settled_);
    if (!following || settled_ - now < *following - settled_) return std::nullopt;
    set_back_from_ = settled_;
    settled_ = now;
  }
  const auto at = last_in(std::max(settled_, now - catch_up_), now);
  if (!at) return std::nullopt;
  return firing{*at, *at <= latest_ ? set_back_from_ : std::nullopt};
}

void firing_plan::done(wall_time at) noexcept {
  settled_ = at;
  latest_ = std::max(latest_, at);
}

std::optional<wall_time> firing_plan::next(wall_time now) {
  if (now < quiet_from_ || (quiet_until_ && now >= *quiet_until_)) {
    quiet_from_ = now;
    quiet_until_ = next_(std::max(settled_, now));
  }
  return quiet_until_;
}

std::optional<wall_time> firing_plan::last_in(wall_time after, wall_time until) const {
  const auto in_range = [&](wall_time from) {
    const auto t = next_(from);
    return t && *t <= until ? t : std::nullopt;
  };
  auto last = in_range(after);
  if (!last) return std::nullopt;
  // By halves: a day in which it is due each second is 17 looks.
  for (wall_time none_after = until; none_after > *last;) {
    const wall_time middle = *last + (none_after - *last) / 2;
    if (const auto later = in_range(middle))
      last = later;
    else
      none_after = middle;
  }
  return last;
}

}  // namespace weir::detail
