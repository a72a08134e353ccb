// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/pool_core.hpp>
#include <weir/detail/worker.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace weir::detail {

namespace asio = boost::asio;

namespace {

worker::phase phase_for(cancel_cause cause) noexcept {
  switch (cause) {
    case cancel_cause::timeout:
      return worker::phase::timeout;
    case cancel_cause::shutdown:
      return worker::phase::shutdown;
    case cancel_cause::caller:
      return worker::phase::caller;
    case cancel_cause::none:
      break;
  }
  return worker::phase::running;
}

cancel_cause cause_for(worker::phase p) noexcept {
  switch (p) {
    case worker::phase::timeout:
      return cancel_cause::timeout;
    case worker::phase::shutdown:
      return cancel_cause::shutdown;
    case worker::phase::caller:
      return cancel_cause::caller;
    case worker::phase::idle:
    case worker::phase::running:
      break;
  }
  return cancel_cause::none;
}

/// Completes `worker::run`. Not a lambda with a slot bound to it: `co_spawn` would then keep the
/// executor in the slot, and with it the worker, to which the slot belongs.
struct end_of_run {
  using cancellation_slot_type = asio::cancellation_slot;
  cancellation_slot_type get_cancellation_slot() const noexcept { return slot; }
  void operator()(const std::exception_ptr& e) const {
    if (e) std::rethrow_exception(e);
  }
  asio::cancellation_slot slot;
};

}  // namespace

worker::worker(pool_core& core, const base_executor& base)
    : core_(&core),
      counts_turns_(core.options().hog_after > duration::zero()),
      context_(&asio::query(base, asio::execution::context)),
      strand_(std::in_place, base) {}

void worker::begin(task_record& record, time_point due) noexcept {
  const std::uint64_t epoch = epoch_of(state_.load(std::memory_order_relaxed)) + 1;
  record_ = &record;
  record.runner = this;
  record.deadline = due;
  record.epoch = epoch;
  // The keeper reads these the other way round; see `look`.
  due_.store(due, std::memory_order_seq_cst);
  state_.store(word(epoch, phase::running), std::memory_order_seq_cst);
}

worker::phase worker::end() noexcept {
  const std::uint64_t now = state_.load(std::memory_order_relaxed);
  const phase last =
      phase_of(state_.exchange(word(epoch_of(now), phase::idle), std::memory_order_acq_rel));
  if (last != phase::running || has_stop_source_.load(std::memory_order_relaxed)) {
    // Whoever cancelled this task holds the mutex for as long as it touches it.
    const std::lock_guard lock(mutex_);
    stop_source_.reset();
    has_stop_source_.store(false, std::memory_order_relaxed);
    if (std::exchange(stuck_, false)) core_->on_unstuck();
  }
  return last;
}

worker::standing worker::look() const noexcept {
  // State first: a due that is read after it is of this epoch or of a later one, and whoever acts
  // on a later one finds the epoch changed.
  const std::uint64_t state = state_.load(std::memory_order_seq_cst);
  return {epoch_of(state), phase_of(state), due_.load(std::memory_order_seq_cst)};
}

bool worker::cancel(std::uint64_t epoch, cancel_cause cause) {
  std::optional<std::stop_source> source;
  time_point due;
  {
    const std::lock_guard lock(mutex_);
    std::uint64_t expected = word(epoch, phase::running);
    if (!state_.compare_exchange_strong(expected, word(epoch, phase_for(cause)),
                                        std::memory_order_acq_rel))
      return false;
    source = stop_source_;
    const time_point now = steady_clock::now();
    stuck_at_ = saturating_add(now, core_->options().grace);
    answer_at_ = record_->has_caller() ? saturating_add(now, core_->options().answer_after)
                                       : time_point::max();
    due = std::min(answer_at_, stuck_at_);
    due_.store(due, std::memory_order_seq_cst);
  }
  if (source) source->request_stop();
  if (unwinding()) return true;  // the context is gone: the frame is being destroyed, not resumed
  core_->keeper().watch(*core_, *group, due);
  asio::post(*strand_, [self = boost::intrusive_ptr<worker>(this), epoch] {
    const std::uint64_t state = self->state_.load(std::memory_order_acquire);
    if (epoch_of(state) == epoch && phase_of(state) > phase::running)
      self->signal_.emit(asio::cancellation_type::terminal);
  });
  return true;
}

