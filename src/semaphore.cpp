// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/require.hpp>
#include <weir/detail/semaphore_state.hpp>
#include <weir/semaphore.hpp>

#include <mutex>
#include <utility>

namespace weir {

namespace {

constexpr const char* semaphore_name = "weir::semaphore";

}  // namespace

namespace detail {

semaphore_state::semaphore_state(boost::asio::any_io_executor ex, std::ptrdiff_t limit,
                                 std::string name)
    : executor_(std::move(ex)), name_(std::move(name)), limit_(limit) {}

permit semaphore_state::try_acquire(std::ptrdiff_t n) {
  const std::lock_guard lock(mutex_);
  require(n >= 1 && n <= limit_, semaphore_name);
  if (closed_ || !waiting_.empty() || in_use_ > limit_ - n) return {};
  in_use_ += n;
  return {*this, n};
}

void semaphore_state::enter(permit_waiter& w, std::ptrdiff_t n) {
  error_code ec;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      ec = errc::semaphore_closed;
    } else if (n < 1 || n > limit_) {
      ec = errc::invalid_argument;
    } else if (!waiting_.empty() || in_use_ > limit_ - n) {
      w.wants = n;
      waiting_.push(w);
      return;
    } else {
      in_use_ += n;
    }
  }
  if (ec)
    w.refuse(ec);
  else
    w.complete({}, permit(*this, n));
}

bool semaphore_state::leave(permit_waiter& w) {
  queue served;
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.erase(w)) return false;
    grant(served);  // it may have been the one that those behind it waited for
  }
  serve(served);
  return true;
}

void semaphore_state::release(std::ptrdiff_t n) noexcept {
  std::shared_ptr<semaphore_state> last;
  queue served;
  {
    const std::lock_guard lock(mutex_);
    in_use_ -= n;
    grant(served);
    if (in_use_ == 0) last = std::move(self_);
  }
  // Where nobody is served, this may be gone by now.
  serve(served);
}

void semaphore_state::resize(std::ptrdiff_t limit) {
  require(limit >= 1, semaphore_name);
  queue refused;
  queue served;
  {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
    waiting_.pop_if(refused, [&](const permit_waiter& w) { return w.wants > limit; });
    grant(served);
  }
  serve(served);
  refuse(refused, errc::invalid_argument);
}

void semaphore_state::close() {
  queue refused;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting_.pop_if(refused, [](const permit_waiter&) { return true; });
  }
  refuse(refused, errc::semaphore_closed);
}

void semaphore_state::abandon(std::shared_ptr<semaphore_state> self) {
  close();
  const std::lock_guard lock(mutex_);
  if (in_use_ != 0) self_ = std::move(self);
}

void semaphore_state::grant(queue& served) noexcept {
  while (!waiting_.empty() && in_use_ <= limit_ - waiting_.front().wants) {
    permit_waiter& w = waiting_.pop();
    in_use_ += w.wants;
    served.push(w);
  }
}

void semaphore_state::serve(queue& served) noexcept {
  while (permit_waiter* w = served.pop()) w->complete({}, permit(*this, w->wants));
}

std::ptrdiff_t semaphore_state::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

std::ptrdiff_t semaphore_state::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::size_t semaphore_state::waiters() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

semaphore_metrics semaphore_state::metrics() const {
  const std::lock_guard lock(mutex_);
  return {.limit = limit_, .in_use = in_use_, .waiting = waiting_.size()};
}

void semaphore_state::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  waiting_.for_each([&](const permit_waiter& w) {
    to.on_wait(this, name_, "semaphore acquire", w.since, w.caller());
  });
  to.on_hold(this, name_, "permit", static_cast<std::size_t>(in_use_));
}

}  // namespace detail

void permit::release() noexcept {
  if (auto* const state = std::exchange(state_, nullptr)) state->release(std::exchange(count_, 0));
}

permit permit::split(std::ptrdiff_t n) {
  detail::require(n >= 1 && n <= count_, semaphore_name);
  permit part(*state_, n);
  count_ -= n;
  if (count_ == 0) state_ = nullptr;
  return part;
}

void permit::merge(permit&& other) {
  if (!other || &other == this) return;
  detail::require(!state_ || state_ == other.state_, semaphore_name);
  state_ = std::exchange(other.state_, nullptr);
  count_ += std::exchange(other.count_, 0);
}

semaphore::semaphore(boost::asio::any_io_executor ex, std::ptrdiff_t permits, std::string name) {
  detail::require(permits >= 1, semaphore_name);
  state_ = std::make_shared<detail::semaphore_state>(std::move(ex), permits, std::move(name));
}

semaphore::~semaphore() { state_->abandon(state_); }

semaphore::executor_type semaphore::get_executor() const noexcept { return state_->executor(); }

permit semaphore::try_acquire(std::ptrdiff_t n) { return state_->try_acquire(n); }

void semaphore::resize(std::ptrdiff_t permits) { state_->resize(permits); }

void semaphore::close() { state_->close(); }

std::ptrdiff_t semaphore::limit() const { return state_->limit(); }

std::ptrdiff_t semaphore::in_use() const { return state_->in_use(); }

std::size_t semaphore::waiters() const { return state_->waiters(); }

semaphore_metrics semaphore::metrics() const { return state_->metrics(); }

}  // namespace weir
