// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_POOL_OBSERVER_HPP
#define WEIR_POOL_OBSERVER_HPP

#include <weir/clock.hpp>
#include <weir/error.hpp>

#include <cstdint>
#include <exception>
#include <source_location>
#include <string_view>

namespace weir {

/// The terminal states of a task.
enum class task_outcome : std::uint8_t {
  completed,  ///< returned
  failed,     ///< ended by an exception that nobody had asked for
  timed_out,  ///< ended after its run deadline, however it ended
  cancelled,  ///< ended by a shutdown or by its caller, or never ran
};

/// What an observer is told of a task. The strings live for the call only.
struct task_event {
  std::string_view id = {};
  std::string_view user = {};
  int priority = 0;
  std::source_location spawned = {};  ///< the line that handed it over
  duration waited = {};               ///< in the queue
  duration ran = {};                  ///< since its start; zero if it has none
};

/// Hears what happens to the tasks of a pool. Derive from it and override what you want to hear.
///
/// Each call says for how long the task has waited and run, so a span for its wait and one for its
/// run can be made from these alone. There is none for the acceptance, which would have to copy the
/// names of each task: `submit` itself tells of it.
///
/// Thread safety: called from the pool's threads, possibly from several at once, with no lock held.
class pool_observer {
 public:
  virtual ~pool_observer() = default;

  /// A task starts, on this thread.
  virtual void on_task_started(const task_event& task) noexcept;

  /// A task has ended, or will never run.
  ///
  /// \param why for one that timed out or was cancelled: `task_timed_out`, `shutdown_cancelled`,
  /// `queue_wait_expired`, or `operation_aborted` where its caller gave up
  virtual void on_task_ended(const task_event& task, task_outcome how, error_code why) noexcept;

  /// An exception left the task `id` of `user` that nobody had asked to stop.
  ///
  /// The strings live for the call only. Called before `on_task_ended`, and before a waiting caller
  /// gets the exception.
  virtual void on_task_failed(std::string_view id, std::string_view user,
                              const std::exception_ptr& error) noexcept;

  /// A task was asked to stop and still runs, a grace later.
  virtual void on_task_stuck(const task_event& task) noexcept;

  /// A task has held a thread without suspending for `held` at least, and still does: it blocks, or
  /// computes. Others that are ready wait for that thread. Told once for each time that it does so,
  /// where `pool_options::hog_after` is set; apart from the workers, so that no hog keeps it back.
  ///
  /// Not seen is what a task does on an executor other than its pool's.
  virtual void on_task_hogging(const task_event& task, duration held) noexcept;

  /// A submission of `user` was turned down: with `operation_aborted`, by the caller itself, who
  /// waited for room.
  virtual void on_rejected(std::string_view user, error_code why) noexcept;
};

}  // namespace weir

#endif  // WEIR_POOL_OBSERVER_HPP