std::optional<kept_event> worker::overdue(std::uint64_t epoch, time_point now) {
  std::optional<kept_event> stuck;
  const std::lock_guard lock(mutex_);
  const std::uint64_t state = state_.load(std::memory_order_acquire);
  if (epoch_of(state) != epoch || phase_of(state) <= phase::running) return stuck;
  if (answer_at_ <= now) {
    answer_at_ = time_point::max();
    record_->answer_early(to_error(cause_for(phase_of(state))));
  }
  if (stuck_at_ <= now) {
    stuck_at_ = time_point::max();
    stuck_ = true;
    stuck.emplace(record_->event(now));
  }
  due_.store(std::min(answer_at_, stuck_at_), std::memory_order_seq_cst);
  return stuck;
}

std::optional<std::string> worker::name_of_cancelled() const {
  const std::lock_guard lock(mutex_);
  if (phase_of(state_.load(std::memory_order_acquire)) <= phase::running) return std::nullopt;
  return record_->name();
}

std::pair<task_state, cancel_cause> worker::state_of_task() const {
  const std::lock_guard lock(mutex_);
  const phase now = phase_of(state_.load(std::memory_order_acquire));
  // Idle: its frame has ended, and it is about to be entered into the books.
  if (now <= phase::running) return {task_state::running, cancel_cause::none};
  return {stuck_ ? task_state::stuck : task_state::stopping, cause_for(now)};
}

std::optional<duration> worker::look_for_hog(time_point now, duration hog_after) noexcept {
  const standing s = look();
  const std::uint64_t count = turns_.load(std::memory_order_relaxed);
  const bool holds = count % 2 != 0 && s.now != phase::idle;
  if (!holds || count != seen_turn_ || s.epoch != seen_epoch_) {
    // The epoch too: a worker whose tasks do not suspend runs one after another in one turn.
    hog_turn_.store(no_turn, std::memory_order_release);
    seen_turn_ = holds ? count : no_turn;
    seen_epoch_ = s.epoch;
    seen_at_.store(now, std::memory_order_relaxed);
    return std::nullopt;
  }
  const duration held = now - seen_at_.load(std::memory_order_relaxed);
  if (hogs() || held < hog_after) return std::nullopt;
  hog_turn_.store(count, std::memory_order_release);
  return held;
}

duration worker::hogged_for(time_point now) const noexcept {
  const std::uint64_t told = hog_turn_.load(std::memory_order_acquire);
  if (told == no_turn || told != turns_.load(std::memory_order_relaxed)) return {};
  // Whoever asks may have looked at the clock before this turn began to be watched.
  return std::max(now - seen_at_.load(std::memory_order_relaxed), duration::zero());
}

void worker::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);  // an early answer takes the handler away under it
  if (record_ && record_->has_caller())
    if (const auto caller = record_->caller())
      to.on_wait(core_, core_->options().name, "pool result", record_->accepted_at, caller);
}

bool worker::stop_requested(std::uint64_t epoch) {
  const standing s = look();
  if (s.epoch != epoch || s.now != phase::running) return true;
  if (s.due > steady_clock::now()) return false;
  cancel(epoch, cancel_cause::timeout);
  return true;
}

std::stop_token worker::standard_token(std::uint64_t epoch) {
  std::stop_source source;
  bool fire = true;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    if (epoch_of(state) == epoch && phase_of(state) != phase::idle) {
      if (stop_source_)
        source = *stop_source_;
      else
        stop_source_ = source;
      has_stop_source_.store(true, std::memory_order_relaxed);
      fire = phase_of(state) != phase::running;
    }
  }
  if (fire) source.request_stop();
  return source.get_token();
}

