// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_REORDER_WINDOW_HPP
#define WEIR_REORDER_WINDOW_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir {

/// Puts what ends in any order back into the order in which it began, with bounded memory: at most
/// `width` that have entered and not been released, whether they are still under way or wait behind
/// one that is.
///
/// It keeps the books and no results: those belong at `place(t)` of a ring of `places()`.
///
/// A pure policy: no clock, no lock. An item that is late is one that its owner drops.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
class reorder_window {
 public:
  /// Says who came when: 0, 1, 2, ...
  using ticket = std::uint64_t;

  /// \throws system_error with `invalid_argument` if `width` is below 1.
  explicit reorder_window(std::ptrdiff_t width);

  std::size_t width() const noexcept { return width_; }

  /// Entered and not released.
  std::size_t size() const noexcept { return static_cast<std::size_t>(next_ - head_); }
  bool full() const noexcept { return size() == width_; }

  /// How many places the ring of results has: the next power of two, since the remainder of a
  /// division was a third of what keeping the order costs.
  std::size_t places() const noexcept { return states_.size(); }

  /// Where the result of `t` is kept. Nobody else has the place until `t` is released or passed
  /// over.
  std::size_t place(ticket t) const noexcept {
    return static_cast<std::size_t>(t) & (states_.size() - 1);
  }

  /// The next item begins. Not while full.
  ticket enter() noexcept;

  /// `t` has ended, with a result. \returns false where it had been dropped: the result is not
  /// wanted any more.
  bool finish(ticket t) noexcept { return end(t, state::finished); }

  /// `t` has no result and those behind it do not wait for it: it failed, was late, or yielded
  /// nothing. \returns false where it had ended before.
  bool drop(ticket t) noexcept { return end(t, state::dropped); }

  /// The next in order, if it has its result, which the caller takes out of its place at once;
  /// those that were dropped are passed over.
  std::optional<ticket> release() noexcept;

 private:
  enum class state : std::uint8_t { running, finished, dropped };

  bool end(ticket t, state how) noexcept;

  std::size_t width_;
  std::vector<state> states_;
  ticket head_ = 0;  ///< the oldest that has not been released; never one that was dropped
  ticket next_ = 0;
};

}  // namespace weir

#endif  // WEIR_REORDER_WINDOW_HPP
