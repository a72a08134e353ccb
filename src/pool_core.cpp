// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/context_guard.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/detail/pool_core.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace weir::detail {

namespace asio = boost::asio;

namespace {

pool_options clamped(pool_options options) {
  options.workers = std::max(options.workers, 1);
  options.threads = options.threads < 1 ? options.workers : options.threads;
  options.queue_size = std::max(options.queue_size, 1);
  options.max_per_user = std::max(options.max_per_user, 0);
  options.task_timeout = std::max(options.task_timeout, duration::zero());
  options.grace = std::max(options.grace, duration::zero());
  options.answer_after = std::max(options.answer_after, duration::zero());
  return options;
}

}  // namespace

pool_core::pool_core(asio::any_io_executor inner, asio::any_io_executor keeper,
                     pool_options options, bool borrowed)
    : options_(clamped(std::move(options))),
      inner_(std::move(inner)),
      base_(inner_),
      borrowed_(borrowed),
      slots_(own_context_, std::max(options_.max_per_user, 1)),
      gate_(inline_executor<>(own_context_), static_cast<std::size_t>(options_.queue_size)),
      limit_(static_cast<std::size_t>(options_.workers)),
      keeper_(keeper),
      closer_(keeper) {
  // One is made here, so that a pool that has been made can always run what it accepts.
  const std::lock_guard lock(mutex_);
  idle_ = &add_worker();
}

pool_core::~pool_core() {
  while (free_) delete static_cast<submitted_task*>(std::exchange(free_, free_->next));
}

void pool_core::attach() {
  auto& context = asio::query(inner_, asio::execution::context);
  asio::use_service<context_guard>(context).add(weak_from_this());
}

pool_metrics pool_core::metrics() const {
  pool_metrics m;
  {
    const std::lock_guard lock(mutex_);
    m.workers = static_cast<int>(limit_);
    m.active = active_;
    m.queued = queue_.size();
    m.queued_max = queued_max_;
    m.waiting = waiting_.size();
    m.submitted = submitted_;
    m.completed = count(outcome::completed);
    m.failed = count(outcome::failed);
    m.timed_out = count(outcome::timed_out);
    m.cancelled = count(outcome::cancelled);
  }
  m.queue_size = static_cast<std::size_t>(options_.queue_size);
  m.users = slots_.size();
  for (const rejections& r : rejections_) {
    m.rejected.closed += r.closed.load(std::memory_order_relaxed);
    m.rejected.user_limit += r.user_limit.load(std::memory_order_relaxed);
    m.rejected.queue_full += r.queue_full.load(std::memory_order_relaxed);
    m.rejected.invalid += r.invalid.load(std::memory_order_relaxed);
    m.rejected.cancelled += r.cancelled.load(std::memory_order_relaxed);
  }
  return m;
}

void pool_core::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  waiting_.for_each([&](const task_record& record) {
    const room_waiter& waiter = *static_cast<const submitted_task&>(record).waiter;
    to.on_wait(this, options_.name, "pool submit", waiter.since, waiter.caller());
  });
  queue_.for_each([&](const task_record& record) {
    if (record.has_caller())
      to.on_wait(this, options_.name, "pool result", record.since, record.caller());
  });
  for (const auto& w : workers_) w->inspect(to);
  to.on_hold(this, options_.name, "running task", active_);
  to.on_hold(this, options_.name, "queued task", queue_.size());
  to.on_hold(this, options_.name, "user with a slot", slots_.size());
}

// --- admission -----------------------------------------------------------------------------------

error_code pool_core::resolve(bool has_callable, std::string_view user,
                              std::optional<duration> given, duration& timeout) const noexcept {
  if (!has_callable || (user.empty() && options_.max_per_user > 0) ||
      (given && *given < duration::zero()))
    return errc::invalid_argument;
  timeout = given.value_or(options_.task_timeout);
  return {};
}

error_code pool_core::reject(error_code ec, std::size_t hash) noexcept {
  rejections& r = rejections_[hash % rejections_.size()];
  std::atomic<std::uint64_t>& count = ec == errc::pool_closed          ? r.closed
                                      : ec == errc::user_limit_reached ? r.user_limit
                                      : ec == errc::queue_full         ? r.queue_full
                                      : ec == errc::invalid_argument   ? r.invalid
                                                                       : r.cancelled;
  count.fetch_add(1, std::memory_order_relaxed);
  return ec;
}

