// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/virtual_time.hpp>

#include <algorithm>
#include <string>

namespace weir::test {

virtual_time::virtual_time() : context_(std::in_place, 1), now_(std::chrono::steady_clock::now()) {
  detail::virtual_clock* none = nullptr;
  if (!detail::installed_clock.compare_exchange_strong(none, this))
    throw std::logic_error("weir::test::virtual_time: the clock is paused already");
}

virtual_time::~virtual_time() {
  context_.reset();
  detail::installed_clock.store(nullptr);
}

void virtual_time::note_expiry(time_point expiry) noexcept {
  if (expiry == time_point::max()) return;  // Asio's "never": nothing to wait for
  next_expiry_ = next_expiry_ ? std::min(*next_expiry_, expiry) : expiry;
}

std::size_t virtual_time::settle() {
  std::size_t handlers = 0;
  for (;;) {
    // The last poll, which finds nothing, asks each timer queue for its earliest expiry anew: what
    // was noted before may have been cancelled since.
    next_expiry_.reset();
    context_->restart();
    std::size_t ran = context_->poll();
    // The kernel may take a moment to say that a timer is due. Nothing due and nothing noted, with
    // work left, is believed only when it has been so for a while.
    for (int looks = 0; ran == 0 && !next_expiry_ && !context_->stopped() && looks < 20; ++looks)
      ran = context_->run_one_for(std::chrono::milliseconds(1));
    if (ran == 0) return handlers;
    handlers += ran;
  }
}

void virtual_time::run() {
  for (;;) {
    settle();
    if (context_->stopped()) return;  // Asio's own word that no work is left
    if (!next_expiry_)
      throw deadlock_error(
          "weir::test::virtual_time: work is left, but nothing is ready and no timer is pending; " +
          std::to_string((now_ - started_) / std::chrono::milliseconds(1)) +
          " ms of virtual time after the start");
    now_ = std::max(now_, *next_expiry_);
  }
}

void virtual_time::run_for(duration d) {
  const time_point end = saturating_add(now_, d);
  for (;;) {
    settle();
    if (!next_expiry_ || *next_expiry_ > end) break;
    now_ = std::max(now_, *next_expiry_);
  }
  now_ = end;
}

}  // namespace weir::test