cancel_cause worker::cause_of_current() {
  stop_requested(look().epoch);  // a deadline that has passed counts, though no timer fired yet
  return cause_for(look().now);
}

weir::stop_token worker::token_of_current() noexcept {
  return weir::stop_token(*this, look().epoch);
}

void worker::wake(const std::shared_ptr<pool_core>& core) {
  switch (wakefulness_.exchange(wakefulness::notified, std::memory_order_acq_rel)) {
    case wakefulness::unborn: {
      wakefulness_.store(wakefulness::awake, std::memory_order_relaxed);
      boost::intrusive_ptr<worker> self(this);
      // Posted: a submission from inside a task must not find itself running a worker.
      asio::post(worker_executor(self), [self, core] {
        asio::co_spawn(asio::any_io_executor(worker_executor(self)), run(core, self),
                       end_of_run{self->signal_.slot()});
      });
      break;
    }
    case wakefulness::parked:
      wakefulness_.store(wakefulness::awake, std::memory_order_relaxed);
      resume_parked();
      break;
    case wakefulness::awake:  // about to park: it will see that it has been notified
    case wakefulness::notified:
      break;
  }
}

void worker::resume_parked() {
  auto resume = [handler = *std::move(parked_)]() mutable { std::move(handler)(); };
  parked_.reset();
  asio::post(worker_executor(boost::intrusive_ptr<worker>(this)), std::move(resume));
}

auto worker::async_park() {
  return asio::async_initiate<const asio::deferred_t&, void()>(
      [](auto handler, worker* self) {
        self->parked_.emplace(std::move(handler));
        auto expected = wakefulness::awake;
        if (self->wakefulness_.compare_exchange_strong(expected, wakefulness::parked,
                                                       std::memory_order_acq_rel))
          return;
        self->wakefulness_.store(wakefulness::awake, std::memory_order_relaxed);
        self->resume_parked();
      },
      asio::deferred, this);
}

void worker::dismiss() noexcept {
  if (wakefulness_.exchange(wakefulness::notified, std::memory_order_acq_rel) !=
      wakefulness::parked)
    return;  // it runs, and ends when it next looks for a task
  unwinding_.store(true, std::memory_order_release);
  parked_.reset();
}

void worker::abandon_context() noexcept {
  unwinding_.store(true, std::memory_order_release);
  strand_.reset();
}

/// Stands in a worker's frame while a task runs: if the frame is destroyed instead of resumed,
/// the task still lets go of what it holds and reaches its terminal state.
struct worker::unfinished {
  pool_core& core;
  worker& self;
  task_record* record;
  ~unfinished() {
    if (record) core.unwound(self, *record);
  }
};

asio::awaitable<void> worker::run(std::shared_ptr<pool_core> core,
                                  boost::intrusive_ptr<worker> self) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  ended_task ended;
  for (;;) {
    bool retire = false;
    task_record* const record = core->take(*self, std::exchange(ended, {}), retire);
    if (retire) co_return;
    if (!record) {
      co_await self->async_park();
      continue;
    }
    std::exception_ptr error;
    {
      unfinished guard{*core, *self, record};
      task_context context(*self);
      try {
        asio::awaitable<void> work = record->start(context);
        if (work.valid()) co_await std::move(work);
      } catch (...) {
        error = std::current_exception();
      }
      guard.record = nullptr;
    }
    if (!self->strand_->running_in_this_thread()) {
      // The task came back on some other executor; a cancellation must not stop us going home.
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await asio::dispatch(asio::deferred);
    }
    ended = core->conclude(*self, *record, std::move(error));
    // Whatever the task did to it, or it to the task, the next starts with a clean state.
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(true);
  }
}

}  // namespace weir::detail