template <typename Enqueue>
error_code pool_core::admit(std::string_view user, std::size_t hash, bool may_wait,
                            Enqueue&& enqueue) {
  if (closed_.load(std::memory_order_acquire)) return errc::pool_closed;
  const auto probe = [&]() noexcept -> error_code {
    if (!may_wait && full_.load(std::memory_order_relaxed)) return errc::queue_full;
    return {};
  };
  if (options_.max_per_user > 0) return slots_.acquire(user, hash, probe, enqueue);
  if (const error_code ec = probe()) return ec;
  return enqueue(nullptr);
}

error_code pool_core::submit(task& t, std::source_location where) {
  error_code ec;
  submit(t, nullptr, where, ec);
  return ec;
}

bool pool_core::submit(task& t, room_waiter* waiter, std::source_location where, error_code& ec) {
  const std::size_t hash = user_slots::hash(t.user);
  duration timeout{};
  ec = resolve(static_cast<bool>(t.fn), t.user, t.timeout, timeout);
  worker* wake = nullptr;
  bool waits = false;
  if (!ec)
    ec = admit(t.user, hash, waiter != nullptr, [&](user_slots::entry* slot) -> error_code {
      const std::lock_guard lock(mutex_);
      if (closed_) return errc::pool_closed;
      const bool room = take_room();
      if (!room && !waiter) return errc::queue_full;
      submitted_task* record = nullptr;
      try {
        fault_point();
        record = free_ ? static_cast<submitted_task*>(std::exchange(free_, free_->next))
                       : new submitted_task;
      } catch (...) {
        if (room) leave_room();
        throw;
      }
      record->id = std::move(t.id);
      record->user = std::move(t.user);
      record->fn = std::move(t.fn);
      record->spawned = where;
      record->priority = t.priority;
      record->timeout = timeout;
      record->slot = slot;
      if (room) {
        wake = push(*record);
      } else {
        waits = true;
        record->where = task_record::place::waiting;
        record->waiter = waiter;
        waiter->record = record;
        waiter->since = steady_clock::now();
        waiting_.push(*record);
      }
      return {};
    });
  if (ec) reject(ec, hash);
  if (wake) wake->wake(shared_from_this());
  return waits;
}

error_code pool_core::submit(task_record& record, std::optional<duration> timeout) {
  const std::size_t hash = user_slots::hash(record.user);
  error_code ec = resolve(true, record.user, timeout, record.timeout);
  worker* wake = nullptr;
  if (!ec)
    ec = admit(record.user, hash, false, [&](user_slots::entry* slot) noexcept -> error_code {
      const std::lock_guard lock(mutex_);
      if (closed_) return errc::pool_closed;
      if (!take_room()) return errc::queue_full;
      record.slot = slot;
      wake = push(record);
      return {};
    });
  if (ec) reject(ec, hash);
  if (wake) wake->wake(shared_from_this());
  return ec;
}

bool pool_core::take_room() {
  // Those who wait come first: what becomes free goes to them, so here it is full.
  if (!waiting_.empty() || !gate_.try_send()) return false;
  if (queue_.size() + 1 == static_cast<std::size_t>(options_.queue_size))
    full_.store(true, std::memory_order_relaxed);
  return true;
}

room_waiter* pool_core::leave_room() {
  if (auto* next = static_cast<submitted_task*>(waiting_.pop())) {
    // The place passes from hand to hand; the gate need not know. Its queue was not empty a
    // moment ago, so whoever is to be woken for it has been.
    room_waiter* const served = std::exchange(next->waiter, nullptr);
    served->record = nullptr;
    enqueue(*next);
    return served;
  }
  gate_.try_receive([](auto&&...) {});
  if (full_.load(std::memory_order_relaxed)) full_.store(false, std::memory_order_relaxed);
  return nullptr;
}

void pool_core::enqueue(task_record& record) noexcept {
  record.where = task_record::place::queued;
  record.serial = ++submitted_;
  queue_.push(record);
  queued_max_ = std::max(queued_max_, queue_.size());
  if (borrowed_ && !busy_)
    busy_.emplace(asio::prefer(inner_, asio::execution::outstanding_work.tracked));
}

worker* pool_core::push(task_record& record) noexcept {
  enqueue(record);
  return worker_to_wake();
}

void pool_core::recycle(task_record& record) noexcept {
  record.next = free_;
  free_ = &record;
}

