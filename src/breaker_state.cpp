// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/breaker_state.hpp>

#include <algorithm>
#include <utility>

namespace weir {

namespace {

constexpr std::uint8_t failure_bit = 1;
constexpr std::uint8_t slow_bit = 2;

bool is_share(double d) noexcept { return d > 0 && d <= 1; }

// Divided, not multiplied: 7 of 100 is then exactly what a user writes as 0.07.
bool reaches(std::int64_t part, std::int64_t whole, double share) noexcept {
  return static_cast<double>(part) / static_cast<double>(whole) >= share;
}

duration width_of_part(const breaker_options& o, std::size_t parts) noexcept {
  const auto n = static_cast<duration::rep>(parts);
  return duration(o.window_time.count() / n + (o.window_time.count() % n > 0));
}

}  // namespace

const char* to_string(circuit state) noexcept {
  switch (state) {
    case circuit::closed:
      return "closed";
    case circuit::open:
      return "open";
    case circuit::half_open:
      return "half_open";
    case circuit::disabled:
      return "disabled";
  }
  return "?";
}

bool breaker_options::valid() const noexcept {
  const bool by_time = window_time > duration::zero();
  return window_calls >= 1 && window_time >= duration::zero() && minimum_calls >= 1 &&
         (by_time || minimum_calls <= window_calls) && is_share(failure_rate) &&
         slow_call >= duration::zero() && is_share(slow_rate) && open_for > duration::zero() &&
         open_growth >= 1 && open_at_most > duration::zero() && probes >= 1 && successes >= 1 &&
         successes <= probes && probe_timeout >= duration::zero();
}

breaker_state::breaker_state(const breaker_options& options, time_point now)
    : options_(options),
      last_(now),
      since_(now),
      opened_for_(options.open_for),
      ring_(options.window_time > duration::zero()
                ? 0
                : static_cast<std::size_t>(options.window_calls)),
      part_end_(saturating_add(now, width_of_part(options, parts))) {}

time_point breaker_state::seen(time_point now) noexcept { return last_ = std::max(last_, now); }

std::uint64_t breaker_state::free_generation() const noexcept {
  return state_ == circuit::closed || state_ == circuit::disabled ? generation_ : 0;
}

bool breaker_state::timed() const noexcept {
  return options_.slow_call > duration::zero() || options_.window_time > duration::zero();
}

std::optional<breaker_state::call> breaker_state::try_begin(time_point now) noexcept {
  const time_point latest = seen(now);
  if (state_ == circuit::open && latest >= open_until_) change(circuit::half_open, latest);
  switch (state_) {
    case circuit::closed:
    case circuit::disabled:
      return call{generation_, now};
    case circuit::half_open:
      if (probing_ + passed_ + broken_ < options_.probes) {
        ++probing_;
        last_probe_ = latest;
        return call{generation_, now};
      }
      // Since the last one began, not since the round did: an idle breaker may be half open for
      // days.
      if (options_.probe_timeout > duration::zero() &&
          latest - last_probe_ >= options_.probe_timeout)
        reopen(latest);
      break;
    case circuit::open:
      break;
  }
  ++totals_.refused;
  return std::nullopt;
}

void breaker_state::succeed(const call& c, time_point now) noexcept { end(c, false, now); }

void breaker_state::fail(const call& c, time_point now) noexcept { end(c, true, now); }

void breaker_state::end(const call& c, bool failed, time_point now) noexcept {
  const time_point latest = seen(now);
  if (c.generation != generation_ || state_ == circuit::disabled) {
    ++totals_.late;
    return;
  }
  // By the two readings of the caller's own, which belong together.
  const bool slow = options_.slow_call > duration::zero() && now - c.began >= options_.slow_call;
  ++(failed ? totals_.failed : totals_.succeeded);
  if (slow) ++totals_.slow;
  if (state_ == circuit::closed) {
    expire();
    record(failed, slow);
    if ((failed || slow) && too_bad()) open(options_.open_for, latest);
    return;
  }
  --probing_;
  // A slow probe is no sign that calls are fast again.
  ++(failed || slow ? broken_ : passed_);
  if (passed_ >= options_.successes)
    change(circuit::closed, latest);
  else if (broken_ > options_.probes - options_.successes)
    reopen(latest);
}

void breaker_state::drop(const call& c) noexcept {
  if (c.generation != generation_ || state_ == circuit::disabled) {
    ++totals_.late;
    return;
  }
  ++totals_.dropped;
  if (state_ == circuit::half_open) --probing_;
}

void breaker_state::trip(duration d, time_point now) noexcept {
  open(d, seen(now));
  opened_for_ = options_.open_for;
}

void breaker_state::reset(time_point now) noexcept { change(circuit::closed, seen(now)); }

void breaker_state::disable(time_point now) noexcept { change(circuit::disabled, seen(now)); }

time_point breaker_state::retry_at(time_point now) const noexcept {
  return state_ == circuit::open ? std::max(now, open_until_) : now;
}

void breaker_state::change(circuit to, time_point now) noexcept {
  ++generation_;
  if (to != state_) {
    ++totals_.transitions;
    since_ = now;
  }
  state_ = to;
  if (to == circuit::half_open) {
    probing_ = passed_ = broken_ = 0;
  } else if (to == circuit::closed) {
    window_ = {};
    parts_ = {};
    oldest_ = 0;
  }
}

void breaker_state::open(duration d, time_point now) noexcept {
  opened_for_ = d;
  open_until_ = saturating_add(now, d);
  change(circuit::open, now);
}

void breaker_state::reopen(time_point now) noexcept {
  const double grown = static_cast<double>(opened_for_.count()) * options_.open_growth;
  const duration most = std::max(options_.open_at_most, opened_for_);
  open(grown < static_cast<double>(most.count()) ? duration(static_cast<duration::rep>(grown))
                                                 : most,
       now);
}

void breaker_state::record(bool failed, bool slow) noexcept {
  const auto add = [](tally& t, bool f, bool s, int n) {
    t.calls += n;
    t.failures += f ? n : 0;
    t.slow += s ? n : 0;
  };
  add(window_, failed, slow, 1);
  if (ring_.empty()) {
    add(parts_[part_], failed, slow, 1);
    return;
  }
  auto& place = ring_[oldest_];
  if (window_.calls > static_cast<std::int64_t>(ring_.size()))
    add(window_, (place & failure_bit) != 0, (place & slow_bit) != 0, -1);
  place = static_cast<std::uint8_t>((failed ? failure_bit : 0) | (slow ? slow_bit : 0));
  if (++oldest_ == ring_.size()) oldest_ = 0;
}

void breaker_state::expire() noexcept {
  if (!ring_.empty() || last_ < part_end_) return;
  const duration width = width_of_part(options_, parts);
  const duration over = last_ - part_end_;
  for (auto n = std::min<duration::rep>(over / width + 1, parts); n != 0; --n) {
    if (++part_ == parts) part_ = 0;
    const tally& gone = parts_[part_];
    window_.calls -= gone.calls;
    window_.failures -= gone.failures;
    window_.slow -= gone.slow;
    parts_[part_] = {};
  }
  part_end_ = saturating_add(last_, width - over % width);
}

bool breaker_state::too_bad() const noexcept {
  return window_.calls >= options_.minimum_calls &&
         (reaches(window_.failures, window_.calls, options_.failure_rate) ||
          (options_.slow_call > duration::zero() &&
           reaches(window_.slow, window_.calls, options_.slow_rate)));
}

breaker_metrics breaker_state::metrics(time_point now) noexcept {
  seen(now);
  expire();
  breaker_metrics m = totals_;
  m.state = state_;
  m.since = since_;
  m.probing = state_ == circuit::half_open ? probing_ : 0;
  m.window_calls = window_.calls;
  m.window_failures = window_.failures;
  m.window_slow = window_.slow;
  return m;
}

}  // namespace weir
