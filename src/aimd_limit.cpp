// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/aimd_limit.hpp>

#include <algorithm>
#include <limits>

namespace weir {

bool aimd_options::valid() const noexcept {
  return min >= 1 && max >= min && initial >= min && initial <= max && increase > 0 &&
         increase <= std::numeric_limits<int>::max() && backoff > 0 && backoff < 1 &&
         too_slow >= duration::zero();
}

int aimd_limit::on_sample(time_point now, duration took, int in_flight, bool dropped) noexcept {
  const bool slow = options_.too_slow > duration::zero() && took > options_.too_slow;
  if (dropped || slow) {
    // Not in the same instant either: of calls that fail at once, a burst counts once.
    if (now - std::max(took, duration::zero()) > lowered_) {
      lowered_ = std::max(lowered_, now);
      limit_ = std::max<double>(options_.min, limit_ * options_.backoff);
    }
  } else if (in_flight >= limit_ / 2) {
    limit_ = std::min<double>(options_.max, limit_ + options_.increase / limit_);
  }
  return limit();
}

}  // namespace weir
