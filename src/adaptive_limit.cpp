// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/adaptive_limit.hpp>
#include <weir/detail/adaptive_limit_state.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/detail/require.hpp>

#include <mutex>
#include <utility>

namespace weir {

namespace detail {

namespace {

int limit_of(const adaptive_limit_state::policy& p) noexcept {
  return std::visit([](const auto& x) { return x.limit(); }, p);
}

}  // namespace

adaptive_limit_state::adaptive_limit_state(boost::asio::any_io_executor ex, const policy& p,
                                           std::string name)
    : places_(std::move(ex), limit_of(p), std::move(name)), policy_(p), applied_(limit_of(p)) {}

limited_call adaptive_limit_state::begin(permit place) {
  limited_call call;
  call.state_ = shared_from_this();
  call.place_ = std::move(place);
  call.began_ = steady_clock::now();
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  return call;
}

void adaptive_limit_state::end(time_point began, ending how) noexcept {
  const int in_flight = in_flight_.fetch_sub(1, std::memory_order_relaxed);
  const time_point now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (how == ending::ignored) {
      ++counted_.ignored;
      return;
    }
    const bool dropped = how == ending::dropped;
    ++counted_.samples;
    if (dropped) ++counted_.dropped;
    std::visit([&](auto& p) { p.on_sample(now, now - began, in_flight, dropped); }, policy_);
    if (!must_apply()) return;
  }
  apply();
}

int adaptive_limit_state::current() const noexcept { return limit_of(policy_); }

int adaptive_limit_state::limit() const {
  const std::lock_guard lock(mutex_);
  return current();
}

bool adaptive_limit_state::must_apply() noexcept {
  if (applying_ || applied_ == current()) return false;
  applying_ = true;
  return true;
}

void adaptive_limit_state::apply() noexcept {
  // By one thread at a time, which goes on until nothing has changed meanwhile: two that each hand
  // on what they have found may do it in the wrong order, and the older limit would stay.
  for (;;) {
    std::shared_ptr<const std::function<void(int)>> target;
    int next = 0;
    {
      const std::lock_guard lock(mutex_);
      next = current();
      if (applied_ == next) {
        applying_ = false;
        return;
      }
      applied_ = next;
      target = target_;
    }
    places_.resize(next);
    if (target) (*target)(next);
  }
}

void adaptive_limit_state::drive(std::function<void(int)> target) {
  std::shared_ptr<const std::function<void(int)>> next;
  if (target) {
    fault_point();
    next = std::make_shared<const std::function<void(int)>>(std::move(target));
  }
  {
    const std::lock_guard lock(mutex_);
    std::swap(target_, next);
    if (!target_) return;
    applied_ = 0;
    if (!must_apply()) return;
  }
  apply();
}

adaptive_metrics adaptive_limit_state::metrics() const {
  adaptive_metrics m;
  {
    const std::lock_guard lock(mutex_);
    m = counted_;
    m.limit = current();
    if (const auto* gradient = std::get_if<gradient_limit>(&policy_)) {
      m.time = gradient->time();
      m.unloaded_time = gradient->unloaded_time();
    }
  }
  m.in_flight = in_flight_.load(std::memory_order_relaxed);
  m.waiting = places_.waiters();
  return m;
}

namespace {

template <typename Policy, typename Options>
std::shared_ptr<adaptive_limit_state> make_state(boost::asio::any_io_executor ex,
                                                 const Options& options, std::string name) {
  require(options.valid(), "weir::adaptive_limit");
  return std::make_shared<adaptive_limit_state>(std::move(ex), Policy(options), std::move(name));
}

}  // namespace

}  // namespace detail

// The place goes back after the report, and before the state that this may be the last to hold.

void limited_call::success() noexcept {
  if (const auto state = std::exchange(state_, nullptr)) {
    state->end(began_, detail::adaptive_limit_state::ending::success);
    place_.release();
  }
}

void limited_call::dropped() noexcept {
  if (const auto state = std::exchange(state_, nullptr)) {
    state->end(began_, detail::adaptive_limit_state::ending::dropped);
    place_.release();
  }
}

void limited_call::ignore() noexcept {
  if (const auto state = std::exchange(state_, nullptr)) {
    state->end(began_, detail::adaptive_limit_state::ending::ignored);
    place_.release();
  }
}

adaptive_limit::adaptive_limit(boost::asio::any_io_executor ex, const gradient_options& options,
                               std::string name)
    : state_(detail::make_state<gradient_limit>(std::move(ex), options, std::move(name))) {}

adaptive_limit::adaptive_limit(boost::asio::any_io_executor ex, const aimd_options& options,
                               std::string name)
    : state_(detail::make_state<aimd_limit>(std::move(ex), options, std::move(name))) {}

adaptive_limit::~adaptive_limit() {
  state_->drive(nullptr);
  state_->places().close();
}

adaptive_limit::executor_type adaptive_limit::get_executor() const noexcept {
  return state_->places().get_executor();
}

limited_call adaptive_limit::try_acquire() {
  permit place = state_->places().try_acquire();
  return place ? state_->begin(std::move(place)) : limited_call();
}

limited_call adaptive_limit::measure() { return state_->begin({}); }

void adaptive_limit::drive(std::function<void(int)> target) { state_->drive(std::move(target)); }

void adaptive_limit::close() { state_->places().close(); }

int adaptive_limit::limit() const { return state_->limit(); }

adaptive_metrics adaptive_limit::metrics() const { return state_->metrics(); }

}  // namespace weir
