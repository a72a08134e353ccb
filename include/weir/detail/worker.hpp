// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_WORKER_HPP
#define WEIR_DETAIL_WORKER_HPP

#include <weir/cancel_cause.hpp>
#include <weir/clock.hpp>
#include <weir/detail/inspection.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/detail/task_record.hpp>
#include <weir/stop_token.hpp>
#include <weir/task_context.hpp>
#include <weir/task_dump.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace weir::detail {

class pool_core;
struct deadline_group;

/// The executor under the strands of a pool's workers.
///
/// To ask an `any_io_executor` whether it blocks, or to require that it does not, allocates at
/// each call, and a strand asks at each call. Here both are asked for once a pool.
class base_executor {
 public:
  // A template, so that a copy does not make the compiler ask whether this type converts to an
  // `any_io_executor`, which depends on whether it can be copied.
  template <std::same_as<boost::asio::any_io_executor> Executor>
  explicit base_executor(const Executor& ex)
      : bases_(std::make_shared<const bases>(
            bases{ex, boost::asio::require(ex, boost::asio::execution::blocking.never)})) {}

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
    return boost::asio::query(bases_->plain, boost::asio::execution::context);
  }
  boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
    return never_ ? boost::asio::execution::blocking_t(boost::asio::execution::blocking.never)
                  : boost::asio::execution::blocking_t(boost::asio::execution::blocking.possibly);
  }
  base_executor require(boost::asio::execution::blocking_t::never_t) const noexcept {
    return base_executor(bases_, true);
  }
  base_executor require(boost::asio::execution::blocking_t::possibly_t) const noexcept {
    return base_executor(bases_, false);
  }

  template <typename F>
  void execute(F&& f) const {
    (never_ ? bases_->never : bases_->plain).execute(std::forward<F>(f));
  }

  friend bool operator==(const base_executor& a, const base_executor& b) noexcept {
    return a.bases_ == b.bases_ && a.never_ == b.never_;
  }

 private:
  struct bases {
    boost::asio::any_io_executor plain;
    boost::asio::any_io_executor never;
  };
  base_executor(std::shared_ptr<const bases> b, bool never) noexcept
      : bases_(std::move(b)), never_(never) {}

  std::shared_ptr<const bases> bases_;
  bool never_ = false;
};

/// A coroutine on a strand of its own that runs one task after another, and what others may do to
/// it: wake it when it is parked, cancel its task, read the deadline of its task.
///
/// Which task runs, and whether it has been cancelled, is one word: the epoch, which counts the
/// tasks of this worker, and the phase. Whoever wants to cancel states the epoch that it means,
/// so that a deadline or a caller that comes late cannot hit the next task.
class worker {
 public:
  enum class phase : std::uint8_t { idle, running, timeout, shutdown, caller };

  worker(pool_core& core, const base_executor& base);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  // The pool's side, under the pool's lock.
  worker* next_idle = nullptr;  ///< link of the stack of parked workers
  bool searching = false;       ///< woken and still without a task

  /// Takes up a task: from now on it can be cancelled.
  void begin(task_record& record, time_point due) noexcept;

  /// The task is in the books as ended.
  void forget() noexcept { record_ = nullptr; }

  /// Tells who waits for the result of the task, if there is one.
  void inspect(inspector& to) const;

  // The coroutine's side.

  /// Runs tasks until the pool retires.
  static boost::asio::awaitable<void> run(std::shared_ptr<pool_core> core,
                                          boost::intrusive_ptr<worker> self);

  /// The task's frame has ended. Nobody touches the task through this worker after it.
  phase end() noexcept;

  // Anybody's side.

  /// Starts the coroutine, or resumes it if it is parked. A call that comes before it has parked
  /// is not lost.
  void wake(const std::shared_ptr<pool_core>& core);

  /// Cancels the task of `epoch`, if it still runs and has not been cancelled yet.
  bool cancel(std::uint64_t epoch, cancel_cause cause);

