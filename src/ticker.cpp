// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/ticker.hpp>
#include <weir/error.hpp>

#include <utility>

namespace weir::detail {

ticker::ticker(boost::asio::any_io_executor timers, duration every)
    : every_(every), timers_(std::move(timers)) {}

void ticker::attach() {
  context_watch::add(boost::asio::query(timers_, boost::asio::execution::context),
                     weak_from_this());
}

void ticker::start() {
  const std::lock_guard lock(mutex_);
  if (timer_ || !timers_) return;
  timer_.emplace(timers_);
  ++turn_;
  due_ = saturating_add(steady_clock::now(), every_);
  arm();
}

void ticker::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    timer_.reset();
  }
  // A tick that stops its own ticker cannot be waited for.
  const auto inside = ticking_.load(std::memory_order_acquire);
  if (inside != std::thread::id{} && inside != std::this_thread::get_id())
    ticking_.wait(inside, std::memory_order_acquire);
}

bool ticker::ticks() const {
  const std::lock_guard lock(mutex_);
  return timer_.has_value();
}

void ticker::on_context_end(const boost::asio::execution_context& context) noexcept {
  const std::lock_guard lock(mutex_);
  if (!timers_ || &boost::asio::query(timers_, boost::asio::execution::context) != &context) return;
  timer_.reset();
  timers_ = {};
}

void ticker::arm() {
  timer_->expires_at(due_);
  timer_->async_wait([self = shared_from_this(), turn = turn_](const error_code& ec) {
    if (!ec) self->on_timer(turn);
  });
}

void ticker::on_timer(std::uint64_t turn) {
  const time_point now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (!timer_ || turn != turn_) return;
    // Under the lock, so that `stop` sees either no timer or this.
    ticking_.store(std::this_thread::get_id(), std::memory_order_release);
  }
  tick(now);
  ticking_.store({}, std::memory_order_release);
  ticking_.notify_all();
  const std::lock_guard lock(mutex_);
  if (!timer_ || turn != turn_) return;
  const duration behind = steady_clock::now() - due_;
  due_ = saturating_add(due_, every_ * (behind / every_ + 1));
  arm();
}

}  // namespace weir::detail
