// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_TASK_RECORD_HPP
#define WEIR_DETAIL_TASK_RECORD_HPP

#include <weir/cancel_cause.hpp>
#include <weir/clock.hpp>
#include <weir/detail/lane_table.hpp>
#include <weir/detail/user_slots.hpp>
#include <weir/pool_observer.hpp>
#include <weir/run_queue.hpp>
#include <weir/task_context.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <charconv>
#include <cstdint>
#include <exception>
#include <source_location>
#include <string>
#include <utility>

namespace weir::detail {

class worker;

/// A task from its submission to the end of its frame.
///
/// Members are guarded by the pool's lock while the task waits, and belong to its worker while it
/// runs; `where`, `runner` and `epoch` are guarded by the lock throughout.
class task_record : public run_queue::node {
 public:
  enum class place : std::uint8_t { nowhere, waiting, queued, running, ended };

  task_record(const task_record&) = delete;
  task_record& operator=(const task_record&) = delete;

  /// Calls the callable. The awaitable is empty if the task has ended with the call.
  virtual boost::asio::awaitable<void> start(task_context& context) = 0;

  /// Destroys the callable, after its frame or in place of it.
  virtual void drop() noexcept = 0;

  /// Tells whoever waits how it ended: `why` is set for a task that was cut short, `error` for
  /// one that threw, neither for one that returned. The record may be gone after it.
  virtual void finish(error_code why, std::exception_ptr error) noexcept = 0;

  /// Tells whoever waits now, though the frame has not ended; `finish` then tells no more.
  virtual void answer_early(error_code why) noexcept = 0;

  /// Whether somebody waits for the result.
  virtual bool has_caller() const noexcept = 0;

  /// The executor of whoever waits; empty where it has its answer, or cannot be asked. Not while
  /// the answer is being given.
  virtual boost::asio::any_io_executor caller() const = 0;

  /// The id, made up from the number of the submission where none was given.
  const std::string& name() {
    if (id.empty()) id = made_up(serial);
    return id;
  }
  static std::string made_up(std::uint64_t serial) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, serial).ptr;
    return std::string("task-").append(digits, end);
  }

  /// What an observer is told of it at `now`.
  task_event event(time_point now) {
    const bool began = started_at != time_point{};
    return {.id = name(),
            .user = user,
            .priority = priority,
            .spawned = spawned,
            .waited = (began ? started_at : now) - accepted_at,
            .ran = began ? now - started_at : duration::zero()};
  }

  std::string id;
  std::source_location spawned;
  time_point accepted_at{};  ///< it may join the queue later, when its lane has come to it
  time_point started_at{};   ///< zero before
  duration timeout{};        ///< zero: none
  time_point deadline = time_point::max();  ///< set when it starts
  user_slots::entry* slot = nullptr;
  user_slots::entry* tenant = nullptr;
  lane_table::place* lane = nullptr;
  std::uint64_t serial = 0;
  std::uint64_t epoch = 0;
  mutable std::uint64_t walk = 0;  ///< the last in which it was looked at; under the lock
  worker* runner = nullptr;
  place where = place::nowhere;

 protected:
  task_record() = default;
  ~task_record() = default;
};

/// What an observer is to be told of a task that may be gone by then.
class kept_event {
 public:
  explicit kept_event(const task_event& e) : id_(e.id), user_(e.user), event_(e) {
    event_.id = event_.user = {};
  }

  /// Refers to the names in here.
  task_event event() const noexcept {
    task_event e = event_;
    e.id = id_;
    e.user = user_;
    return e;
  }

 private:
  std::string id_;
  std::string user_;
  task_event event_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_TASK_RECORD_HPP
