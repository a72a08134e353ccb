// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/require.hpp>
#include <weir/reorder_window.hpp>

#include <bit>
#include <cassert>

namespace weir {

reorder_window::reorder_window(std::ptrdiff_t width) : width_(static_cast<std::size_t>(width)) {
  detail::require(width >= 1, "weir::reorder_window");
  states_.resize(std::bit_ceil(width_), state::running);
}

reorder_window::ticket reorder_window::enter() noexcept {
  assert(!full());
  const ticket t = next_++;
  states_[place(t)] = state::running;
  return t;
}

bool reorder_window::end(ticket t, state how) noexcept {
  assert(t < next_);
  // One that was dropped may be behind the head by now, and its place somebody else's.
  if (t < head_ || states_[place(t)] != state::running) return false;
  states_[place(t)] = how;
  while (head_ != next_ && states_[place(head_)] == state::dropped) ++head_;
  return true;
}

std::optional<reorder_window::ticket> reorder_window::release() noexcept {
  if (head_ == next_ || states_[place(head_)] != state::finished) return std::nullopt;
  const ticket t = head_++;
  while (head_ != next_ && states_[place(head_)] == state::dropped) ++head_;
  return t;
}

}  // namespace weir
