// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_RATE_LIMITER_STATE_HPP
#define WEIR_DETAIL_RATE_LIMITER_STATE_HPP

#include <weir/detail/inspection.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/detail/wait_list.hpp>
#include <weir/detail/wait_op.hpp>
#include <weir/token_bucket.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weir {
struct rate_metrics;
}  // namespace weir

namespace weir::detail {

class rate_limiter_state;

/// Somebody who waits for tokens that it has taken already.
class token_waiter : public waiter<> {
 public:
  void revoke() noexcept final;

  std::shared_ptr<rate_limiter_state> limiter;  ///< from when it has taken them
  std::int64_t wants = 0;
  std::int64_t ticket = 0;            ///< all that was taken until then, its own included
  std::optional<steady_timer> timer;  ///< only of the first in the queue; on its own executor
};

/// What a rate limiter is.
///
/// Whoever waits has taken its tokens as a debt; it may go on when no more is owed than what others
/// have taken after it. So the order is that of arrival, and who gives up pays back exactly.
///
/// Thread safety: safe.
class rate_limiter_state : public std::enable_shared_from_this<rate_limiter_state> {
 public:
  using queue = wait_list<token_waiter>::queue;

  rate_limiter_state(boost::asio::any_io_executor ex, const rate_options& options,
                     std::string name);

  /// Goes on with a bucket that has been in use.
  rate_limiter_state(boost::asio::any_io_executor ex, const token_bucket& bucket, std::string name);

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  bool try_acquire(std::int64_t n);
  void enter(token_waiter& w, std::int64_t n);
  bool leave(token_waiter& w);

  /// Takes `n` as a debt. \returns from when they may be used; empty if that cannot be counted.
  std::optional<time_point> reserve(std::int64_t n, std::int64_t& ticket);
  void cancel_reservation(std::int64_t n, std::int64_t ticket);

  void reconfigure(const rate_options& options);
  void close();

  // The same for who holds a lock: those who are to be completed are handed over. Where
  // `full_is_new`, a bucket that is full becomes one that is full by the new options.
  void reconfigure(const rate_options& options, bool full_is_new, queue& served, queue& refused);
  void close(queue& refused);

  token_bucket bucket() const;
  rate_options options() const;
  std::int64_t available() const;
  time_point when(std::int64_t n) const;
  std::size_t waiters() const;
  rate_metrics metrics() const;
  void inspect(inspector& to) const;

 private:
  void pay_back(std::int64_t n, std::int64_t ticket) noexcept;
  void grant(queue& served);
  void on_timer();

  const boost::asio::any_io_executor executor_;
  const std::string name_;

  mutable spin_mutex mutex_;
  mutable token_bucket bucket_;
  std::int64_t taken_ = 0;
  bool closed_ = false;
  wait_list<token_waiter> waiting_;

  inspectable inspectable_{*this};
};

/// Lets all of `served` go on.
void serve(rate_limiter_state::queue& served) noexcept;

}  // namespace weir::detail

#endif  // WEIR_DETAIL_RATE_LIMITER_STATE_HPP
