// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PERMIT_HPP
#define WEIR_PERMIT_HPP

#include <cstddef>
#include <utility>

namespace weir {

namespace detail {
class semaphore_state;
}  // namespace detail

/// A share of a semaphore, given back when it is destroyed: once, by construction.
///
/// It may outlive the semaphore.
///
/// Thread safety: distinct objects: safe, also those of one semaphore. Shared object: unsafe.
class permit {
 public:
  /// Holds nothing.
  permit() noexcept = default;
  permit(permit&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  permit& operator=(permit&& other) noexcept {
    permit taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(count_, taken.count_);
    return *this;
  }
  ~permit() { release(); }

  explicit operator bool() const noexcept { return count_ != 0; }

  /// How much of the semaphore it holds.
  std::ptrdiff_t count() const noexcept { return count_; }

  /// Gives all of it back now. Waiters that can go on are posted, not run here.
  void release() noexcept;

  /// A permit of its own for `n` of these; this one keeps the rest.
  ///
  /// \throws system_error with `invalid_argument` if `n` is below 1 or more than `count()`.
  permit split(std::ptrdiff_t n);

  /// Takes over what `other` holds, which is a permit of the same semaphore or empty.
  ///
  /// \throws system_error with `invalid_argument` if it is of another.
  void merge(permit&& other);

 private:
  friend class semaphore;
  friend class detail::semaphore_state;
  permit(detail::semaphore_state& state, std::ptrdiff_t count) noexcept
      : state_(&state), count_(count) {}

  detail::semaphore_state* state_ = nullptr;  ///< lives as long as anything of it is held
  std::ptrdiff_t count_ = 0;
};

}  // namespace weir

#endif  // WEIR_PERMIT_HPP
