// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PERIODIC_JOBS_HPP
#define WEIR_PERIODIC_JOBS_HPP

#include <weir/cron_schedule.hpp>
#include <weir/error.hpp>
#include <weir/job.hpp>
#include <weir/periodic_options.hpp>
#include <weir/task_queue.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <memory>
#include <string_view>

namespace weir {

namespace detail {
class periodic_state;
}  // namespace detail

/// Enqueues jobs at times of day, once each, however many processes do so.
///
/// The processes share a queue and have the same entries. Each of them enqueues each firing, under
/// a unique key that is made of the entry's name and the time, and that is held for longer than
/// the processes can be apart: the first one counts. So it matters to nobody which of them are
/// up, there is no leader to be elected, and any number of them may be stopped.
///
/// The job has the header `due`, the time as in `2026-01-31T06:00:00Z`.
///
/// - Firings that nobody enqueued in time, because no process was up, the queue could not be
///   reached, or the clock was set ahead, are made up for as long as `catch_up` says, once: of
///   several, the last. The others are left out. This holds for the very first start, too.
/// - A clock that is set back by less than the span between two firings brings none of them again.
///   If it is set back further, what is done each minute goes on at once.
///
/// Lifetime: the queue outlives each `async_run`. Destroying it ends that with `operation_aborted`;
/// destroy it before the context of the queue's executor.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
class periodic_jobs {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// \throws system_error with `invalid_argument` if an option is out of its range.
  explicit periodic_jobs(task_queue& queue, periodic_options options = {});
  periodic_jobs(const periodic_jobs&) = delete;
  periodic_jobs& operator=(const periodic_jobs&) = delete;
  ~periodic_jobs();

  /// The queue's.
  executor_type get_executor() const noexcept;

  /// Adds an entry, which is not possible while it runs. All of it is copied.
  ///
  /// \param name another for each entry, and the same in each process; not empty
  /// \param request without `run_at`, `unique_key` and `unique_for`, which are not its to set
  /// \param catch_up how late a firing may still be enqueued, at most a year; short of a minute it
  /// counts as one, for whoever is to act in time has to wake up first
  ///
  /// \throws system_error with `invalid_argument` for anything else.
  void add(std::string_view name, const cron_schedule& when, const job_request& request,
           duration catch_up = {});

  /// The same at each multiple of `every` since the beginning of 1970, UTC: whole seconds.
  void add(std::string_view name, duration every, const job_request& request,
           duration catch_up = {});

  /// Enqueues jobs until it is cancelled. Those who call it again when it has ended go on from
  /// there: what was missed meanwhile is made up for as above.
  ///
  /// Completion signature: `void(error_code)`.
  ///
  /// Errors: `queue_closed`, noticed at the next firing; `invalid_argument` if it runs already.
  /// Others are waited for, see `periodic_options`.
  ///
  /// Cancellation: all three types, at once, with `operation_aborted`. What is being enqueued may
  /// be so still.
  ///
  /// Executor: completes by way of the handler's executor, else the queue's; never inside this
  /// call.
  ///
  /// \code
  /// weir::periodic_jobs periodic(queue);
  /// const auto mornings = weir::cron_schedule::parse("0 6 * * mon-fri");
  /// periodic.add("report", mornings, {.kind = "report"}, 12h);
  /// co_await periodic.async_run(asio::use_awaitable);
  /// \endcode
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_run(Token&& token);

 private:
  std::shared_ptr<detail::periodic_state> state_;
};

}  // namespace weir

#include <weir/impl/periodic_jobs.hpp>

#endif  // WEIR_PERIODIC_JOBS_HPP
