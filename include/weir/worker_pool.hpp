// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_WORKER_POOL_HPP
#define WEIR_WORKER_POOL_HPP

#include <weir/error.hpp>
#include <weir/pool_metrics.hpp>
#include <weir/pool_options.hpp>
#include <weir/pool_room.hpp>
#include <weir/shutdown.hpp>
#include <weir/task.hpp>
#include <weir/task_dump.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <exception>
#include <memory>
#include <source_location>

namespace weir {

namespace detail {
class pool_core;
class owned_threads;
struct pool_access;
}  // namespace detail

/// Runs coroutines under limits: so many at once, so many waiting, so many for one user, so long
/// for each. What is beyond a limit is refused at once, with an error that says which.
///
/// A submission is looked at in this order: is the pool closed (`pool_closed`), does the tenant
/// (`tenant_limit_reached`) or the user (`user_limit_reached`) hold as many slots as it may, is
/// there room in the queue (`queue_full`), has the user its share of that (`user_queue_full`), has
/// the lane as many tasks as it may (`lane_limit_reached`). A slot is taken at submission and comes
/// back when the task's frame has ended, whatever ended it; a task that was told to stop and has
/// not is still counted.
///
/// Each accepted task ends in exactly one state. One that outlived its deadline is timed out,
/// whatever it returned. One that was cancelled by a shutdown or by its caller is cancelled,
/// unless it returned normally: then it is completed, and its result is delivered.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and
/// destruction.
class worker_pool {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// A pool with threads of its own, which it starts here and joins in its destructor.
  ///
  /// \throws std::system_error if a thread cannot be started; those that were are joined.
  explicit worker_pool(pool_options options = {});

  /// A pool that runs its tasks on `ex`; one thread behind it is enough. `options.threads` is
  /// not looked at. An idle pool does not keep the executor's context from running out of work.
  ///
  /// Lifetime: destroy the pool before the executor's context where you can. The other order is
  /// defined too: the pool is then closed, and its tasks end with the context.
  explicit worker_pool(boost::asio::any_io_executor ex, pool_options options = {});

  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// Closes the pool, abandons what is queued, cancels what runs.
  ///
  /// A pool that owns its threads then waits for the running tasks, those that have not ended
  /// within the grace are destroyed where they are suspended; a thread that is inside a task is
  /// always waited for, since C++ has no way to stop it. Called from a task of this pool it
  /// leaves that waiting to a thread of its own. A pool that borrows its executor waits for
  /// nothing: its tasks end as the executor runs on.
  ///
  /// Call `async_shutdown` first to end in order and to learn what was cut short.
  ~worker_pool();

  /// Where the tasks run. Each task has a strand of its own on it.
  executor_type get_executor() const noexcept;

  /// Hands over a task, or says why not. Never waits for a worker or for room.
  ///
  /// \returns success; `pool_closed`, `tenant_limit_reached`, `user_limit_reached`, `queue_full`,
  /// `user_queue_full`, `lane_limit_reached`; `invalid_argument` for an empty callable, an empty
  /// user where there is a limit on users or tenants, or a negative timeout. On an error the task
  /// is dropped unrun.
  ///
  /// Does not allocate when it refuses. A task of this pool may call it. Reports name the line of
  /// the call, `where`.
  error_code submit(task t, std::source_location where = std::source_location::current());

  /// Hands over a task, waiting for room in the queue where there is none: the way to let a
  /// producer feel that it is too fast. Those who wait are served in order, and `submit` does
  /// not overtake them. The user's slot is held while waiting.
  ///
  /// Completion signature: `void(error_code)`.
  ///
  /// Errors: those of `submit` without `queue_full`; `pool_closed` also when the pool closes
  /// while waiting.
  ///
  /// Cancellation: all three types; the wait ends with `operation_aborted`, the task is dropped
  /// unrun and the user's slot is free again. Once accepted, the task is not affected.
  ///
  /// Lifetime: `task` has a destructor, so inside a `co_await` give the operation a name:
  /// \code
  /// auto op = pool.async_submit(std::move(t), boost::asio::use_awaitable);
  /// co_await std::move(op);
  /// \endcode
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_submit(task t, Token&& token,
                    std::source_location where = std::source_location::current());

