// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_RATE_LIMITER_HPP
#define WEIR_RATE_LIMITER_HPP

#include <weir/error.hpp>
#include <weir/token_bucket.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace weir {

namespace detail {
class rate_limiter_state;
}  // namespace detail

/// Tokens that were taken ahead of their time. Unlike a permit it is not given back by its
/// destructor: what was reserved counts as used unless `cancel` says otherwise.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
class reservation {
 public:
  /// From when they may be used.
  time_point ready() const noexcept { return ready_; }

  /// Whether there is one: a debt too great to be counted is refused.
  explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Gives all of them back, exactly, for they have not been used. Whoever came after moves up.
  void cancel();

 private:
  friend class rate_limiter;
  reservation() noexcept = default;

  std::shared_ptr<detail::rate_limiter_state> state_;
  std::int64_t count_ = 0;
  std::int64_t ticket_ = 0;
  time_point ready_{};
};

/// A rate limiter at one moment.
struct rate_metrics {
  std::int64_t available = 0;  ///< whole tokens that are there; below zero: owed
  std::size_t waiting = 0;     ///< those who wait for tokens
};

/// So many in so long: a token bucket whose waiters are served first come, first served.
///
/// A limit on the rate says nothing of how many run at once, which grows when each takes longer;
/// for that, see `semaphore`. Most callers of a service want both: \code co_await
/// rate.async_acquire(boost::asio::use_awaitable); const weir::permit slot = co_await
/// slots.async_acquire(boost::asio::use_awaitable); \endcode
///
/// Destroying it closes it.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
class rate_limiter {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// Full at the start. Waits use the executor of whoever waits.
  ///
  /// \throws system_error with `invalid_argument` if `options` are not valid.
  explicit rate_limiter(const rate_options& options, std::string name = {});

  /// \param ex where handlers run that have no executor of their own
  rate_limiter(boost::asio::any_io_executor ex, const rate_options& options, std::string name = {});
  rate_limiter(const rate_limiter&) = delete;
  rate_limiter& operator=(const rate_limiter&) = delete;
  ~rate_limiter();

  executor_type get_executor() const noexcept;

  /// Takes `n` tokens if they are there and nobody waits. Never waits.
  ///
  /// \throws system_error with `invalid_argument` if `n` is below 1 or above the burst.
  bool try_acquire(std::int64_t n = 1);

  /// Takes `n` tokens now, to be used from `ready()` on. Never waits.
  ///
  /// \throws system_error with `invalid_argument` if `n` is below 1 or above the burst.
  reservation reserve(std::int64_t n = 1);

  /// From now on by `options`. Waiters stay in order; those who ask for more than the new burst get
  /// `invalid_argument`.
  ///
  /// \throws system_error with `invalid_argument` if `options` are not valid.
  void reconfigure(const rate_options& options);

  /// Turns waiters and later requests away with `rate_limiter_closed`. Final.
  void close();

  rate_options options() const;

  /// Whole tokens that are there; below zero while waiters and reservations are owed.
  std::int64_t available() const;

  /// When a request for `n` that comes now would be served, which is what to tell a client.
  time_point when(std::int64_t n = 1) const;

  std::size_t waiters() const;

  /// What is there and who waits, of one instant.
  rate_metrics metrics() const;

  /// Waits for `n` tokens.
  ///
  /// Completion signature: `void(error_code)`.
  ///
  /// Errors: `invalid_argument` if `n` is below 1 or above the burst; `rate_limited` if more is
  /// owed than can be counted; `rate_limiter_closed`; each at once.
  ///
  /// Cancellation: all three types, with `operation_aborted`; the tokens go back exactly, and those
  /// behind move up. This holds until the handler has run.
  ///
  /// Executor: completes by way of the handler's executor, else the limiter's; never inside this
  /// call. The first in line has a timer on its executor.
  ///
  /// Lifetime: destroy the limiter before the contexts of those who wait.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_acquire(std::int64_t n, Token&& token);

  /// The same for one token.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_acquire(Token&& token);

 private:
  std::shared_ptr<detail::rate_limiter_state> state_;
};

}  // namespace weir

#include <weir/impl/rate_limiter.hpp>

#endif  // WEIR_RATE_LIMITER_HPP
