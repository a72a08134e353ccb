// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_POOL_ROOM_HPP
#define WEIR_POOL_ROOM_HPP

#include <memory>
#include <utility>

namespace weir {

namespace detail {
class pool_core;
}  // namespace detail

/// A place in the queue of a `worker_pool`, held for a task that is still to come: what somebody
/// reserves before fetching work that must not be fetched in vain. Given back when it is
/// destroyed: once, by construction.
///
/// It takes room as a queued task does, and says nothing of the user's cap: whose task it will be
/// is not known yet. It may outlive the pool.
///
/// Thread safety: distinct objects: safe, also those of one pool. Shared object: unsafe.
class pool_room {
 public:
  /// Holds nothing.
  pool_room() noexcept = default;
  pool_room(pool_room&& other) noexcept = default;
  pool_room& operator=(pool_room&& other) noexcept {
    pool_room taken(std::move(other));
    std::swap(core_, taken.core_);
    return *this;
  }
  ~pool_room() { release(); }

  explicit operator bool() const noexcept { return core_ != nullptr; }

  /// Gives it back now, to whoever waits for room first.
  void release() noexcept;

 private:
  friend class detail::pool_core;
  explicit pool_room(std::shared_ptr<detail::pool_core> core) noexcept : core_(std::move(core)) {}

  std::shared_ptr<detail::pool_core> core_;
};

}  // namespace weir

#endif  // WEIR_POOL_ROOM_HPP
