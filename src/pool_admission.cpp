// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/fault_point.hpp>
#include <weir/detail/pool_core.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace weir {

void pool_room::release() noexcept {
  if (const auto core = std::move(core_)) core->give_back_room();
}

namespace detail {

namespace asio = boost::asio;

asio::any_io_executor room_claim::caller() const {
  return submits ? submits->caller() : reserves->caller();
}

error_code pool_core::resolve(bool has_callable, std::string_view user,
                              std::optional<duration> given, duration& timeout) const noexcept {
  if (!has_callable || (user.empty() && options_.max_per_user > 0) ||
      (given && *given < duration::zero()))
    return errc::invalid_argument;
  timeout = given.value_or(options_.task_timeout);
  return {};
}

void pool_core::reject(error_code ec, std::size_t hash, std::string_view user) noexcept {
  rejections& r = rejections_[hash % rejections_.size()];
  std::atomic<std::uint64_t>& count = ec == errc::pool_closed          ? r.closed
                                      : ec == errc::user_limit_reached ? r.user_limit
                                      : ec == errc::lane_limit_reached ? r.lane_limit
                                      : ec == errc::queue_full         ? r.queue_full
                                      : ec == errc::invalid_argument   ? r.invalid
                                                                       : r.cancelled;
  count.fetch_add(1, std::memory_order_relaxed);
  if (options_.observer) options_.observer->on_rejected(user, ec);
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

/// What a submission has taken before it is accepted. Under the lock.
struct pool_core::taken {
  pool_core& core;
  bool room;
  lane_table::place* lane = nullptr;

  void keep(task_record& record) noexcept {
    room = false;
    record.lane = std::exchange(lane, nullptr);
    if (record.lane) record.lane->task = &record;
  }
  ~taken() {
    if (lane) core.lanes_.leave(*lane);
    if (room) core.leave_room({});  // nobody waits for it, or it would not have been there
  }
};

error_code pool_core::submit(task& t, std::source_location where) {
  error_code ec;
  submit(t, nullptr, nullptr, where, ec);
  return ec;
}

error_code pool_core::submit(pool_room& room, task& t, std::source_location where) {
  error_code ec;
  submit(t, &room, nullptr, where, ec);
  return ec;
}

bool pool_core::submit(task& t, pool_room* reserved, room_waiter* waiter,
                       std::source_location where, error_code& ec) {
  const std::size_t hash = user_slots::hash(t.user);
  const std::size_t lane_hash = t.lane.empty() ? 0 : lane_table::hash(t.lane);
  duration timeout{};
  const bool valid = static_cast<bool>(t.fn) && (!reserved || reserved->core_.get() == this);
  ec = resolve(valid, t.user, t.timeout, timeout);
  worker* wake = nullptr;
  bool waits = false;
  if (!ec)
    ec = admit(t.user, hash, waiter || reserved, [&](user_slots::entry* slot) -> error_code {
      const time_point now = steady_clock::now();
      const std::lock_guard lock(mutex_);
      if (closed_) return errc::pool_closed;
      const bool room = reserved || take_room();
      if (!room && !waiter) return errc::queue_full;
      taken places{*this, room && !reserved};
      if (!t.lane.empty() && !(places.lane = lanes_.enter(std::move(t.lane), lane_hash)))
        return errc::lane_limit_reached;
      fault_point();
      auto* const record = free_ ? std::exchange(free_, free_->next_free) : new submitted_task;
      places.keep(*record);
      record->id = std::move(t.id);
      record->user = std::move(t.user);
      record->fn = std::move(t.fn);
      record->spawned = where;
      record->priority = t.priority;
      record->timeout = timeout;
      record->slot = slot;
      if (room) {
        if (reserved) --reserved_;  // what was kept for it is taken by it
        wake = push(*record, now);
      } else {
        waits = true;
        record->where = task_record::place::waiting;
        waiter->claim.record = record;
        push(waiter->claim);
      }
      return {};
    });
  if (ec)
    reject(ec, hash, t.user);
  else if (reserved)
    reserved->core_ = nullptr;
  if (!ec && !waits) accepted(wake);
  return waits;
}

error_code pool_core::submit(task_record& record, std::optional<duration> timeout,
                             std::string lane) {
  return submit(record, nullptr, timeout, std::move(lane));
}

error_code pool_core::submit(pool_room& room, task_record& record,
                             std::optional<duration> timeout) {
  return submit(record, &room, timeout, {});
}

error_code pool_core::submit(task_record& record, pool_room* reserved,
                             std::optional<duration> timeout, std::string lane) {
  const std::size_t hash = user_slots::hash(record.user);
  const std::size_t lane_hash = lane.empty() ? 0 : lane_table::hash(lane);
  const bool valid = !reserved || reserved->core_.get() == this;
  error_code ec = resolve(valid, record.user, timeout, record.timeout);
  worker* wake = nullptr;
  if (!ec)
    ec = admit(record.user, hash, reserved != nullptr, [&](user_slots::entry* slot) -> error_code {
      const time_point now = steady_clock::now();
      const std::lock_guard lock(mutex_);
      if (closed_) return errc::pool_closed;
      if (!reserved && !take_room()) return errc::queue_full;
      taken places{*this, !reserved};
      if (!lane.empty() && !(places.lane = lanes_.enter(std::move(lane), lane_hash)))
        return errc::lane_limit_reached;
      places.keep(record);
      if (reserved) --reserved_;
      record.slot = slot;
      wake = push(record, now);
      return {};
    });
  if (ec)
    reject(ec, hash, record.user);
  else if (reserved)
    reserved->core_ = nullptr;
  if (!ec) accepted(wake);
  return ec;
}

void pool_core::accepted(worker* wake) {
  if (sheds()) keeper_.watch_queue(*this);
  // Last, for the task may hold the last handle of the pool and let go of it before this returns.
  if (wake) wake->wake(shared_from_this());
}

bool pool_core::take_room() {
  // Those who wait come first: what becomes free goes to them, so here it is full.
  if (!waiting_.empty() || !gate_.try_send()) return false;
  if (queued() + reserved_ + 1 == static_cast<std::size_t>(options_.queue_size))
    full_.store(true, std::memory_order_relaxed);
  return true;
}

room_claim* pool_core::leave_room(time_point now) {
  if (room_claim* const next = waiting_.pop()) {
    // The place passes from hand to hand; the gate need not know.
    next->waits = false;
    if (next->record)
      enqueue(*std::exchange(next->record, nullptr), now);
    else
      ++reserved_;
    return next;
  }
  gate_.try_receive([](auto&&...) {});
  if (full_.load(std::memory_order_relaxed)) full_.store(false, std::memory_order_relaxed);
  return nullptr;
}

void pool_core::enqueue(task_record& record, time_point now) noexcept {
  record.where = task_record::place::queued;
  record.serial = ++submitted_;
  record.accepted_at = now;
  if (!record.lane || lanes_.accept(*record.lane)) join_queue(record, now);
  queued_max_ = std::max(queued_max_, queued());
  if (borrowed_ && !busy_)
    busy_.emplace(asio::prefer(inner_, asio::execution::outstanding_work.tracked));
}

void pool_core::leave_lane(task_record& record, time_point now) noexcept {
  if (!record.lane) return;
  // The next joins behind all others: so a lane has one turn where each of them has one, however
  // much it has in store.
  if (const lane_table::place* next = lanes_.leave(*std::exchange(record.lane, nullptr)))
    join_queue(*next->task, now);
}

void pool_core::join_queue(task_record& record, time_point now) noexcept {
  if (codel_.enabled() && queue_.empty()) codel_.on_first(now);
  queue_.push(record, now);
}

void pool_core::unqueue(task_record& record) noexcept {
  if (!record.lane || !record.lane->follows()) queue_.erase(record);
}

task_record* pool_core::oldest() noexcept {
  auto* const queued = static_cast<task_record*>(queue_.oldest());
  const lane_table::place* const laned = lanes_.oldest();
  if (!laned) return queued;
  // One that has joined the queue from its lane was accepted before, and so is not before `laned`;
  // and whoever stands behind it came later than it did.
  return queued && queued->serial < laned->task->serial ? queued : laned->task;
}

worker* pool_core::push(task_record& record, time_point now) noexcept {
  enqueue(record, now);
  return queue_.empty() ? nullptr : worker_to_wake();  // empty: it follows another of its lane
}

void pool_core::push(room_claim& claim) noexcept {
  claim.since = steady_clock::now();
  claim.waits = true;
  waiting_.push(claim);
}

void pool_core::serve(room_claim* claim) {
  if (!claim) return;
  if (claim->submits) {
    accepted(nullptr);
    claim->submits->complete({});
  } else {
    claim->reserves->complete({}, pool_room(shared_from_this()));
  }
}

void pool_core::recycle(task_record& record) noexcept {
  auto& free = static_cast<submitted_task&>(record);
  free.started_at = {};
  free.next_free = std::exchange(free_, &free);
}

void pool_core::give_up(task_record& record) {
  // In this order: one that is not queued any more is not going to be.
  if (withdraw(record)) return;
  worker* runner = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (record.where == task_record::place::running) runner = record.runner;
  }
  // The epoch was set under the lock, with `where`.
  if (runner) runner->cancel(record.epoch, cancel_cause::caller);
}

bool pool_core::withdraw(task_record& record) {
  room_claim* served = nullptr;
  worker* wake = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (record.where != task_record::place::queued) return false;
    unqueue(record);
    served = left_unrun(record, steady_clock::now());
    // Whoever was to be woken for what was queued here has been. But where the room was full of
    // those that follow in their lanes, workers rest, and one is needed for whoever gets this
    // one's.
    if (!queue_.empty()) wake = worker_to_wake();
  }
  drop(record, asio::error::operation_aborted, served);
  if (wake) wake->wake(shared_from_this());
  return true;
}

