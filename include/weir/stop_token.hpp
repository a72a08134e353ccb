// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_STOP_TOKEN_HPP
#define WEIR_STOP_TOKEN_HPP

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstdint>
#include <stop_token>

namespace weir {

namespace detail {
class worker;
void intrusive_ptr_add_ref(worker* w) noexcept;
void intrusive_ptr_release(worker* w) noexcept;
}  // namespace detail

/// Tells a task that polls when to stop.
///
/// It looks at the clock itself, so that a deadline is seen even where no other thread is free
/// to fire it: a pool that borrows a single-threaded `io_context` included. Converted to
/// `std::stop_token` (which costs one allocation a task) it works with `std::stop_callback` and
/// with libraries that take the standard's token; that one fires when the pool's timer does, for
/// which a pool that owns its threads keeps a thread apart.
///
/// Thread safety: distinct objects: safe. Shared object: safe for const calls.
class stop_token {
 public:
  /// A token that never says stop.
  stop_token() noexcept;

  stop_token(const stop_token&) noexcept;
  stop_token(stop_token&&) noexcept;
  stop_token& operator=(const stop_token&) noexcept;
  stop_token& operator=(stop_token&&) noexcept;
  ~stop_token();

  /// Whether the task should end now: cancelled, past its deadline, or already ended.
  bool stop_requested() const noexcept;

  /// Whether it can ever say stop: false only for a default-constructed token.
  bool stop_possible() const noexcept;

  /// The standard's token for the same task.
  operator std::stop_token() const;  // NOLINT(google-explicit-constructor): meant to be implicit

 private:
  friend class detail::worker;
  stop_token(detail::worker& w, std::uint64_t epoch) noexcept;

  boost::intrusive_ptr<detail::worker> worker_;
  std::uint64_t epoch_ = 0;
};

}  // namespace weir

#endif  // WEIR_STOP_TOKEN_HPP
