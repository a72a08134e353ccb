// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/scale_policy.hpp>

#include <algorithm>
#include <cmath>

namespace weir {

namespace {

/// As std::clamp, but what is not a number becomes the least.
double within(double x, double least, double most) noexcept {
  return x > least ? std::min(x, most) : least;
}

scale_options clamped(scale_options o) {
  o.min = std::max(o.min, 1);
  o.max = std::max(o.max, o.min);
  o.target = std::max(o.target, duration::zero());
  o.grow_after = std::max(o.grow_after, duration::zero());
  o.shrink_after = std::max(o.shrink_after, duration::zero());
  o.growth = within(o.growth, 0, 16);
  o.shrinkage = within(o.shrinkage, 0, 1);
  o.utilisation = within(o.utilisation, 0.1, 1);
  return o;
}

/// `share` of `workers`, but one at least; never beyond what an int holds.
int part(int workers, double share) noexcept {
  return static_cast<int>(std::clamp(std::floor(workers * share), 1.0, 1e9));
}

}  // namespace

std::string_view to_string(scale_reason r) noexcept {
  switch (r) {
    case scale_reason::queue_wait:
      return "queue wait";
    case scale_reason::utilisation:
      return "utilisation";
    case scale_reason::bounds:
      return "bounds";
  }
  return "unknown";
}

scale_policy::scale_policy(scale_options options) : options_(clamped(options)) {}

std::optional<scale_change> scale_policy::on_load(time_point now, const scale_load& load) {
  if (load.workers < options_.min || load.workers > options_.max)
    return change(now, load.workers, std::clamp(load.workers, options_.min, options_.max),
                  scale_reason::bounds);
  const std::size_t tasks = load.active + load.queued;
  const auto waited = [&](duration d) { return !changed_ || now >= saturating_add(*changed_, d); };
  if (load.wait > options_.target && tasks > static_cast<std::size_t>(load.workers)) {
    calm_since_.reset();
    if (!waited(options_.grow_after)) return std::nullopt;
    const double above = options_.target > duration::zero()
                             ? std::chrono::duration<double>(load.wait - options_.target) /
                                   std::chrono::duration<double>(options_.target)
                             : options_.growth;
    const int step = part(load.workers, std::min(above, options_.growth));
    const auto wanted = static_cast<std::size_t>(options_.max - load.workers);
    const auto more = std::min(
        {static_cast<std::size_t>(step), wanted, tasks - static_cast<std::size_t>(load.workers)});
    return change(now, load.workers, load.workers + static_cast<int>(more),
                  scale_reason::queue_wait);
  }
  if (!calm_since_) {
    calm_since_ = now;
    peak_ = 0;
  }
  peak_ = std::max(peak_, tasks);
  if (now < saturating_add(*calm_since_, options_.shrink_after)) return std::nullopt;
  const double needed = std::ceil(static_cast<double>(peak_) / options_.utilisation);
  const int least = std::max(options_.min, load.workers - part(load.workers, options_.shrinkage));
  calm_since_ = now;  // each stretch is looked at once, whether it led to anything or not
  peak_ = tasks;
  if (needed >= load.workers) return std::nullopt;
  return change(now, load.workers, std::max(least, static_cast<int>(needed)),
                scale_reason::utilisation);
}

std::optional<scale_change> scale_policy::change(time_point now, int from, int to,
                                                 scale_reason why) {
  if (from == to) return std::nullopt;
  changed_ = now;
  if (why != scale_reason::utilisation) calm_since_.reset();
  return scale_change{from, to, why};
}

}  // namespace weir
