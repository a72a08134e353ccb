// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_JOB_CONTEXT_HPP
#define WEIR_JOB_CONTEXT_HPP

#include <weir/clock.hpp>
#include <weir/error.hpp>
#include <weir/job.hpp>
#include <weir/lease.hpp>
#include <weir/stop_token.hpp>

namespace weir {

class task_context;

namespace detail {
class job_run;
}  // namespace detail

/// What a running job knows of itself. Handed to its handler by reference; lives as long as the
/// handler's coroutine.
///
/// Thread safety: all members may be called from any thread while the handler runs.
class job_context {
 public:
  job_context(const job_context&) = delete;
  job_context& operator=(const job_context&) = delete;

  const weir::job& job() const noexcept;

  /// What proves that the job is this run's to report on. For what refuses writes of a run that
  /// has lost its lease; and see `settled`.
  lease_key key() const noexcept;

  /// When the run deadline is; `time_point::max()` where there is none.
  time_point deadline() const noexcept;

  /// Fires when the handler is asked to stop. Meant for one that computes; one that awaits is
  /// cancelled at its await.
  weir::stop_token stop_token() const noexcept;

  /// Why the handler has been asked to stop; no error while it has not. `lease_lost`: the job has
  /// gone to somebody else, or was cancelled, and nothing can be reported any more;
  /// `task_timed_out`: its run deadline passed; `shutdown_cancelled`: the pool is closing, and the
  /// job goes back to the queue.
  error_code cause() const noexcept;

  /// The handler has reported on the job itself, with `key()`: the consumer reports nothing more,
  /// however the handler ends. How a job's effect is made to count exactly once:
  /// \code
  /// co_await queue.async_ack_with(ctx.key(), "", effect, boost::asio::use_awaitable);
  /// ctx.settled();
  /// \endcode
  void settled() noexcept;

 private:
  friend class detail::job_run;
  explicit job_context(detail::job_run& run) noexcept : run_(run) {}

  detail::job_run& run_;
  const task_context* task_ = nullptr;
};

}  // namespace weir

#endif  // WEIR_JOB_CONTEXT_HPP
