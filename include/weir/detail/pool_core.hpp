// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_POOL_CORE_HPP
#define WEIR_DETAIL_POOL_CORE_HPP

#include <weir/codel.hpp>
#include <weir/detail/deadline_keeper.hpp>
#include <weir/detail/inline_strand.hpp>
#include <weir/detail/inspection.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/detail/lane_table.hpp>
#include <weir/detail/pool_closer.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/detail/task_record.hpp>
#include <weir/detail/user_slots.hpp>
#include <weir/detail/wait_op.hpp>
#include <weir/detail/worker.hpp>
#include <weir/pool_metrics.hpp>
#include <weir/pool_options.hpp>
#include <weir/pool_room.hpp>
#include <weir/run_queue.hpp>
#include <weir/task.hpp>
#include <weir/task_dump.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

class submitted_task;
class room_waiter;
class reserve_waiter;

/// A place in the line of those who wait for room, which is one line for both kinds. Guarded by the
/// pool's lock.
struct room_claim : queue_hook {
  explicit room_claim(room_waiter& w) noexcept : submits(&w) {}
  explicit room_claim(reserve_waiter& w) noexcept : reserves(&w) {}

  boost::asio::any_io_executor caller() const;

  room_waiter* const submits = nullptr;      ///< who waits: this one
  reserve_waiter* const reserves = nullptr;  ///< or this one
  task_record* record = nullptr;             ///< of one who submits
  time_point since{};
  bool waits = false;
};

/// A submission that waits for room.
class room_waiter : public waiter<> {
 public:
  static constexpr bool revocable = false;  // what has been accepted is

  room_claim claim{*this};
};

/// Somebody who waits for room for a task still to come.
class reserve_waiter : public waiter<pool_room> {
 public:
  room_claim claim{*this};
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
  submitted_task* next_free = nullptr;
};

/// How a task ended, on its way from the worker to the books.
struct ended_task {
  task_record* record = nullptr;
  task_outcome how = task_outcome::completed;
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
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  pool_metrics metrics() const;
  task_dump dump() const;
  void inspect(inspector& to) const;

  /// So many tasks at once from now on.
  void resize(int workers);
  std::size_t workers() const;

  // Admission, from any thread.

  /// Hands over a task; refuses it at once where it must.
  error_code submit(task& t, std::source_location where);

  /// The same for a task that brings a record of its own, with its id and user set.
  error_code submit(task_record& record, std::optional<duration> timeout, std::string lane = {});

  // Both again, with room that was reserved; it is used up only if the task is accepted.
  error_code submit(pool_room& room, task& t, std::source_location where);
  error_code submit(pool_room& room, task_record& record, std::optional<duration> timeout);

  /// Whoever waits for the task has given up: drops it if it is queued, cancels it if it runs.
  void give_up(task_record& record);

  /// Drops the task if it is queued. \returns whether it was.
  bool withdraw(task_record& record);

  /// Whether a task that was accepted has neither ended nor been asked to stop.
  bool goes_on(const task_record& record) const;

  /// Hands over a task; where only room is lacking `waiter` waits for it.
  void enter(room_waiter& waiter, task&& t, std::source_location where);

  /// Reserves room, or waits for it.
  void enter(reserve_waiter& waiter);

  /// Whoever waits for room has given up. \returns whether it still waited.
  bool leave(room_waiter& waiter);
  bool leave(reserve_waiter& waiter);

  /// Room, if there is some now; never waits.
  pool_room try_reserve();

  /// Gives back what was reserved.
  void give_back_room() noexcept;

  // The workers.

  /// Enters into the books what has ended, and finds the next task. Null: there is none, and the
  /// worker is listed as parked, or, if `retire` is set, is to end.
  task_record* take(worker& w, ended_task ended, bool& retire) noexcept;

  /// A task's frame has ended, normally or by being destroyed: lets go of all it held.
  ended_task conclude(worker& w, task_record& record, std::exception_ptr error) noexcept;

  /// A task's frame was destroyed while it was suspended, and its worker's with it.
  void unwound(worker& w, task_record& record) noexcept;

  /// Drops those who have waited for too long. \returns when the next is to be, `max` if nobody
  /// waits.
  time_point shed(time_point now) noexcept;

  /// A task is stuck, or is so no longer.
  void on_stuck(const kept_event& task) noexcept;
  void on_unstuck() noexcept { stuck_.fetch_sub(1, std::memory_order_relaxed); }

  /// The task of `epoch` hogs its thread; so many tasks do, as of the keeper's last look.
  void on_hog(worker& w, std::uint64_t epoch, duration held);
  void on_hogs(std::size_t now) noexcept;

  // The end.

  /// No more admissions; those who wait for room are turned away.
  void close();

  /// Drops what is queued; the ids go into the report.
  void abandon_queue();

  /// Cancels what runs.
  void cancel_running(cancel_cause cause);

  /// Tasks that are queued, running, or ended with their callers still to be told.
  std::size_t live() const;

