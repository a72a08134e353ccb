// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_CONSUMER_HPP
#define WEIR_CONSUMER_HPP

#include <weir/consumer_metrics.hpp>
#include <weir/consumer_options.hpp>
#include <weir/error.hpp>
#include <weir/job_handlers.hpp>
#include <weir/task_queue.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <memory>

namespace weir {

namespace detail {
class consumer_core;
}  // namespace detail

/// Brings jobs from a queue into a pool, no faster than the pool can take them: it reserves room
/// first, and leases a job only when there is room for it.
///
/// It takes jobs of those kinds that have a handler, and leaves all others alone. A job runs in
/// the pool under its own user and priority (one without a user is held by no cap), and its lease
/// is extended meanwhile. Then it is acknowledged, or, if the handler threw, put back for another
/// attempt after a backoff, until it has had its `max_attempts`.
///
/// - A job whose user has as many tasks as it may is put off, and its attempt is not spent.
/// - If the lease is lost the handler is asked to stop, `job_context::cause()` says `lease_lost`,
///   and nothing is reported.
/// - A lease is extended no longer once the handler has been asked to stop, so a handler that does
///   not listen keeps its slot in the pool, and shows as `stuck`, but not the job: when the lease
///   has run out somebody else gets it. A pool without a run deadline has no such end.
/// - An error of the queue's store is counted, waited for, and tried again.
///
/// Destroying it stops it, and waits for nothing: jobs that run in the pool run on, and are
/// reported on.
///
/// Lifetime: the queue, the pool and the consumer may go in any order. The context of the queue's
/// executor outlives them, and keeps running until the jobs have been reported on.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
class consumer {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// \throws system_error with `invalid_argument` if there is no handler, or an option is out of
  /// its range.
  consumer(task_queue& queue, worker_pool& pool, job_handlers handlers,
           consumer_options options = {});
  consumer(const consumer&) = delete;
  consumer& operator=(const consumer&) = delete;
  ~consumer();

  /// The queue's. Leases are extended on it: it must not be blocked for long.
  executor_type get_executor() const noexcept;

  /// Begins. Has no effect once it has begun.
  void start();

  /// Takes no jobs until it is resumed. Those that it has are not affected.
  void pause();
  void resume();

  consumer_metrics metrics() const;

  /// Begins, and waits until it has stopped.
  ///
  /// Completion signature: `void(error_code)`.
  ///
  /// Errors: none after `async_stop`; `queue_closed` or `pool_closed` if that was its end.
  ///
  /// Cancellation: all three types stop it; it completes when it has stopped, with
  /// `operation_aborted`.
  ///
  /// Executor: completes by way of the handler's executor, else the consumer's; never inside this
  /// call.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_run(Token&& token);

  /// Stops it, for good: it takes no more jobs, and gives back at once, their attempts unspent,
  /// those that the pool has not begun. Waits until the others have ended and each has been
  /// reported on. Not in a handler of its own, which would wait for itself.
  ///
  /// Jobs that are too slow are cut short by the shutdown of the pool, and then given back;
  /// `shutdown_on_signal(pool, consumer, 30s)` does all of it in order.
  ///
  /// Completion signature: `void(error_code)`. Errors: none.
  ///
  /// Cancellation: all three types end the wait, not the stopping.
  ///
  /// Executor: as `async_run`.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_stop(Token&& token);

 private:
  std::shared_ptr<detail::consumer_core> core_;
};

}  // namespace weir

#include <weir/impl/consumer.hpp>

#endif  // WEIR_CONSUMER_HPP
