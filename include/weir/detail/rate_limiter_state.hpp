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

namespace weir::detail {

class rate_limiter_state;

/// Somebody who waits for tokens that it has taken already.
class token_waiter : public waiter<> {
 public:
  void revoke() noexcept final;

  std::shared_ptr<rate_limiter_state> served_by;  ///< once it has been
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
  rate_limiter_state(boost::asio::any_io_executor ex, const rate_options& options,
                     std::string name);

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  bool try_acquire(std::int64_t n);
  void enter(token_waiter& w, std::int64_t n);
  bool leave(token_waiter& w);

  /// Takes `n` as a debt. \returns from when they may be used; empty if that cannot be counted.
  std::optional<time_point> reserve(std::int64_t n, std::int64_t& ticket);
  void cancel_reservation(std::int64_t n, std::int64_t ticket);

  void reconfigure(const rate_options& options);
  void close();

  rate_options options() const;
  std::int64_t available() const;
  time_point when(std::int64_t n) const;
  std::size_t waiters() const;
  void inspect(inspector& to) const;

 private:
  using queue = wait_list<token_waiter>::queue;

  void pay_back(std::int64_t n, std::int64_t ticket) noexcept;
  void grant(queue& served);
  void serve(queue& served) noexcept;
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

}  // namespace weir::detail

#endif  // WEIR_DETAIL_RATE_LIMITER_STATE_HPP
