// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/semaphore_state.hpp>
#include <weir/semaphore.hpp>

#include <boost/system/system_error.hpp>

#include <mutex>
#include <utility>

namespace weir {

namespace {

void require(bool valid) {
  if (!valid) throw boost::system::system_error(errc::invalid_argument, "weir::semaphore");
}

}  // namespace

namespace detail {

semaphore_state::semaphore_state(boost::asio::any_io_executor ex, std::ptrdiff_t limit,
                                 std::string name)
    : executor_(std::move(ex)), name_(std::move(name)), limit_(limit) {}

permit semaphore_state::try_acquire(std::ptrdiff_t n) {
  const std::lock_guard lock(mutex_);
  require(n >= 1 && n <= limit_);
  if (closed_ || !waiting_.empty() || in_use_ > limit_ - n) return {};
  in_use_ += n;
  return {shared_from_this(), n};
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
      w.since = steady_clock::now();
      w.queued = true;
      waiting_.push(w);
      return;
    } else {
      in_use_ += n;
    }
  }
  if (ec)
    w.complete(ec, {});
  else
    w.complete({}, permit(shared_from_this(), n));
}

bool semaphore_state::leave(permit_waiter& w) {
  queue served;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(w.queued, false)) return false;
    waiting_.erase(w);
    grant(served);  // it may have been the one that those behind it waited for
  }
  serve(served);
  return true;
}

void semaphore_state::release(std::ptrdiff_t n) noexcept {
  queue served;
  {
    const std::lock_guard lock(mutex_);
    in_use_ -= n;
    grant(served);
  }
  serve(served);
}

void semaphore_state::resize(std::ptrdiff_t limit) {
  require(limit >= 1);
  queue refused;
  queue served;
  {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
    queue kept;
    while (permit_waiter* w = waiting_.pop()) {
      w->queued = w->wants <= limit;
      (w->queued ? kept : refused).push(*w);
    }
    while (permit_waiter* w = kept.pop()) waiting_.push(*w);
    grant(served);
  }
  serve(served);
  while (permit_waiter* w = refused.pop()) w->complete(errc::invalid_argument, {});
}

void semaphore_state::close() {
  queue refused;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    while (permit_waiter* w = waiting_.pop()) {
      w->queued = false;
      refused.push(*w);
    }
  }
  while (permit_waiter* w = refused.pop()) w->complete(errc::semaphore_closed, {});
}

void semaphore_state::grant(queue& served) noexcept {
  while (!waiting_.empty() && in_use_ <= limit_ - waiting_.front().wants) {
    permit_waiter& w = *waiting_.pop();
    in_use_ += w.wants;
    w.queued = false;
    served.push(w);
  }
}

void semaphore_state::serve(queue& served) noexcept {
  while (permit_waiter* w = served.pop()) w->complete({}, permit(shared_from_this(), w->wants));
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

void semaphore_state::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  waiting_.for_each([&](const permit_waiter& w) {
    to.on_wait(this, name_, "semaphore acquire", w.since, w.caller());
  });
  to.on_hold(this, name_, "permit", static_cast<std::size_t>(in_use_));
}

}  // namespace detail

void permit::release() noexcept {
  if (const auto state = std::exchange(state_, nullptr)) state->release(std::exchange(count_, 0));
}

permit permit::split(std::ptrdiff_t n) {
  require(n >= 1 && n <= count_);
  permit part(state_, n);
  count_ -= n;
  if (count_ == 0) state_.reset();
  return part;
}

void permit::merge(permit&& other) {
  if (!other || &other == this) return;
  require(!state_ || state_ == other.state_);
  state_ = std::exchange(other.state_, nullptr);
  count_ += std::exchange(other.count_, 0);
}

semaphore::semaphore(boost::asio::any_io_executor ex, std::ptrdiff_t permits, std::string name) {
  require(permits >= 1);
  state_ = std::make_shared<detail::semaphore_state>(std::move(ex), permits, std::move(name));
}

semaphore::~semaphore() { state_->close(); }

semaphore::executor_type semaphore::get_executor() const noexcept { return state_->executor(); }

permit semaphore::try_acquire(std::ptrdiff_t n) { return state_->try_acquire(n); }

void semaphore::resize(std::ptrdiff_t permits) { state_->resize(permits); }

void semaphore::close() { state_->close(); }

std::ptrdiff_t semaphore::limit() const { return state_->limit(); }

std::ptrdiff_t semaphore::in_use() const { return state_->in_use(); }

std::size_t semaphore::waiters() const { return state_->waiters(); }

}  // namespace weir
