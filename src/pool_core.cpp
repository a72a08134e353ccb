// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/context_guard.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/detail/pool_core.hpp>

#include <algorithm>
#include <limits>
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
  options.max_queued_per_user = std::max(options.max_queued_per_user, 0);
  options.max_per_tenant = std::max(options.max_per_tenant, 0);
  options.max_per_lane = std::max(options.max_per_lane, 0);
  options.task_timeout = std::max(options.task_timeout, duration::zero());
  options.grace = std::max(options.grace, duration::zero());
  options.stuck_replacements = std::max(options.stuck_replacements, 0);
  options.answer_after = std::max(options.answer_after, duration::zero());
  options.max_queue_wait = std::max(options.max_queue_wait, duration::zero());
  if (options.hog_after > duration::zero())
    options.hog_after = std::max<duration>(options.hog_after, std::chrono::milliseconds(1));
  else
    options.hog_after = duration::zero();
  return options;
}

int slots_up_to(int slots) { return slots > 0 ? slots : std::numeric_limits<int>::max(); }

}  // namespace

pool_core::pool_core(asio::any_io_executor inner, asio::any_io_executor keeper,
                     pool_options options, bool borrowed)
    : options_(clamped(std::move(options))),
      inner_(std::move(inner)),
      base_(inner_),
      borrowed_(borrowed),
      users_(own_context_, slots_up_to(options_.max_per_user), errc::user_limit_reached),
      tenants_(own_context_, slots_up_to(options_.max_per_tenant), errc::tenant_limit_reached),
      gate_(inline_executor<>(own_context_), static_cast<std::size_t>(options_.queue_size)),
      queue_({.discipline = options_.discipline,
              .aging = options_.aging,
              .weights = options_.weights,
              .capacity = static_cast<std::size_t>(options_.queue_size)}),
      lanes_(static_cast<std::size_t>(options_.max_per_lane),
             static_cast<std::size_t>(options_.queue_size)),
      codel_(options_.codel),
      limit_(static_cast<std::size_t>(options_.workers)),
      keeper_(keeper),
      closer_(keeper) {
  // One is made here, so that a pool that has been made can always run what it accepts.
  const std::lock_guard lock(mutex_);
  idle_ = &add_worker();
}

pool_core::~pool_core() {
  while (free_) delete std::exchange(free_, free_->next_free);
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
    m.stand_ins = stand_ins();
    m.queued = queued();
    m.in_lane = lanes_.following();
    m.lanes = lanes_.size();
    m.queued_max = queued_max_;
    m.reserved = reserved_;
    m.waiting = waiting_.size();
    m.submitted = submitted_;
    m.completed = count(task_outcome::completed);
    m.failed = count(task_outcome::failed);
    m.timed_out = count(task_outcome::timed_out);
    m.cancelled = count(task_outcome::cancelled);
    m.shed = shed_;
    if (const auto* oldest = queue_.oldest())
      m.oldest_wait = steady_clock::now() - oldest->queued_at();
    m.shed_codel = shed_codel_;
    m.overloaded = codel_.enabled() && codel_.overloaded(steady_clock::now());
    m.queue_wait = queue_wait_;
    m.run_time = run_time_;
  }
  m.hogging = hogging_.load(std::memory_order_relaxed);
  m.hogged = hogged_.load(std::memory_order_relaxed);
  m.queue_size = static_cast<std::size_t>(options_.queue_size);
  m.users = users_.size();
  m.tenants = tenants_.size();
  m.stuck = static_cast<std::size_t>(std::max(stuck_.load(std::memory_order_relaxed), 0));
  for (const rejections& r : rejections_) {
    m.rejected.closed += r.closed.load(std::memory_order_relaxed);
    m.rejected.user_limit += r.user_limit.load(std::memory_order_relaxed);
    m.rejected.user_queue += r.user_queue.load(std::memory_order_relaxed);
    m.rejected.tenant_limit += r.tenant_limit.load(std::memory_order_relaxed);
    m.rejected.lane_limit += r.lane_limit.load(std::memory_order_relaxed);
    m.rejected.queue_full += r.queue_full.load(std::memory_order_relaxed);
    m.rejected.invalid += r.invalid.load(std::memory_order_relaxed);
    m.rejected.cancelled += r.cancelled.load(std::memory_order_relaxed);
  }
  return m;
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
  if (searching_ || active_ >= limit()) return nullptr;
  worker* found = idle_;
  if (found) {
    idle_ = found->next_idle;
  } else if (workers_.size() < limit()) {
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

std::size_t pool_core::workers() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

task_record* pool_core::take(worker& w, ended_task ended, bool& retire) noexcept {
  const time_point now = steady_clock::now();
  if (sheds()) shed(now);
  time_point due = time_point::max();
  task_record* record = nullptr;
  room_claim* served = nullptr;
  worker* wake = nullptr;
  bool last = false;
  bool rests = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended.record) {
      --active_;
      w.forget();
      run_time_.record(now - ended.record->started_at);
      book(*ended.record, ended.how);
      leave_lane(*ended.record, now);
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
    if (active_ < limit()) record = next_task(now);
    if (record) {
      served = leave_room(now);
      ++active_;
      record->where = task_record::place::running;
      record->started_at = now;
      if (record->lane) lanes_.start(*record->lane);
      leave_share(*record);
      queue_wait_.record(now - record->accepted_at);
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
  serve(served);
  if (wake) wake->wake(shared_from_this());
  if (record && options_.hog_after > duration::zero()) keeper_.watch_hogs(*this);
  if (due != time_point::max()) keeper_.watch(*this, *w.group, due);
  if (rests) keeper_.rest(*this);
  if (last) closer_.drained(shared_from_this());
  if (record && options_.observer) options_.observer->on_task_started(record->event(now));
  return record;
}

std::size_t pool_core::stand_ins() const noexcept {
  if (options_.stuck_replacements == 0) return 0;
  // One that ends as it becomes stuck may be counted out before it is counted in.
  return static_cast<std::size_t>(
      std::clamp(stuck_.load(std::memory_order_relaxed), 0, options_.stuck_replacements));
}

void pool_core::on_stuck(const kept_event& task) noexcept {
  stuck_.fetch_add(1, std::memory_order_relaxed);
  if (options_.stuck_replacements != 0) {
    worker* wake = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (!queue_.empty()) wake = worker_to_wake();
    }
    if (wake) wake->wake(shared_from_this());
  }
  if (!options_.observer) return;
  options_.observer->on_task_stuck(task.event());
}

void pool_core::on_hogs(std::size_t now) noexcept {
  hogging_.store(now, std::memory_order_relaxed);
}

void pool_core::on_hog(worker& w, std::uint64_t epoch, duration held) {
  hogged_.fetch_add(1, std::memory_order_relaxed);
  if (!options_.observer) return;
  std::optional<kept_event> hog;
  {
    // What has ended is forgotten, and its record used again, under this lock.
    const std::lock_guard lock(mutex_);
    if (!w.running() || w.look().epoch != epoch) return;
    hog.emplace(w.current().event(steady_clock::now()));
  }
  options_.observer->on_task_hogging(hog->event(), held);
}

ended_task pool_core::conclude(worker& w, task_record& record, std::exception_ptr error) noexcept {
  ended_task ended{&record, task_outcome::completed, {}, nullptr};
  const worker::phase last = w.end();
  if (last == worker::phase::timeout) {
    ended.how = task_outcome::timed_out;
    ended.why = errc::task_timed_out;
  } else if (error && last == worker::phase::running) {
    ended.how = task_outcome::failed;
    ended.error = std::move(error);
    if (options_.observer)
      options_.observer->on_task_failed(record.name(), record.user, ended.error);
  } else if (error) {
    ended.how = task_outcome::cancelled;
    ended.why =
        to_error(last == worker::phase::shutdown ? cancel_cause::shutdown : cancel_cause::caller);
  }
  if (options_.observer)
    options_.observer->on_task_ended(record.event(steady_clock::now()), ended.how, ended.why);
  record.drop();
  release_slots(record);
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
    leave_lane(record, steady_clock::now());
    if (!record.has_caller()) {
      recycle(record);
      return;
    }
  }
  record.finish(ended.why, nullptr);
}