  /// It has been closed, and all that it had accepted has ended.
  bool ended() const { return closed_.load(std::memory_order_acquire) && live() == 0; }

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
    std::atomic<std::uint64_t> closed{0}, user_limit{0}, user_queue{0}, tenant_limit{0},
        lane_limit{0}, queue_full{0}, invalid{0}, cancelled{0};
  };

  struct submission;
  struct taken;

  error_code submit(submission& s, task& t, std::source_location where);
  template <typename Make>
  error_code hand_over(submission& s, Make&& make);
  template <typename Enqueue>
  error_code admit(const submission& s, std::size_t hash, Enqueue&& enqueue);
  bool valid(const submission& s) const noexcept;
  std::string_view tenant_of(std::string_view user) const noexcept;
  void reject(error_code ec, std::size_t hash, std::string_view user) noexcept;
  void turn_away(task_record& record, error_code why);
  void dispose(task_record& record, error_code why) noexcept;
  void drop(task_record& record, error_code why, room_claim* served) noexcept;
  void release_slots(task_record& record) noexcept;
  void told() noexcept;
  void serve(room_claim* claim);
  void accepted(worker* wake);

  template <typename Look, typename Pause>
  void walk(Look look, Pause pause) const;

  // Under the lock.
  std::size_t queued() const noexcept { return queue_.size() + lanes_.following(); }
  bool take_room();
  std::size_t stand_ins() const noexcept;
  std::size_t limit() const noexcept { return limit_ + stand_ins(); }
  room_claim* leave_room(time_point now);
  room_claim* left_unrun(task_record& record, time_point now) noexcept;
  void push(room_claim& claim) noexcept;
  worker* push(task_record& record, time_point now) noexcept;
  void enqueue(task_record& record, time_point now) noexcept;
  void leave_lane(task_record& record, time_point now) noexcept;
  void leave_share(task_record& record) noexcept;
  void stand_back(task_record& record, time_point now) noexcept;  ///< it will not run
  void join_queue(task_record& record, time_point now) noexcept;
  void unqueue(task_record& record) noexcept;
  task_record* oldest() noexcept;
  task_record* next_task(time_point now) noexcept;
  void recycle(task_record& record) noexcept;
  void book(task_record& record, task_outcome how) noexcept;
  worker& add_worker();
  worker* worker_to_wake() noexcept;
  std::uint64_t count(task_outcome how) const noexcept {
    return ended_[static_cast<std::size_t>(how)];
  }

  /// Whether each task has to name its user.
  bool limits_users() const noexcept {
    return options_.max_per_user > 0 || options_.max_queued_per_user > 0 ||
           options_.max_per_tenant > 0;
  }

  bool sheds() const noexcept {
    return options_.max_queue_wait > duration::zero() || codel_.enabled();
  }

  const pool_options options_;
  boost::asio::any_io_executor inner_;  ///< empty once its context is gone
  std::optional<base_executor> base_;   ///< likewise
  const bool borrowed_;

  // The strands and the gate live on a context of the core's own: neither depends on how long
  // that of the workers lives.
  boost::asio::execution_context own_context_;
  user_slots users_;
  user_slots tenants_;  ///< visited before `users_`, never from inside it
  std::array<rejections, 16> rejections_;
  std::atomic<bool> closed_{false};
  std::atomic<bool> full_{false};  ///< no room, as of the last change: lets a refusal be quick
  std::atomic<bool> context_gone_{false};
  std::atomic<int> stuck_{0};
  std::atomic<std::size_t> hogging_{0};
  std::atomic<std::uint64_t> hogged_{0};
  std::atomic<std::size_t> telling_{0};  ///< tasks booked as ended, their callers not told yet

  mutable std::mutex walking_;       ///< held throughout a walk, the lock below now and then
  mutable std::uint64_t walks_ = 0;  ///< guarded by it

  mutable spin_mutex mutex_;  ///< guards all that follows, down to the keeper
  gate gate_;
  run_queue queue_;
  lane_table lanes_;
  codel codel_;
  intrusive_queue<room_claim> waiting_;
  submitted_task* free_ = nullptr;  ///< records to use again
  std::vector<boost::intrusive_ptr<worker>> workers_;
  worker* idle_ = nullptr;
  bool searching_ = false;  ///< a worker was woken and has not found a task yet
  bool retired_ = false;
  bool cut_short_ = false;  ///< the shutdown has dropped or cancelled a task
  std::size_t limit_;       ///< on `active_`, which is above it for a while after it was lowered
  std::size_t active_ = 0;
  std::size_t reserved_ = 0;
  std::size_t queued_max_ = 0;
  std::uint64_t submitted_ = 0;
  std::array<std::uint64_t, 4> ended_{};  ///< by outcome
  std::uint64_t shed_ = 0;
  std::uint64_t shed_codel_ = 0;
  histogram queue_wait_;
  histogram run_time_;
  std::uint64_t completed_before_close_ = 0;
  std::vector<std::string> abandoned_;
  std::optional<boost::asio::any_io_executor> busy_;  ///< keeps a borrowed context running

  deadline_keeper keeper_;
  pool_closer closer_;
  inspectable inspectable_{*this};
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_POOL_CORE_HPP
