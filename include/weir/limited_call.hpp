// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_LIMITED_CALL_HPP
#define WEIR_LIMITED_CALL_HPP

#include <weir/clock.hpp>
#include <weir/permit.hpp>

#include <memory>
#include <utility>

namespace weir {

namespace detail {
class adaptive_limit_state;
}  // namespace detail

/// A call under an `adaptive_limit`: what it holds of the limit, and since when. Report how it
/// went, once; the first report counts, gives the place back, and leaves this empty. Destroyed
/// without one it is ignored: a call that was given up tells nothing of the other side.
///
/// It may outlive the limit.
///
/// Thread safety: distinct objects: safe, also those of one limit. Shared object: unsafe.
class limited_call {
 public:
  /// Holds nothing.
  limited_call() noexcept = default;
  limited_call(limited_call&& other) noexcept = default;
  limited_call& operator=(limited_call&& other) noexcept {
    limited_call taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(place_, taken.place_);
    std::swap(began_, taken.began_);
    return *this;
  }
  ~limited_call() { ignore(); }

  explicit operator bool() const noexcept { return state_ != nullptr; }

  /// It went well, or failed in a way that has nothing to do with load: a "not found" is a success.
  void success() noexcept;

  /// It was too much for the other side: refused, or not answered in time.
  void dropped() noexcept;

  /// It does not count.
  void ignore() noexcept;

 private:
  friend class detail::adaptive_limit_state;

  std::shared_ptr<detail::adaptive_limit_state> state_;
  permit place_;  ///< empty where another limit admits the calls
  time_point began_{};
};

}  // namespace weir

#endif  // WEIR_LIMITED_CALL_HPP