void pool_core::book(task_record& record, task_outcome how) noexcept {
  record.where = task_record::place::ended;
  ++ended_[static_cast<std::size_t>(how)];
}

void pool_core::release_slots(task_record& record) noexcept {
  if (auto* slot = std::exchange(record.slot, nullptr)) users_.release(slot);
  if (auto* slot = std::exchange(record.tenant, nullptr)) tenants_.release(slot);
}

void pool_core::told() noexcept {
  // A shutdown waits for this: threads that stop with an answer still to be posted would lose it.
  if (telling_.fetch_sub(1, std::memory_order_acq_rel) == 1 && closed_ && !context_gone())
    closer_.drained(shared_from_this());
}

void pool_core::dispose(task_record& record, error_code why) noexcept {
  if (options_.observer && record.where == task_record::place::ended)
    options_.observer->on_task_ended(record.event(steady_clock::now()), task_outcome::cancelled,
                                     why);
  record.drop();
  release_slots(record);
  if (record.has_caller()) {
    record.finish(why, nullptr);
  } else {
    const std::lock_guard lock(mutex_);
    recycle(record);
  }
}

// --- the end -------------------------------------------------------------------------------------

void pool_core::close() {
  intrusive_queue<room_claim> turned_away;
  const time_point now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_.store(true, std::memory_order_release);
    completed_before_close_ = count(task_outcome::completed);
    while (room_claim* const claim = waiting_.pop()) {
      claim->waits = false;
      if (claim->record) stand_back(*claim->record, now);
      turned_away.push(*claim);
    }
  }
  while (room_claim* const claim = turned_away.pop()) {
    if (claim->record) turn_away(*claim->record, errc::pool_closed);
    if (claim->submits)
      claim->submits->refuse(errc::pool_closed);
    else
      claim->reserves->refuse(errc::pool_closed);
  }
}

void pool_core::abandon_queue() {
  std::vector<task_record*> dropped;
  const time_point now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    dropped.reserve(queued());
    for (;;) {
      auto* record = static_cast<task_record*>(queue_.pop());
      if (!record) record = oldest();  // those that follow one which runs are left
      if (!record) break;
      left_unrun(*record, now);  // the pool is closed: nobody waits for its room
      abandoned_.push_back(record->name());
      dropped.push_back(record);
    }
    if (!dropped.empty()) cut_short_ = true;
  }
  for (task_record* record : dropped) drop(*record, errc::shutdown_cancelled, nullptr);
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
  return queued() + active_ + telling_.load(std::memory_order_acquire);
}

shutdown_report pool_core::report() {
  shutdown_report r;
  const std::lock_guard lock(mutex_);
  r.completed = count(task_outcome::completed) - completed_before_close_;
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