void pool_core::give_up(task_record& record) {
  room_waiter* served = nullptr;
  worker* runner = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (record.where == task_record::place::running) {
      runner = record.runner;
    } else if (record.where == task_record::place::queued) {
      queue_.erase(record);
      served = leave_room();
      book(record, outcome::cancelled);
      telling_.fetch_add(1, std::memory_order_relaxed);
    } else {
      return;
    }
  }
  if (runner) {
    // The epoch was set under the lock, with `where`.
    runner->cancel(record.epoch, cancel_cause::caller);
    return;
  }
  dispose(record, asio::error::operation_aborted);
  told();
  if (served) served->complete({});
}

void pool_core::enter(room_waiter& waiter, task&& t, std::source_location where) {
  error_code ec;
  bool waits = false;
  try {
    waits = submit(t, &waiter, where, ec);
  } catch (const std::bad_alloc&) {
    ec = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
  }
  if (!waits) waiter.complete(ec);
}

bool pool_core::leave(room_waiter& waiter) {
  task_record* record = nullptr;
  {
    const std::lock_guard lock(mutex_);
    record = std::exchange(waiter.record, nullptr);
    if (!record) return false;
    waiting_.erase(*record);
  }
  turn_away(*record, asio::error::operation_aborted);
  return true;
}

void pool_core::turn_away(task_record& record, error_code why) {
  reject(why, user_slots::hash(record.user));
  dispose(record, why);
}

// --- the workers ---------------------------------------------------------------------------------

worker& pool_core::add_worker() {
  fault_point();
  boost::intrusive_ptr<worker> made(new worker(*this, *base_));
  workers_.push_back(made);
  try {
    keeper_.add(*made);
  } catch (...) {
    workers_.pop_back();
    throw;
  }
  return *made;
}

worker* pool_core::worker_to_wake() noexcept {
  // One at a time: to wake a thread costs more than to run most tasks. Whoever is woken wakes the
  // next when it has found its task and there are more.
  if (searching_ || active_ >= limit_) return nullptr;
  worker* found = idle_;
  if (found) {
    idle_ = found->next_idle;
  } else if (workers_.size() < limit_) {
    try {
      found = &add_worker();
    } catch (const std::bad_alloc&) {
      return nullptr;  // fewer workers then; those there are will come to it
    }
  } else {
    return nullptr;
  }
  found->searching = searching_ = true;
  return found;
}

void pool_core::resize(int workers) {
  worker* wake = nullptr;
  {
    const std::lock_guard lock(mutex_);
    limit_ = static_cast<std::size_t>(std::max(workers, 1));
    if (!queue_.empty()) wake = worker_to_wake();
  }
  if (wake) wake->wake(shared_from_this());
}

task_record* pool_core::take(worker& w, ended_task ended, bool& retire) noexcept {
  const time_point now = steady_clock::now();
  time_point due = time_point::max();
  task_record* record = nullptr;
  room_waiter* served = nullptr;
  worker* wake = nullptr;
  bool last = false;
  bool rests = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended.record) {
      --active_;
      w.forget();
      book(*ended.record, ended.how);
      if (ended.record->has_caller()) {
        telling_.fetch_add(1, std::memory_order_relaxed);
      } else {
        recycle(*std::exchange(ended.record, nullptr));
        last = closed_ && active_ == 0 && queue_.empty();
      }
    }
    if (w.searching) w.searching = searching_ = false;
    // Looked at here and not only by whoever woke this worker: the limit, or what runs, may have
    // changed since. Where it parks with tasks still queued, those that run will come to them.
    if (active_ < limit_) record = queue_.pop();
    if (record) {
      served = leave_room();
      ++active_;
      record->where = task_record::place::running;
      record->name();
      if (record->timeout > duration::zero()) due = saturating_add(now, record->timeout);
      w.begin(*record, due);
      if (!queue_.empty()) wake = worker_to_wake();
    } else {
      retire = retired_;
      rests = borrowed_ && active_ == 0;
      if (rests) busy_.reset();
      if (!retire) {
        w.next_idle = idle_;
        idle_ = &w;
      }
    }
  }
  if (ended.record) {
    ended.record->finish(ended.why, std::move(ended.error));
    told();
  }
  if (served) served->complete({});
  if (wake) wake->wake(shared_from_this());
  if (due != time_point::max()) keeper_.watch(*this, *w.group, due);
  if (rests) keeper_.rest(*this);
  if (last) closer_.drained(shared_from_this());
  return record;
}