  /// Waits for room in the queue and keeps it, for a task that is fetched only then. In line with
  /// those of `async_submit`.
  ///
  /// Completion signature: `void(error_code, pool_room)`.
  ///
  /// Errors: `pool_closed`, also when the pool closes while waiting.
  ///
  /// Cancellation: all three types, with `operation_aborted`. Room that was granted to one that is
  /// cancelled before its handler has run goes to the next.
  ///
  /// Room that is still held does not hold up a shutdown; a task can no longer be handed over.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, pool_room)) Token>
  auto async_reserve(Token&& token);

  /// Hands over a task for which room was reserved. The room is used up if the task is accepted,
  /// and else kept: for another user's task, say.
  ///
  /// \returns what `submit` returns, but never `queue_full`; `invalid_argument` also for room that
  /// is empty or another pool's.
  error_code submit(pool_room& room, task t,
                    std::source_location where = std::source_location::current());

  /// From now on `workers` tasks run at once; below 1 becomes 1. More start what is queued, without
  /// waiting for a task to end. Fewer end nothing: what runs goes on, what is queued stays queued,
  /// and the next task starts when fewer than `workers` run.
  ///
  /// The threads of a pool that owns them remain as many as they were: more workers than threads
  /// are more tasks that await, not more that block. The memory of workers that are no longer
  /// needed is kept for when they are.
  ///
  /// Those who stand in for stuck tasks come on top of that: see
  /// `pool_options::stuck_replacements`.
  ///
  /// A task of this pool may call it. A pool that is shutting down drains under the new limit; one
  /// that is closed stays closed.
  void resize(int workers);

  /// Ends the pool in stages: no more admissions; what is queued and running goes on (or, with
  /// `abandon`, what is queued is dropped); at the deadline the queue is dropped and what runs
  /// is cancelled; when the grace is over the rest is reported as stuck.
  ///
  /// Completion signature: `void(error_code, shutdown_report)`, at deadline plus grace at the
  /// latest. The error is `operation_aborted` if this wait was cancelled, else success: what
  /// went wrong is in the report.
  ///
  /// A second call joins the first and gets the same report. It can only hasten the end: an
  /// earlier deadline, a shorter grace, or `abandon` takes effect.
  ///
  /// Cancellation: all three types end the wait, not the shutdown.
  ///
  /// Executor: the stages run apart from the workers, so that tasks that block their threads
  /// cannot hold them up (a borrowed executor needs one free thread for that).
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, shutdown_report)) Token>
  auto async_shutdown(shutdown_options options, Token&& token);

  /// The tasks that it has, and what each of them is at. Safe at any time, and from any thread.
  ///
  /// They are copied a few at a time, so that the workers are not held up for longer than those few
  /// take. So a dump is not of one instant: each task that is there from beginning to end is shown
  /// once, in the state in which it was found; one that ends meanwhile may be missing; none is
  /// shown that came later. Ages are those at the beginning.
  task_dump dump() const;

  /// Whether it has been closed, by a shutdown or by its executor's end: it takes no more tasks.
  bool closed() const noexcept;

  /// The counters of this instant.
  pool_metrics metrics() const;

  /// The options that it was made with, clamped. How many workers it has now is in `metrics`.
  const pool_options& options() const noexcept;

 private:
  friend struct detail::pool_access;

  std::unique_ptr<detail::owned_threads> threads_;
  std::shared_ptr<detail::pool_core> core_;
};

/// Runs `f` on the pool and brings its result back: `boost::asio::co_spawn`, but bounded.
///
/// `f` is called once with a `task_context&` on one of the pool's workers and returns `R` or
/// `awaitable<R>`; inside it `this_coro::executor` is the worker's strand. `f` is moved into the
/// pool and lives until its coroutine has ended.
///
/// Completion signature: `void(std::exception_ptr, R)`, or `void(std::exception_ptr)` for void;
/// `R` is default-constructible, as `boost::asio::co_spawn` requires.
///
/// Errors: what `f` throws; a `system_error` with the code of `submit` for a rejection,
/// `task_timed_out` past the deadline, `shutdown_cancelled`, or `operation_aborted`.
///
/// Cancellation: all three types. A queued task is removed at once and never runs. A running one
/// is cancelled (the type that it sees is terminal); this operation completes when it has ended,
/// or `pool_options::answer_after` later if it does not.
///
/// Executor: completes by way of the handler's executor, else the pool's; never inside this
/// call.
template <typename F, typename Token>
auto co_spawn(worker_pool& pool, run_options options, F&& f, Token&& token,
              std::source_location where = std::source_location::current());

}  // namespace weir

#include <weir/impl/worker_pool.hpp>

#endif  // WEIR_WORKER_POOL_HPP