bool pool_core::goes_on(const task_record& record) const {
  const std::lock_guard lock(mutex_);
  if (record.where != task_record::place::running)
    return record.where == task_record::place::queued;
  const worker::standing s = record.runner->look();
  return s.epoch == record.epoch && s.now == worker::phase::running && s.due > steady_clock::now();
}

void pool_core::enter(room_waiter& waiter, task&& t, std::source_location where) {
  error_code ec;
  bool waits = false;
  try {
    waits = submit(t, nullptr, &waiter, where, ec);
  } catch (const std::bad_alloc&) {
    ec = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
  }
  if (!waits) waiter.complete(ec);
}

bool pool_core::leave(room_waiter& waiter) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(waiter.claim.waits, false)) return false;
    waiting_.erase(waiter.claim);
    leave_lane(*waiter.claim.record, waiter.claim.since);
  }
  turn_away(*waiter.claim.record, asio::error::operation_aborted);
  return true;
}

void pool_core::enter(reserve_waiter& waiter) {
  bool open = false;
  {
    const std::lock_guard lock(mutex_);
    open = !closed_;
    if (open && !take_room()) {
      push(waiter.claim);
      return;
    }
    if (open) ++reserved_;
  }
  if (!open)
    waiter.refuse(errc::pool_closed);
  else
    waiter.complete({}, pool_room(shared_from_this()));
}

bool pool_core::leave(reserve_waiter& waiter) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(waiter.claim.waits, false)) return false;
  waiting_.erase(waiter.claim);
  return true;
}

pool_room pool_core::try_reserve() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || !take_room()) return {};
    ++reserved_;
  }
  return pool_room(shared_from_this());
}

void pool_core::give_back_room() noexcept {
  room_claim* served = nullptr;
  worker* wake = nullptr;
  {
    const std::lock_guard lock(mutex_);
    --reserved_;
    served = leave_room(steady_clock::now());
    // The queue may have been empty, and the workers at rest.
    if (served && served->submits) wake = worker_to_wake();
  }
  serve(served);
  if (wake) wake->wake(shared_from_this());
}

void pool_core::turn_away(task_record& record, error_code why) {
  reject(why, user_slots::hash(record.user), record.user);
  dispose(record, why);
}

}  // namespace detail
}  // namespace weir
