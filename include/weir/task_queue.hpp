// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TASK_QUEUE_HPP
#define WEIR_TASK_QUEUE_HPP

#include <weir/error.hpp>
#include <weir/job.hpp>
#include <weir/lease.hpp>
#include <weir/queue_backend.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weir {

namespace detail {
struct queue_access;
}  // namespace detail

/// Work that waits to be done, and survives what does it: the interface of every queue of jobs.
///
/// A job is *enqueued*, *leased* by somebody who runs it, and *acknowledged*. It runs at least
/// once: what is acknowledged is not run again, and what is not is run by somebody else when its
/// lease has run out. A lease has a fencing token: with an old one nothing can be reported any
/// more.
///
/// Jobs go by priority, then by when they were to run. A user's own task runs them in a pool; see
/// `consumer`.
///
/// For each operation: arguments are copied during the call. Cancellation takes all three types,
/// with `operation_aborted`, and as long as the request has not been begun; later it is carried
/// out and reported. It completes by way of the handler's executor, else the queue's, and never
/// inside the call. `invalid_argument` and `queue_closed` come at once; errors of the store are
/// those of its own category.
///
/// Lifetime: destroying it closes it. Destroy it before its executor's context.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
class task_queue {
 public:
  using executor_type = boost::asio::any_io_executor;

  task_queue(const task_queue&) = delete;
  task_queue& operator=(const task_queue&) = delete;
  virtual ~task_queue();

  executor_type get_executor() const noexcept;

  /// Turns those who wait for jobs, and later requests, away with `queue_closed`. Final. Leases
  /// that are out run on, and out.
  void close();

  /// Adds a job. Completion signature: `void(error_code, enqueued)`.
  ///
  /// When it completes without an error the job is as safe as the queue makes it. Errors:
  /// `queue_full`.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, enqueued)) Token>
  auto async_enqueue(const job_request& request, Token&& token);

  /// Adds all of them or none. Completion signature: `void(error_code, std::vector<enqueued>)`, one
  /// for each, in order.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<enqueued>)) Token>
  auto async_enqueue(std::span<const job_request> requests, Token&& token);

  /// Leases jobs, each of which is thereby begun: its attempt counts. Completion signature:
  /// `void(error_code, std::vector<lease>)`, none if there was none in all of `options.wait`.
  ///
  /// Those who wait are served first come, first served. Cancellation: also when jobs have been
  /// won and the handler has not run; they go back, their attempts unspent.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<lease>)) Token>
  auto async_lease(const lease_options& options, Token&& token);

  /// The job is done. Completion signature: `void(error_code)`. Errors: `lease_lost` if somebody
  /// else has the job, or it is cancelled or ended. A lease that has run out and whose job nobody
  /// has taken yet still counts.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_ack(lease_key key, Token&& token);

  /// The same, with a result that is kept for as long as the job asked for.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_ack(lease_key key, std::string_view result, Token&& token);

  /// The job has failed: it is to run again, or is a dead letter if that was its last attempt.
  /// Completion signature: `void(error_code)`. Errors: as `async_ack`.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_nack(lease_key key, const nack_options& options, Token&& token);

  /// The job was not begun after all: it runs again after `delay`, and the attempt is not spent.
  /// Completion signature: `void(error_code)`. Errors: as `async_ack`.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_release(lease_key key, duration delay, Token&& token);

  /// The lease ends `lease_for` from now, which may be sooner. Completion signature:
  /// `void(error_code, time_point)`, with the new end. Errors: as `async_ack`; the work is then to
  /// be dropped.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, time_point)) Token>
  auto async_extend(lease_key key, duration lease_for, Token&& token);

  /// Takes a job back. Completion signature: `void(error_code, bool)`: whether it had not ended.
  /// Whoever runs it hears `lease_lost` when it extends its lease or reports.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, bool)) Token>
  auto async_cancel(job_id id, Token&& token);

  /// Where a job is. Completion signature: `void(error_code, std::optional<job_status>)`; empty if
  /// it never was, or is forgotten.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::optional<job_status>)) Token>
  auto async_find(job_id id, Token&& token);

  /// Completion signature: `void(error_code, queue_stats)`.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, queue_stats)) Token>
  auto async_stats(Token&& token);

  /// A page of dead letters: the first `limit` whose id is above `after`. Completion signature:
  /// `void(error_code, std::vector<job_status>)`.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<job_status>)) Token>
  auto async_dead_letters(job_id after, int limit, Token&& token);

  /// Makes dead letters ready, with all their attempts before them. Completion signature:
  /// `void(error_code, std::size_t)`: how many. A job whose unique key another one holds by now
  /// stays dead.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token>
  auto async_requeue(std::span<const job_id> ids, Token&& token);

  /// Forgets dead letters. Completion signature: `void(error_code, std::size_t)`: how many.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token>
  auto async_purge(std::span<const job_id> ids, Token&& token);

 protected:
  explicit task_queue(std::shared_ptr<queue_backend> backend) noexcept;

  /// Starts an operation; for what a kind of queue adds to these.
  template <typename Op, typename Token>
  auto start(typename Op::request_type request, Token&& token);

 private:
  friend struct detail::queue_access;

  std::shared_ptr<queue_backend> backend_;
};

}  // namespace weir

#include <weir/impl/task_queue.hpp>

#endif  // WEIR_TASK_QUEUE_HPP
