// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/rate_limiter_state.hpp>
#include <weir/detail/require.hpp>
#include <weir/rate_limiter.hpp>

#include <boost/asio/system_executor.hpp>

#include <mutex>
#include <utility>

namespace weir {

namespace {

constexpr const char* rate_limiter_name = "weir::rate_limiter";

}  // namespace

namespace detail {

rate_limiter_state::rate_limiter_state(boost::asio::any_io_executor ex, const rate_options& options,
                                       std::string name)
    : executor_(std::move(ex)),
      name_(std::move(name)),
      bucket_((require(options.valid(), rate_limiter_name), options), steady_clock::now()) {}

rate_limiter_state::rate_limiter_state(boost::asio::any_io_executor ex, const token_bucket& bucket,
                                       std::string name)
    : executor_(std::move(ex)), name_(std::move(name)), bucket_(bucket) {}

bool rate_limiter_state::try_acquire(std::int64_t n) {
  const std::lock_guard lock(mutex_);
  require(n >= 1 && n <= bucket_.options().burst, rate_limiter_name);
  if (closed_ || !waiting_.empty() || !bucket_.try_take(n, steady_clock::now())) return false;
  taken_ += n;
  return true;
}

void rate_limiter_state::enter(token_waiter& w, std::int64_t n) {
  error_code ec;
  queue served;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      ec = errc::rate_limiter_closed;
    } else if (n < 1 || n > bucket_.options().burst) {
      ec = errc::invalid_argument;
    } else if (!bucket_.may_owe(n)) {
      ec = errc::rate_limited;
    } else {
      bucket_.take(n, steady_clock::now());
      taken_ += n;
      w.limiter = shared_from_this();
      w.wants = n;
      w.ticket = taken_;
      waiting_.push(w);
      grant(served);  // this one, or one before it that is due and whose timer has not spoken yet
    }
  }
  if (ec) w.refuse(ec);
  serve(served);
}

void token_waiter::revoke() noexcept { limiter->cancel_reservation(wants, ticket); }

bool rate_limiter_state::leave(token_waiter& w) {
  queue served;
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.erase(w)) return false;
    w.timer.reset();
    pay_back(w.wants, w.ticket);
    grant(served);
  }
  serve(served);
  return true;
}

std::optional<time_point> rate_limiter_state::reserve(std::int64_t n, std::int64_t& ticket) {
  const std::lock_guard lock(mutex_);
  require(n >= 1 && n <= bucket_.options().burst, rate_limiter_name);
  if (closed_ || !bucket_.may_owe(n)) return std::nullopt;
  taken_ += n;
  ticket = taken_;
  return bucket_.take(n, steady_clock::now());
}

void rate_limiter_state::cancel_reservation(std::int64_t n, std::int64_t ticket) {
  queue served;
  {
    const std::lock_guard lock(mutex_);
    pay_back(n, ticket);
    grant(served);
  }
  serve(served);
}

void rate_limiter_state::pay_back(std::int64_t n, std::int64_t ticket) noexcept {
  bucket_.refund(n);
  taken_ -= n;
  waiting_.for_each([&](token_waiter& w) {
    if (w.ticket > ticket) w.ticket -= n;
  });
}

void rate_limiter_state::grant(queue& served) {
  const time_point now = steady_clock::now();
  while (!waiting_.empty()) {
    token_waiter& first = waiting_.front();
    const time_point ready = bucket_.when(-(taken_ - first.ticket), now);
    if (ready <= now) {
      waiting_.pop();
      first.timer.reset();
      served.push(first);
      continue;
    }
    if (first.timer && first.timer->expiry() == ready) return;
    const auto own = first.caller();
    first.timer.emplace(own ? own : executor_, ready);
    first.timer->async_wait([self = shared_from_this()](const error_code& ec) {
      if (!ec) self->on_timer();
    });
    return;
  }
}

void rate_limiter_state::on_timer() {
  queue served;
  {
    const std::lock_guard lock(mutex_);
    grant(served);
  }
  serve(served);
}

