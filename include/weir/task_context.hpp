// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TASK_CONTEXT_HPP
#define WEIR_TASK_CONTEXT_HPP

#include <weir/cancel_cause.hpp>
#include <weir/clock.hpp>
#include <weir/stop_token.hpp>

#include <string_view>

namespace weir {

namespace detail {
class worker;
class task_record;
}  // namespace detail

/// What a running task knows of itself. Handed to the task by reference; lives as long as it.
///
/// Thread safety: all members are const and may be called from any thread while the task lives.
class task_context {
 public:
  task_context(const task_context&) = delete;
  task_context& operator=(const task_context&) = delete;

  /// The task's id, as given or as made.
  std::string_view id() const noexcept;

  /// The user whose slot the task holds.
  std::string_view user() const noexcept;

  int priority() const noexcept;

  /// When the run deadline is; `time_point::max()` where there is none.
  time_point deadline() const noexcept;

  /// Fires when the task is asked to stop: at its deadline, at a shutdown, or when its caller
  /// gives up. Meant for a task that computes; one that awaits is cancelled at its await.
  ///
  /// Lifetime: may outlive the task; of a task that has ended it says "stop".
  weir::stop_token stop_token() const noexcept;

  /// Why the task has been asked to stop; `cancel_cause::none` while it has not.
  cancel_cause cause() const noexcept;

 private:
  friend class detail::worker;
  explicit task_context(detail::worker& w) noexcept : worker_(&w) {}

  detail::worker* worker_;
};

}  // namespace weir

#endif  // WEIR_TASK_CONTEXT_HPP