  /// A task that was cancelled has not ended yet: when it is time its waiting caller gets its
  /// answer ahead of that, and the task counts as stuck.
  ///
  /// \returns the task where it has just become that.
  std::optional<kept_event> overdue(std::uint64_t epoch, time_point now);

  /// What the keeper has to know: whether a task runs, which, and when something is due for it.
  struct standing {
    std::uint64_t epoch;
    phase now;
    time_point due;
  };
  standing look() const noexcept;

  /// How the task that runs is getting on. Under the pool's lock.
  std::pair<task_state, cancel_cause> state_of_task() const;

  /// The id of the task that was cancelled and still runs, if there is one.
  std::optional<std::string> name_of_cancelled() const;

  /// Stands while a handler of the worker runs, where somebody looks for hogs: the count of its
  /// turns is odd meanwhile. One that the handler dispatches runs in the same turn.
  class turn {
   public:
    explicit turn(worker& w) noexcept : worker_(w), outermost_(!w.holds_thread()) {
      if (outermost_) worker_.next_turn();
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      if (outermost_) worker_.next_turn();
    }

   private:
    worker& worker_;
    const bool outermost_;
  };

  /// Whether turns are counted.
  bool counts_turns() const noexcept { return counts_turns_; }

  // For the keeper, who looks for hogs.

  /// Looks whether the task that was there at the last look has held its thread since.
  /// \returns for how long at least, where that is a hog and has not been told of.
  std::optional<duration> look_for_hog(time_point now, duration hog_after) noexcept;

  /// Whether one was found that held its thread still at the last look.
  bool hogs() const noexcept { return hog_turn_.load(std::memory_order_acquire) != no_turn; }

  /// For how long at least a task has held the thread that has been found a hog, and still does.
  duration hogged_for(time_point now) const noexcept;

  bool stop_requested(std::uint64_t epoch);
  std::stop_token standard_token(std::uint64_t epoch);
  cancel_cause cause_of_current();
  weir::stop_token token_of_current() noexcept;
  task_record& current() const noexcept { return *record_; }

  /// The task that runs, or null. Under the pool's lock, or where nothing runs meanwhile.
  const task_record* running() const noexcept { return record_; }

  // Its executor.
  boost::asio::execution_context& context() const noexcept { return *context_; }
  const boost::asio::strand<base_executor>& strand() const noexcept { return *strand_; }
  bool unwinding() const noexcept { return unwinding_.load(std::memory_order_acquire); }

  /// The pool has retired: destroys the coroutine if it is parked; else it ends by itself when it
  /// next looks for a task.
  void dismiss() noexcept;

  /// Lets go of the context, which is being destroyed and which no thread runs. From now on what
  /// is handed to the executor runs where it is: it can only be the unwinding of frames.
  void abandon_context() noexcept;

  deadline_group* group = nullptr;  ///< where its deadlines are watched

