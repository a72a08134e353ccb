// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TASK_DUMP_HPP
#define WEIR_TASK_DUMP_HPP

#include <weir/cancel_cause.hpp>
#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Where a task of a pool is in its life, as long as it has one.
enum class task_state : std::uint8_t {
  queued,    ///< waits for a worker
  in_lane,   ///< waits for another of its lane to end, and then for a worker
  running,   ///< runs, or awaits something
  stopping,  ///< has been asked to stop, and has not ended
  stuck,     ///< likewise, and the grace is over
};

/// The name of a state, as above.
std::string_view to_string(task_state s) noexcept;

/// A task as a dump shows it.
struct task_info {
  std::string id;
  std::string user;
  int priority = 0;
  std::string lane = {};
  task_state state = task_state::queued;
  cancel_cause cause = cancel_cause::none;  ///< why it has been asked to stop
  duration age = {};                        ///< since it was accepted
  duration ran = {};                        ///< since it started; zero while it is queued
  std::optional<duration> left = {};        ///< to its run deadline, below zero when it has passed
  std::source_location spawned = {};        ///< the line that handed it over

  /// For how long it has held a thread at least, of a task that hogs one; else zero.
  duration hogs = {};

  /// What it waits for, if that is one of weir's own: such as `semaphore acquire of 'database'`.
  std::string waits_for;
};

/// The tasks that a pool has: those that run first, the longest first, then those that are queued,
/// in order of arrival.
///
/// `operator<<` writes a line for each, for a log or a terminal.
struct task_dump {
  std::string pool;  ///< its name
  std::vector<task_info> tasks;
};

std::ostream& operator<<(std::ostream& out, const task_dump& dump);

/// How many tasks more, or fewer, there are from one line of the program.
struct task_growth {
  std::source_location spawned = {};
  std::ptrdiff_t change = 0;
  std::size_t now = 0;
};

/// What has changed between two dumps of a pool, by the lines that handed the tasks over: the one
/// that has grown most first. A leak is a line that grows each time. Lines with no change are left
/// out.
std::vector<task_growth> growth(const task_dump& before, const task_dump& after);

}  // namespace weir

#endif  // WEIR_TASK_DUMP_HPP
