// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_PERIODIC_STATE_HPP
#define WEIR_DETAIL_PERIODIC_STATE_HPP

#include <weir/backoff.hpp>
#include <weir/detail/firing_plan.hpp>
#include <weir/detail/inspection.hpp>
#include <weir/detail/wait_op.hpp>
#include <weir/job.hpp>
#include <weir/periodic_options.hpp>
#include <weir/task_queue.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

/// Whoever waits for the end of a run. Nothing is won by it that could be taken back.
class periodic_run : public waiter<> {
 public:
  static constexpr bool revocable = false;
};

/// What `periodic_jobs` is made of: entries, each with its plan, and one timer.
class periodic_state : public std::enable_shared_from_this<periodic_state> {
 public:
  periodic_state(task_queue& queue, periodic_options options);

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  void add(std::string_view name, firing_plan::schedule when, const job_request& request,
           duration catch_up);

  void enter(periodic_run& run);
  bool leave(periodic_run& run);
  void close();

  void inspect(inspector& to) const;

 private:
  struct entry {
    std::string name;
    new_job request;
    firing_plan::schedule when;
    duration catch_up;
    weir::backoff backoff;
    std::optional<firing_plan> plan = {};  ///< of the run
    time_point not_before = {};            ///< for after an error
    bool busy = false;                     ///< a job is being enqueued
  };

  void look();
  error_code enqueue(entry& e, const firing_plan::firing& firing);
  void on_enqueued(entry& e, wall_time at, const error_code& ec, const enqueued& job);
  void settle(entry& e, wall_time at, const error_code& ec);
  void wake_at(time_point t);
  periodic_run* end();

  task_queue& queue_;  // touched with the lock held, and only while there is a run
  const boost::asio::any_io_executor executor_;
  const periodic_options options_;

  // Not a spin_mutex: times of day are searched for, and the queue is called, while it is held.
  mutable std::mutex mutex_;
  std::deque<entry> entries_;  // which stay where they are
  periodic_run* run_ = nullptr;
  std::optional<steady_timer> timer_;
  std::mt19937_64 random_;

  inspectable inspectable_{*this};
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_PERIODIC_STATE_HPP
