// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SEMAPHORE_HPP
#define WEIR_SEMAPHORE_HPP

#include <weir/error.hpp>
#include <weir/permit.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace weir {

namespace detail {
class semaphore_state;
}  // namespace detail

/// A semaphore at one moment.
struct semaphore_metrics {
  std::ptrdiff_t limit = 0;
  std::ptrdiff_t in_use = 0;  ///< permits given out; more than the limit after that was lowered
  std::size_t waiting = 0;    ///< those who wait for permits
};

/// So much at once: a weighted semaphore whose waiters are served first come, first served. A large
/// request is not starved by small ones: those that come after it wait behind it.
///
/// A limit on how many run at once says nothing of how many run in a second; for that, see
/// `rate_limiter`.
///
/// Destroying it closes it. What it has given out may be given back later.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
class semaphore {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// \param ex where handlers run that have no executor of their own
  /// \param name what reports call it
  /// \throws system_error with `invalid_argument` if `permits` is below 1.
  semaphore(boost::asio::any_io_executor ex, std::ptrdiff_t permits, std::string name = {});
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  ~semaphore();

  executor_type get_executor() const noexcept;

  /// `n` permits, or an empty one if they are not free, somebody waits, or it is closed. Never
  /// waits.
  ///
  /// \throws system_error with `invalid_argument` if `n` is below 1 or above the limit.
  permit try_acquire(std::ptrdiff_t n = 1);

  /// Changes the limit. Below what is in use it takes effect as permits come back. Waiters who ask
  /// for more than the new limit get `invalid_argument`, for they would wait for ever.
  ///
  /// \throws system_error with `invalid_argument` if `permits` is below 1.
  void resize(std::ptrdiff_t permits);

  /// Turns waiters and later requests away with `semaphore_closed`. Final, also for `resize`.
  void close();

  std::ptrdiff_t limit() const;

  /// Permits given out; more than the limit for a while after that was lowered.
  std::ptrdiff_t in_use() const;

  std::size_t waiters() const;

  /// The three of them, of one instant.
  semaphore_metrics metrics() const;

  /// Waits for `n` permits.
  ///
  /// Completion signature: `void(error_code, permit)`.
  ///
  /// Errors: `invalid_argument` if `n` is below 1 or above the limit; `semaphore_closed`; each at
  /// once.
  ///
  /// Cancellation: all three types, with `operation_aborted`. Those behind a waiter that goes are
  /// served if that lets them. A permit that was granted to a waiter which is cancelled before its
  /// handler runs goes to the next.
  ///
  /// Executor: completes by way of the handler's executor, else the semaphore's; never inside this
  /// call.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permit)) Token>
  auto async_acquire(std::ptrdiff_t n, Token&& token);

  /// The same for one permit.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permit)) Token>
  auto async_acquire(Token&& token);

 private:
  std::shared_ptr<detail::semaphore_state> state_;
};

}  // namespace weir

#include <weir/impl/semaphore.hpp>

#endif  // WEIR_SEMAPHORE_HPP
