// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "wait_report.hpp"

#include <weir/test/driver.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>

namespace weir::test {

namespace {

// The innermost. Its clock is the installed one.
driver* current = nullptr;

}  // namespace

driver::driver(time_point start) : outer_(current), now_(start), started_(start) {
  if (outer_) {
    now_ = started_ = outer_->now_;
  } else {
    weir::detail::virtual_clock* none = nullptr;
    if (!weir::detail::installed_clock.compare_exchange_strong(none, this))
      throw std::logic_error("weir::test: the clock is paused already, by something else");
  }
  current = this;
  weir::detail::installed_clock.store(this);
}

driver::~driver() {
  current = outer_;
  weir::detail::installed_clock.store(outer_);
  if (outer_) outer_->now_ = std::max(outer_->now_, now_);
}

duration driver::note_expiry(time_point expiry) noexcept {
  // The last is Asio's "never", nothing to wait for; before the epoch is the bell.
  if (expiry != time_point::max() && expiry >= time_point())
    next_event_ = next_event_ ? std::min(*next_event_, expiry) : expiry;
  return expiry <= now_ ? duration::zero() : std::chrono::hours(1);
}

std::size_t driver::settle() {
  std::size_t handlers = run_ready();
  while (const std::size_t more = look_again()) handlers += more + run_ready();
  return handlers;
}

void driver::try_next_event() {
  const time_point before = now_;
  now_ = std::max(now_, *next_event_);
  // Nothing there: the timer was cancelled, and nobody has seen the clock. To ask first each time
  // was measured at twice the cost of a step.
  if (look_again() == 0) now_ = before;
}

void driver::run() {
  for (;;) {
    run_ready();
    if (!work_left()) return;
    if (!next_event_) throw deadlock_error(deadlock_report(*this, outside()));
    try_next_event();
  }
}

void driver::run_for(duration d) {
  const time_point end = saturating_add(now_, d);
  for (run_ready(); next_event_ && *next_event_ <= end; run_ready()) try_next_event();
  now_ = std::max(now_, end);
}

std::vector<tag_pointer> driver::alive() const {
  std::vector<tag_pointer> tags;
  for (const auto& s : coroutines_)
    if (!s->ended) tags.push_back(s->tag);
  return tags;
}

std::shared_ptr<driver::spawned> driver::enter(std::string name, std::source_location where) {
  std::erase_if(coroutines_, [](const auto& s) { return s->ended; });
  auto made = std::make_shared<spawned>();
  made->tag = std::make_shared<coroutine_tag>(
      coroutine_tag{++spawned_count_, std::move(name), where, now_, false});
  made->executor = tagged_executor(base(), made->tag);
  coroutines_.push_back(made);
  return made;
}

void driver::ended(spawned& s, const std::exception_ptr& e) {
  s.ended = true;
  s.executor = {};
  if (!e) return;
  try {
    std::rethrow_exception(e);
  } catch (const boost::system::system_error& error) {
    if (s.cancelled && error.code() == boost::asio::error::operation_aborted) return;
    throw;
  }
}

}  // namespace weir::test
