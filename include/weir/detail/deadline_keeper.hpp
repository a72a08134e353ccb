// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_DEADLINE_KEEPER_HPP
#define WEIR_DETAIL_DEADLINE_KEEPER_HPP

#include <weir/clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace weir::detail {

class pool_core;
class worker;

/// Up to 64 workers whose deadlines share one timer.
struct deadline_group {
  static constexpr std::size_t capacity = 64;

  deadline_group(const boost::asio::any_io_executor& keeper, deadline_group* before)
      : next(before), timer(std::in_place, keeper) {}

  deadline_group* const next;
  std::atomic<time_point> told{time_point::max()};  ///< nothing from here on needs to be told
  std::atomic<std::size_t> count{0};
  std::array<worker*, capacity> members{};

  // The keeper's own.
  std::optional<steady_timer> timer;
  time_point pending = time_point::max();  ///< what the timer waits for
};

/// Watches the deadlines of running tasks, and of those who wait, without touching a timer for most
/// of them.
///
/// To start a task stores its deadline and compares it with what the timer is armed for. Only an
/// earlier one is told to the keeper: with one timeout for all that is the first, and then one in
/// each timeout's length. When the timer fires the keeper looks at what is due by then and arms
/// it for the earliest of the rest. A timer for each task was measured at ten times the cost of
/// the task; one list of deadlines, sorted, needs a lock on each start and end.
///
/// It runs on an executor of its own, which no task can block.
///
/// Thread safety: `watch` and `rest` from any thread, the rest on the keeper's executor. `add`
/// under the pool's lock.
class deadline_keeper {
 public:
  explicit deadline_keeper(boost::asio::any_io_executor executor)
      : executor_(std::move(executor)) {}
  deadline_keeper(const deadline_keeper&) = delete;
  deadline_keeper& operator=(const deadline_keeper&) = delete;
  ~deadline_keeper();

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Gives the worker a place in a group.
  void add(worker& w);

  /// Something is due at `due` for a worker of `group`, in which it has been stored.
  void watch(pool_core& core, deadline_group& group, time_point due) {
    // Either this load sees what the keeper has been told, or the keeper, which looks at the
    // workers after it has said that it knows of nothing, sees `due`: all of these are
    // sequentially consistent.
    time_point told = group.told.load(std::memory_order_seq_cst);
    while (due < told)
      if (group.told.compare_exchange_weak(told, due, std::memory_order_seq_cst))
        return tell(core, group);
  }

  /// Somebody has joined the queue of a pool that sheds those who wait for too long.
  void watch_queue(pool_core& core);

  /// A task has started, in a pool that looks for hogs.
  void watch_hogs(pool_core& core) {
    // As in `watch`: either this load sees that nobody looks any more, or the keeper, which looks
    // at the workers once more after it has said so, sees the task.
    if (!hogs_watched_.load(std::memory_order_seq_cst) &&
        !hogs_watched_.exchange(true, std::memory_order_seq_cst))
      tell_hogs(core);
  }

  /// Nothing runs: a timer that is still armed would keep a borrowed context waiting for nothing.
  void rest(pool_core& core);

  /// Lets go of the timers, whose context is being destroyed.
  void abandon_context() noexcept;

 private:
  void tell(pool_core& core, deadline_group& group);
  void settle(const std::shared_ptr<pool_core>& core, deadline_group& group);
  void tell_queue(pool_core& core);
  void settle_queue(const std::shared_ptr<pool_core>& core);
  void tell_hogs(pool_core& core);
  void settle_hogs(const std::shared_ptr<pool_core>& core);
  bool look_for_hogs(pool_core& core);

  boost::asio::any_io_executor executor_;
  std::optional<steady_timer> queue_timer_;
  std::atomic<bool> queue_watched_{false};  ///< the timer waits, or somebody has told
  std::optional<steady_timer> hog_timer_;
  std::atomic<bool> hogs_watched_{false};         ///< likewise
  std::atomic<deadline_group*> newest_{nullptr};  ///< a list that only grows, so it needs no lock
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_DEADLINE_KEEPER_HPP