  friend void intrusive_ptr_add_ref(worker* w) noexcept {
    w->references_.fetch_add(1, std::memory_order_relaxed);
  }
  friend void intrusive_ptr_release(worker* w) noexcept {
    if (w->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete w;
  }

 private:
  struct unfinished;
  static constexpr std::uint64_t no_turn = 0;  // even, so nothing runs in it
  enum class wakefulness : std::uint8_t { unborn, awake, parked, notified };

  ~worker() = default;
  auto async_park();
  void resume_parked();

  // The strand lets one thread at a time count, so this needs no exchange.
  void next_turn() noexcept {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  bool holds_thread() const noexcept { return turns_.load(std::memory_order_relaxed) % 2 != 0; }

  static std::uint64_t word(std::uint64_t epoch, phase p) noexcept {
    return epoch << 3U | static_cast<std::uint64_t>(p);
  }
  static std::uint64_t epoch_of(std::uint64_t w) noexcept { return w >> 3U; }
  static phase phase_of(std::uint64_t w) noexcept { return static_cast<phase>(w & 7U); }

  pool_core* core_;
  std::atomic<std::uint64_t> state_{0};
  std::atomic<time_point> due_{time_point::max()};
  task_record* record_ = nullptr;

  mutable spin_mutex mutex_;                  ///< held by whoever cancels; see `end`
  time_point answer_at_ = time_point::max();  ///< when the caller is told of a cancelled task
  time_point stuck_at_ = time_point::max();   ///< when the task is stuck
  bool stuck_ = false;
  std::optional<std::stop_source> stop_source_;
  std::atomic<bool> has_stop_source_{false};

  boost::asio::cancellation_signal signal_;
  // Made and unmade in place: move assignment of this type never returns in Boost 1.81.
  std::optional<boost::asio::any_completion_handler<void()>> parked_;
  std::atomic<wakefulness> wakefulness_{wakefulness::unborn};
  std::atomic<bool> unwinding_{false};

  const bool counts_turns_;
  std::atomic<std::uint64_t> turns_{0};
  std::uint64_t seen_turn_ = no_turn;  ///< at the keeper's last look, as the next
  std::uint64_t seen_epoch_ = 0;
  std::atomic<time_point> seen_at_{time_point{}};  ///< when it was there first
  std::atomic<std::uint64_t> hog_turn_{no_turn};   ///< the turn of a hog that has been told of

  boost::asio::execution_context* context_;
  std::optional<boost::asio::strand<base_executor>> strand_;
  std::atomic<int> references_{0};
};

/// A worker's strand as an executor. It adds to `asio::strand` that a worker that is idle does
/// not keep the context from running out of work (it never tracks work; the pool does that for
/// all of them while it has tasks), and that frames which die with their context unwind on the spot
/// instead of being posted to a strand that dies with it.
class worker_executor {
 public:
  explicit worker_executor(boost::intrusive_ptr<worker> w, bool never = false) noexcept
      : worker_(std::move(w)), never_(never) {}
  // Written out, since an executor's copy is noexcept and that of the pointer does not say so.
  worker_executor(const worker_executor& other) noexcept
      : worker_(other.worker_), never_(other.never_) {}
  worker_executor(worker_executor&& other) noexcept = default;
  worker_executor& operator=(const worker_executor&) = delete;
  ~worker_executor() = default;

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
    return worker_->context();
  }
  boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
    return never_ ? boost::asio::execution::blocking_t(boost::asio::execution::blocking.never)
                  : boost::asio::execution::blocking_t(boost::asio::execution::blocking.possibly);
  }
  worker_executor require(boost::asio::execution::blocking_t::never_t) const noexcept {
    return worker_executor(worker_, true);
  }
  worker_executor require(boost::asio::execution::blocking_t::possibly_t) const noexcept {
    return worker_executor(worker_, false);
  }

  const worker& owner() const noexcept { return *worker_; }

  template <typename F>
  void execute(F&& f) const {
    if (worker_->unwinding()) {
      std::decay_t<F> function(std::forward<F>(f));
      function();
    } else if (worker_->counts_turns()) {
      hand_over([w = worker_, function = std::decay_t<F>(std::forward<F>(f))]() mutable {
        const worker::turn turn(*w);
        std::move(function)();
      });
    } else {
      hand_over(std::forward<F>(f));
    }
  }

  friend bool operator==(const worker_executor& a, const worker_executor& b) noexcept {
    return a.worker_ == b.worker_ && a.never_ == b.never_;
  }

 private:
  template <typename F>
  void hand_over(F&& f) const {
    if (never_)
      boost::asio::require(worker_->strand(), boost::asio::execution::blocking.never)
          .execute(std::forward<F>(f));
    else
      worker_->strand().execute(std::forward<F>(f));
  }

  boost::intrusive_ptr<worker> worker_;
  bool never_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_WORKER_HPP
