// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/backoff.hpp>

#include <algorithm>
#include <cmath>

namespace weir {

namespace {

/// `d * factor`, at most `cap`. Compared before it is converted: what does not fit is not defined.
duration grown(duration d, double factor, duration cap) noexcept {
  const double product = static_cast<double>(d.count()) * factor;
  return product >= static_cast<double>(cap.count())
             ? cap
             : std::min(cap, duration(static_cast<duration::rep>(product)));
}

/// Evenly from `from` to `to`, both included; `drawn` is evenly any number.
duration between(duration from, duration to, std::uint64_t drawn) noexcept {
  if (to <= from) return from;
  const double share = static_cast<double>(drawn >> 11U) * 0x1.0p-53;
  const double width = static_cast<double>((to - from).count()) + 1;
  return std::min(to, from + duration(static_cast<duration::rep>(share * width)));
}

}  // namespace

bool backoff_options::valid() const noexcept {
  return base > duration::zero() && factor >= 1 && std::isfinite(factor) && cap >= base &&
         floor >= duration::zero() && floor <= cap;
}

duration backoff::next_by(std::uint64_t drawn) noexcept {
  const duration ceiling = ceiling_;
  ceiling_ = grown(ceiling_, options_.factor, options_.cap);
  switch (options_.jitter) {
    case jitter::none:
      return std::max(ceiling, options_.floor);
    case jitter::full:
      return between(options_.floor, ceiling, drawn);
    case jitter::equal:
      return between(std::max(ceiling / 2, options_.floor), ceiling, drawn);
    case jitter::decorrelated:
      break;
  }
  last_ = between(std::max(options_.base, options_.floor), grown(last_, 3, options_.cap), drawn);
  return last_;
}

}  // namespace weir
