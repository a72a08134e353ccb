// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/child_watch.hpp>

#include <boost/asio/error.hpp>

#include <mutex>
#include <utility>

namespace weir::detail {

child_watch::child_watch(boost::asio::any_io_executor ex, const char* what)
    : executor_(std::move(ex)), what_(what) {}

void child_watch::add() noexcept {
  const std::lock_guard lock(mutex_);
  ++children_;
}

void child_watch::ended() {
  watch_waiter* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    --children_;
    woken = std::exchange(waiting_, nullptr);
    rung_ = !woken;
  }
  if (woken) woken->complete({});
}

void child_watch::lost() noexcept {
  watch_waiter* dropped = nullptr;
  {
    const std::lock_guard lock(mutex_);
    // The last one, for the others may refer to what the waiting frame holds.
    if (--children_ == 0) dropped = std::exchange(waiting_, nullptr);
  }
  if (dropped) dropped->drop();
}

void child_watch::enter(watch_waiter& w, time_point until) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(rung_, false)) {
      waiting_ = &w;
      since_ = steady_clock::now();
      until_ = until;
      if (until != time_point::max()) arm();
      return;
    }
  }
  w.complete({});
}

void child_watch::give_up(watch_waiter& w) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_ != &w) return;
    waiting_ = nullptr;
  }
  w.complete(boost::asio::error::operation_aborted);
}

void child_watch::arm() {
  if (timer_)
    timer_->expires_at(until_);
  else
    timer_.emplace(executor_, until_);
  timer_->async_wait([weak = weak_from_this()](const error_code& ec) {
    if (const auto self = weak.lock(); self && !ec) self->on_timer();
  });
}

void child_watch::on_timer() {
  watch_waiter* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    // It may be the timer of an earlier wait: once it is due it cannot be called back.
    if (until_ <= steady_clock::now()) woken = std::exchange(waiting_, nullptr);
  }
  if (woken) woken->complete(errc::deadline_exceeded);
}

void child_watch::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  if (waiting_) to.on_wait(this, {}, what_, since_, waiting_->caller());
}

}  // namespace weir::detail