ended_task pool_core::conclude(worker& w, task_record& record, std::exception_ptr error) noexcept {
  ended_task ended{&record, outcome::completed, {}, nullptr};
  const worker::phase last = w.end();
  if (last == worker::phase::timeout) {
    ended.how = outcome::timed_out;
    ended.why = errc::task_timed_out;
  } else if (error && last == worker::phase::running) {
    ended.how = outcome::failed;
    ended.error = std::move(error);
    if (options_.observer)
      options_.observer->on_task_failed(record.name(), record.user, ended.error);
  } else if (error) {
    ended.how = outcome::cancelled;
    ended.why =
        to_error(last == worker::phase::shutdown ? cancel_cause::shutdown : cancel_cause::caller);
  }
  record.drop();
  release_user(record);
  return ended;
}

void pool_core::unwound(worker& w, task_record& record) noexcept {
  w.cancel(record.epoch, cancel_cause::shutdown);
  ended_task ended = conclude(w, record, std::make_exception_ptr(0));
  {
    const std::lock_guard lock(mutex_);
    --active_;
    w.forget();
    cut_short_ = true;
    book(record, ended.how);
    if (!record.has_caller()) {
      recycle(record);
      return;
    }
  }
  record.finish(ended.why, nullptr);
}

void pool_core::book(task_record& record, outcome how) noexcept {
  record.where = task_record::place::ended;
  ++ended_[static_cast<std::size_t>(how)];
}

void pool_core::release_user(task_record& record) noexcept {
  if (auto* slot = std::exchange(record.slot, nullptr)) slots_.release(slot);
}

void pool_core::told() noexcept {
  // A shutdown waits for this: threads that stop with an answer still to be posted would lose it.
  if (telling_.fetch_sub(1, std::memory_order_acq_rel) == 1 && closed_ && !context_gone())
    closer_.drained(shared_from_this());
}

void pool_core::dispose(task_record& record, error_code why) noexcept {
  record.drop();
  release_user(record);
  if (record.has_caller()) {
    record.finish(why, nullptr);
  } else {
    const std::lock_guard lock(mutex_);
    recycle(record);
  }
}

// --- the end -------------------------------------------------------------------------------------

void pool_core::close() {
  std::vector<std::pair<task_record*, room_waiter*>> turned_away;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_.store(true, std::memory_order_release);
    completed_before_close_ = count(outcome::completed);
    turned_away.reserve(waiting_.size());
    while (auto* record = static_cast<submitted_task*>(waiting_.pop())) {
      record->waiter->record = nullptr;
      turned_away.emplace_back(record, std::exchange(record->waiter, nullptr));
    }
  }
  for (const auto& [record, waiter] : turned_away) {
    turn_away(*record, errc::pool_closed);
    waiter->complete(errc::pool_closed);
  }
}

void pool_core::abandon_queue() {
  std::vector<task_record*> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.reserve(queue_.size());
    while (auto* record = queue_.pop()) {
      leave_room();  // the pool is closed: nobody waits for it
      book(*record, outcome::cancelled);
      abandoned_.push_back(record->name());
      dropped.push_back(record);
    }
    telling_.fetch_add(dropped.size(), std::memory_order_relaxed);
    if (!dropped.empty()) cut_short_ = true;
  }
  for (task_record* record : dropped) {
    dispose(*record, errc::shutdown_cancelled);
    told();
  }
}

void pool_core::cancel_running(cancel_cause cause) {
  std::vector<boost::intrusive_ptr<worker>> workers;
  {
    const std::lock_guard lock(mutex_);
    workers = workers_;
    if (active_ != 0) cut_short_ = true;
  }
  for (const auto& w : workers) w->cancel(w->look().epoch, cause);
}

std::size_t pool_core::live() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() + active_ + telling_.load(std::memory_order_acquire);
}

shutdown_report pool_core::report() {
  shutdown_report r;
  const std::lock_guard lock(mutex_);
  r.completed = count(outcome::completed) - completed_before_close_;
  r.abandoned = abandoned_;
  for (const auto& w : workers_)
    if (auto name = w->name_of_cancelled()) r.stuck.push_back(*std::move(name));
  r.drained = !cut_short_;
  return r;
}

void pool_core::retire() {
  worker* parked = nullptr;
  {
    const std::lock_guard lock(mutex_);
    retired_ = true;
    parked = std::exchange(idle_, nullptr);
  }
  while (parked) {
    worker* const next = parked->next_idle;
    parked->dismiss();
    parked = next;
  }
}

void pool_core::abandon_context() {
  context_gone_.store(true, std::memory_order_release);
  close();
  abandon_queue();
  for (const auto& w : workers_) w->abandon_context();
  retire();
  closer_.abandon_context();
  busy_.reset();
  base_.reset();
  keeper_.abandon_context();
  inner_ = {};
}

}  // namespace weir::detail