void serve(rate_limiter_state::queue& served) noexcept {
  while (token_waiter* w = served.pop()) w->complete({});
}

void rate_limiter_state::reconfigure(const rate_options& options) {
  require(options.valid(), rate_limiter_name);
  queue refused;
  queue served;
  reconfigure(options, false, served, refused);
  serve(served);
  refuse(refused, errc::invalid_argument);
}

void rate_limiter_state::reconfigure(const rate_options& options, bool full_is_new, queue& served,
                                     queue& refused) {
  const std::lock_guard lock(mutex_);
  queue gone;
  waiting_.pop_if(gone, [&](const token_waiter& w) { return w.wants > options.burst; });
  while (token_waiter* w = gone.pop()) {
    w->timer.reset();
    pay_back(w->wants, w->ticket);
    gone.for_each([&](token_waiter& behind) { behind.ticket -= w->wants; });
    refused.push(*w);
  }
  const time_point now = steady_clock::now();
  if (full_is_new && bucket_.when(bucket_.options().burst, now) <= now)
    bucket_ = token_bucket(options, now);
  else
    bucket_.reconfigure(options, now);
  grant(served);
}

void rate_limiter_state::close() {
  queue refused;
  close(refused);
  refuse(refused, errc::rate_limiter_closed);
}

void rate_limiter_state::close(queue& refused) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  waiting_.for_each([](token_waiter& w) { w.timer.reset(); });
  waiting_.pop_if(refused, [](const token_waiter&) { return true; });
}

token_bucket rate_limiter_state::bucket() const {
  const std::lock_guard lock(mutex_);
  return bucket_;
}

rate_options rate_limiter_state::options() const {
  const std::lock_guard lock(mutex_);
  return bucket_.options();
}

std::int64_t rate_limiter_state::available() const {
  const std::lock_guard lock(mutex_);
  return bucket_.available(steady_clock::now());
}

time_point rate_limiter_state::when(std::int64_t n) const {
  const std::lock_guard lock(mutex_);
  return bucket_.when(n, steady_clock::now());
}

std::size_t rate_limiter_state::waiters() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

rate_metrics rate_limiter_state::metrics() const {
  const std::lock_guard lock(mutex_);
  return {.available = bucket_.available(steady_clock::now()), .waiting = waiting_.size()};
}

void rate_limiter_state::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  waiting_.for_each([&](const token_waiter& w) {
    to.on_wait(this, name_, "rate limiter acquire", w.since, w.caller());
  });
}

}  // namespace detail

void reservation::cancel() {
  if (const auto state = std::exchange(state_, nullptr)) state->cancel_reservation(count_, ticket_);
}

rate_limiter::rate_limiter(const rate_options& options, std::string name)
    : rate_limiter(boost::asio::system_executor(), options, std::move(name)) {}

rate_limiter::rate_limiter(boost::asio::any_io_executor ex, const rate_options& options,
                           std::string name)
    : state_(
          std::make_shared<detail::rate_limiter_state>(std::move(ex), options, std::move(name))) {}

rate_limiter::~rate_limiter() { state_->close(); }

rate_limiter::executor_type rate_limiter::get_executor() const noexcept {
  return state_->executor();
}

bool rate_limiter::try_acquire(std::int64_t n) { return state_->try_acquire(n); }

reservation rate_limiter::reserve(std::int64_t n) {
  reservation made;
  if (const auto ready = state_->reserve(n, made.ticket_)) {
    made.state_ = state_;
    made.count_ = n;
    made.ready_ = *ready;
  }
  return made;
}

void rate_limiter::reconfigure(const rate_options& options) { state_->reconfigure(options); }

void rate_limiter::close() { state_->close(); }

rate_options rate_limiter::options() const { return state_->options(); }

std::int64_t rate_limiter::available() const { return state_->available(); }

time_point rate_limiter::when(std::int64_t n) const { return state_->when(n); }

std::size_t rate_limiter::waiters() const { return state_->waiters(); }

rate_metrics rate_limiter::metrics() const { return state_->metrics(); }

}  // namespace weir
