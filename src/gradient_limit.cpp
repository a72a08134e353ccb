// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/gradient_limit.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace weir {

static_assert(std::is_same_v<duration::period, std::nano>);

bool gradient_options::valid() const noexcept {
  return min >= 1 && max >= min && initial >= min && initial <= max && queue >= 0 &&
         tolerance >= 1 && tolerance < 2 && smoothing > 0 && smoothing <= 1 && window >= 1 &&
         probe_every >= 1 && backoff > 0 && backoff < 1;
}

int gradient_limit::on_sample(time_point now, duration took, int in_flight, bool dropped) noexcept {
  // The first to end: those before it found an empty server.
  if (opened_ == time_point::min()) opened_ = now;
  // It began under a limit that is no longer in force, or in the instant in which that changed.
  if (now - std::max(took, duration::zero()) <= opened_) return limit();
  if (dropped) {
    limit_ = std::max<double>(options_.min, limit_ * options_.backoff);
    probe_limit_ = std::min(probe_limit_, static_cast<int>(limit_));
    open(now);
    return limit();
  }
  if (took <= duration::zero()) return limit();
  ++count_;
  logs_ += std::log(static_cast<double>(took.count()));
  most_ = std::max(most_, in_flight);
  if (count_ >= std::max(options_.window, limit())) {
    decide();
    open(now);
  }
  return limit();
}

double gradient_limit::queue() const noexcept {
  return options_.queue != 0 ? options_.queue : std::sqrt(limit_);
}

void gradient_limit::decide() noexcept {
  const double time = std::exp(logs_ / count_);
  if (probing_) {
    // A full server answers faster in the measure in which it gets less, one that is not full does
    // not: there the time of a call is its own.
    const bool still_full = time * probed_load_ <= 1.25 * probed_time_ * probe_limit_;
    if (still_full && probe_limit_ > options_.min) {
      probe(probe_limit_, 0.5 * probe_limit_, time);
      return;
    }
    unloaded_ = time;
    probing_ = false;
    probed_ = true;
    until_probe_ = options_.probe_every;
    return;
  }
  time_ = time;
  if (unloaded_ == 0)
    unloaded_ = time;
  else if (time < unloaded_)
    unloaded_ += options_.smoothing * (time - unloaded_);

  const double gradient = std::clamp(options_.tolerance * unloaded_ / time, 0.5, 1.0);
  const bool used = most_ >= limit_ / 2;
  double next = gradient * limit_ + queue();
  if (!used) next = std::min(next, limit_);
  limit_ =
      std::clamp<double>(limit_ + options_.smoothing * (next - limit_), options_.min, options_.max);

  if (until_probe_ != 0) --until_probe_;
  // The first one finds out where it stands, whatever the load. Later on a load that is no trouble
  // is left alone.
  const bool worth_it = used || gradient < 1 || !probed_;
  if (until_probe_ != 0 || !worth_it) return;
  probing_ = true;
  const double load = std::min<double>(most_, limit_);
  probe(load, 0.5 * (load - queue()), time);  // without what may wait
}

void gradient_limit::probe(double load, double limit, double time) noexcept {
  probed_load_ = load;
  probed_time_ = time;
  probe_limit_ = std::max(options_.min, static_cast<int>(limit));
}

void gradient_limit::open(time_point now) noexcept {
  opened_ = std::max(opened_, now);
  count_ = 0;
  logs_ = 0;
  most_ = 0;
}

}  // namespace weir
