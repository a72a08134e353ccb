// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_AUTOSCALER_HPP
#define WEIR_AUTOSCALER_HPP

#include <weir/clock.hpp>
#include <weir/scale_policy.hpp>
#include <weir/worker_pool.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace weir {

namespace detail {
class autoscaler_state;
}

struct autoscaler_options {
  scale_options scale = {};

  /// From one look at the pool to the next; below 1 ms becomes 1 ms.
  duration every = std::chrono::milliseconds(200);

  /// Told of each change that has been made, apart from the workers and with no lock held; may be
  /// empty. Does not throw.
  std::function<void(const scale_change&)> on_change = nullptr;
};

/// Resizes a pool as its load asks for: `scale_policy`, fed with how long tasks wait.
///
/// The wait is that of the task that has waited longest, or, if greater, the 90th percentile of
/// those that have started since the last look.
///
/// A worker is not a thread. `worker_pool::resize` leaves the threads as many as they were, so for
/// tasks that block give the pool `threads = scale.max`: threads that have nothing to do cost their
/// stacks' address space and no time. Tasks that only await need no more threads than CPUs, however
/// many workers. To take workers away ends no task: those that run go on.
///
/// Ends with its destructor, or with the pool, whichever comes first. When the destructor returns
/// no `on_change` runs, unless it is what called it.
///
/// Executor: it looks where the pool's timers are, which no task of a pool with threads of its own
/// can block. While it is not paused it keeps a borrowed context from running out of work, until
/// the pool has been shut down.
///
/// Thread safety: all members but the constructor and the destructor are safe.
class autoscaler {
 public:
  explicit autoscaler(worker_pool& pool, autoscaler_options options = {});
  autoscaler(const autoscaler&) = delete;
  autoscaler& operator=(const autoscaler&) = delete;
  ~autoscaler();

  /// No changes from here on, and the pool keeps the workers that it has: for when somebody else
  /// resizes it. What the policy has seen is kept.
  void pause();
  void resume();

  /// Whether it has been paused, or its pool has ended.
  bool paused() const;

 private:
  std::shared_ptr<detail::autoscaler_state> state_;
};

}  // namespace weir

#endif  // WEIR_AUTOSCALER_HPP
