// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_POOL_CORE_HPP
#define WEIR_DETAIL_POOL_CORE_HPP

#include <weir/detail/deadline_keeper.hpp>
#include <weir/detail/inline_strand.hpp>
#include <weir/detail/inspection.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/detail/pool_closer.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/detail/task_record.hpp>
#include <weir/detail/user_slots.hpp>
#include <weir/detail/wait_op.hpp>
#include <weir/detail/worker.hpp>
#include <weir/pool_metrics.hpp>
#include <weir/pool_options.hpp>
#include <weir/task.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace weir::detail {

/// A submission that waits for room.
class room_waiter : public waiter<> {
 public:
  static constexpr bool revocable = false;  // what has been accepted is

  task_record* record = nullptr;  ///< guarded by the pool's lock; null when the wait has ended
};

/// A task that was handed over by `submit`: nobody waits for its end, and its record is used
/// again for the next one.
class submitted_task final : public task_record {
 public:
  boost::asio::awaitable<void> start(task_context& context) override { return fn(context); }
  void drop() noexcept override { fn.reset(); }
  void finish(error_code, std::exception_ptr) noexcept override {}
  void answer_early(error_code) noexcept override {}
  bool has_caller() const noexcept override { return false; }
  boost::asio::any_io_executor caller() const override { return {}; }

  task_function fn;
  room_waiter* waiter = nullptr;
};

/// How a task ended, on its way from the worker to the books.
struct ended_task {
  task_record* record = nullptr;
  outcome how = outcome::completed;
  error_code why;
  std::exception_ptr error;
};

/// What a pool is: the queue and its gate, the workers, the books. Shared by the pool's handle
/// and by the coroutines that run its tasks, so that the handle may go while a task still ends.
class pool_core : public std::enable_shared_from_this<pool_core> {
 public:
  pool_core(boost::asio::any_io_executor inner, boost::asio::any_io_executor keeper,
            pool_options options, bool borrowed);
  ~pool_core();

  /// Lets the core hear of the end of its context. Called once, after construction.
  void attach();

  const pool_options& options() const noexcept { return options_; }
  const boost::asio::any_io_executor& executor() const noexcept { return inner_; }
  deadline_keeper& keeper() noexcept { return keeper_; }
  pool_closer& closer() noexcept { return closer_; }
  pool_metrics metrics() const;
  void inspect(inspector& to) const;

  /// So many tasks at once from now on.
  void resize(int workers);

  // Admission, from any thread.

  /// Hands over a task; refuses it at once where it must.
  error_code submit(task& t, std::source_location where);

  /// The same for a task that brings a record of its own, with its id and user set.
  error_code submit(task_record& record, std::optional<duration> timeout);

  /// Whoever waits for the task has given up: drops it if it is queued, cancels it if it runs.
  void give_up(task_record& record);

  /// Hands over a task; where only room is lacking `waiter` waits for it.
  void enter(room_waiter& waiter, task&& t, std::source_location where);

  /// Whoever waits for room has given up. \returns whether it still waited.
  bool leave(room_waiter& waiter);

  // The workers.

  /// Enters into the books what has ended, and finds the next task. Null: there is none, and the
  /// worker is listed as parked, or, if `retire` is set, is to end.
  task_record* take(worker& w, ended_task ended, bool& retire) noexcept;

  /// A task's frame has ended, normally or by being destroyed: lets go of all it held.
  ended_task conclude(worker& w, task_record& record, std::exception_ptr error) noexcept;

  /// A task's frame was destroyed while it was suspended, and its worker's with it.
  void unwound(worker& w, task_record& record) noexcept;

  // The end.

  /// No more admissions; those who wait for room are turned away.
  void close();

  /// Drops what is queued; the ids go into the report.
  void abandon_queue();

  /// Cancels what runs.
  void cancel_running(cancel_cause cause);

  /// Tasks that are queued, running, or ended with their callers still to be told.
  std::size_t live() const;

  /// The report as of now, without `took`.
  shutdown_report report();

  /// Workers end instead of parking; those that are parked are destroyed. From now on nobody
  /// submits. Called when the handle goes.
  void retire();

  /// The context of the executor is being destroyed; no thread runs it.
  void abandon_context();
  bool context_gone() const noexcept { return context_gone_.load(std::memory_order_acquire); }

 private:
  using gate =
      boost::asio::experimental::basic_channel<inline_executor<>,
                                               boost::asio::experimental::channel_traits<>, void()>;

  struct alignas(64) rejections {
    std::atomic<std::uint64_t> closed{0}, user_limit{0}, queue_full{0}, invalid{0}, cancelled{0};
  };

  /// \returns whether `waiter`, unless it is null, waits; if not, `ec` says how it went.
  bool submit(task& t, room_waiter* waiter, std::source_location where, error_code& ec);

  error_code resolve(bool has_callable, std::string_view user, std::optional<duration> given,
                     duration& timeout) const noexcept;
  template <typename Enqueue>
  error_code admit(std::string_view user, std::size_t hash, bool may_wait, Enqueue&& enqueue);
  error_code reject(error_code ec, std::size_t hash) noexcept;
  void turn_away(task_record& record, error_code why);
  void dispose(task_record& record, error_code why) noexcept;
  void release_user(task_record& record) noexcept;
  void told() noexcept;

  // Under the lock.
  bool take_room();
  room_waiter* leave_room();
  worker* push(task_record& record) noexcept;
  void enqueue(task_record& record) noexcept;
  void recycle(task_record& record) noexcept;
  void book(task_record& record, outcome how) noexcept;
  worker& add_worker();
  worker* worker_to_wake() noexcept;
  std::uint64_t count(outcome how) const noexcept { return ended_[static_cast<std::size_t>(how)]; }

  const pool_options options_;
  boost::asio::any_io_executor inner_;  ///< empty once its context is gone
  std::optional<base_executor> base_;   ///< likewise
  const bool borrowed_;

  // The strands and the gate live on a context of the core's own: neither depends on how long
  // that of the workers lives.
  boost::asio::execution_context own_context_;
  user_slots slots_;
  std::array<rejections, 16> rejections_;
  std::atomic<bool> closed_{false};
  std::atomic<bool> full_{false};  ///< no room, as of the last change: lets a refusal be quick
  std::atomic<bool> context_gone_{false};
  std::atomic<std::size_t> telling_{0};  ///< tasks booked as ended, their callers not told yet

  mutable spin_mutex mutex_;  ///< guards all that follows, down to the keeper
  gate gate_;
  intrusive_queue<task_record> queue_;
  intrusive_queue<task_record> waiting_;
  queue_hook* free_ = nullptr;  ///< records to use again, linked by `next`
  std::vector<boost::intrusive_ptr<worker>> workers_;
  worker* idle_ = nullptr;
  bool searching_ = false;  ///< a worker was woken and has not found a task yet
  bool retired_ = false;
  bool cut_short_ = false;  ///< the shutdown has dropped or cancelled a task
  std::size_t limit_;       ///< on `active_`, which is above it for a while after it was lowered
  std::size_t active_ = 0;
  std::size_t queued_max_ = 0;
  std::uint64_t submitted_ = 0;
  std::array<std::uint64_t, 4> ended_{};  ///< by outcome
  std::uint64_t completed_before_close_ = 0;
  std::vector<std::string> abandoned_;
  std::optional<boost::asio::any_io_executor> busy_;  ///< keeps a borrowed context running

  deadline_keeper keeper_;
  pool_closer closer_;
  inspectable inspectable_{*this};
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_POOL_CORE_HPP
