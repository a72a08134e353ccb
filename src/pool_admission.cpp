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

/// What is asked for, whichever door it comes by.
struct pool_core::submission {
  std::string_view user;
  std::string& lane;  ///< moved from when it is needed
  std::optional<duration> timeout;
  pool_room* reserved = nullptr;
  room_waiter* waiter = nullptr;  ///< waits where only room is lacking
  bool has_callable = true;

  bool waits = false;  ///< how it went: it does
};

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

bool pool_core::valid(const submission& s) const noexcept {
  return s.has_callable && !(s.user.empty() && limits_users()) &&
         !(s.timeout && *s.timeout < duration::zero()) &&
         !(s.reserved && s.reserved->core_.get() != this);
}

void pool_core::reject(error_code ec, std::size_t hash, std::string_view user) noexcept {
  rejections& r = rejections_[hash % rejections_.size()];
  std::atomic<std::uint64_t>& count = ec == errc::pool_closed            ? r.closed
                                      : ec == errc::tenant_limit_reached ? r.tenant_limit
                                      : ec == errc::user_limit_reached   ? r.user_limit
                                      : ec == errc::user_queue_full      ? r.user_queue
                                      : ec == errc::lane_limit_reached   ? r.lane_limit
                                      : ec == errc::queue_full           ? r.queue_full
                                      : ec == errc::invalid_argument     ? r.invalid
                                                                         : r.cancelled;
  count.fetch_add(1, std::memory_order_relaxed);
  if (options_.observer) options_.observer->on_rejected(user, ec);
}

std::string_view pool_core::tenant_of(std::string_view user) const noexcept {
  return options_.tenant_of ? options_.tenant_of(user) : user.substr(0, user.find('/'));
}

template <typename Enqueue>
error_code pool_core::admit(const submission& s, std::size_t hash, Enqueue&& enqueue) {
  if (closed_.load(std::memory_order_acquire)) return errc::pool_closed;
  const bool may_wait = s.waiter || s.reserved;
  const auto probe = [&]() noexcept -> error_code {
    if (!may_wait && full_.load(std::memory_order_relaxed)) return errc::queue_full;
    return {};
  };
  const auto within = [&](user_slots::entry* tenant) -> error_code {
    const auto last = [&](user_slots::entry* slot) { return enqueue(slot, tenant); };
    if (options_.max_per_user > 0 || options_.max_queued_per_user > 0)
      return users_.acquire(s.user, hash, probe, last);
    if (const error_code ec = probe()) return ec;
    return last(nullptr);
  };
  if (options_.max_per_tenant == 0) return within(nullptr);
  // It is not the queue's turn yet: a user at its cap hears of that, whether there is room or not.
  const auto no_probe = []() noexcept { return error_code(); };
  const std::string_view tenant = tenant_of(s.user);
  return tenants_.acquire(tenant, user_slots::hash(tenant), no_probe, within);
}

template <typename Make>
error_code pool_core::hand_over(submission& s, Make&& make) {
  const std::size_t hash = user_slots::hash(s.user);
  const std::size_t lane_hash = s.lane.empty() ? 0 : lane_table::hash(s.lane);
  const int share = options_.max_queued_per_user;
  worker* wake = nullptr;
  const auto enqueue = [&](user_slots::entry* slot, user_slots::entry* tenant) -> error_code {
    const time_point now = steady_clock::now();
    const std::lock_guard lock(mutex_);
    if (closed_) return errc::pool_closed;
    const bool room = s.reserved || take_room();
    if (!room && !s.waiter) return errc::queue_full;
    taken places{*this, room && !s.reserved};
    if (share > 0 && slot->second.queued >= share) return errc::user_queue_full;
    if (!s.lane.empty() && !(places.lane = lanes_.enter(std::move(s.lane), lane_hash)))
      return errc::lane_limit_reached;
    task_record& record = make();
    places.keep(record);
    record.timeout = s.timeout.value_or(options_.task_timeout);
    record.slot = slot;
    record.tenant = tenant;
    if (share > 0) ++slot->second.queued;
    if (s.reserved) --reserved_;  // what was kept for it is taken by it
    if (room) {
      wake = push(record, now);
    } else {
      s.waits = true;
      record.where = task_record::place::waiting;
      s.waiter->claim.record = &record;
      push(s.waiter->claim);
    }
    return {};
  };
  const error_code ec = valid(s) ? admit(s, hash, enqueue) : errc::invalid_argument;
  if (ec)
    reject(ec, hash, s.user);
  else if (s.reserved)
    s.reserved->core_ = nullptr;
  if (!ec && !s.waits) accepted(wake);
  return ec;
}

error_code pool_core::submit(task& t, std::source_location where) {
  submission s{t.user, t.lane, t.timeout};
  return submit(s, t, where);
}

error_code pool_core::submit(pool_room& room, task& t, std::source_location where) {
  submission s{t.user, t.lane, t.timeout, &room};
  return submit(s, t, where);
}

error_code pool_core::submit(submission& s, task& t, std::source_location where) {
  s.has_callable = static_cast<bool>(t.fn);
  return hand_over(s, [&]() -> task_record& {
    fault_point();
    auto* const record = free_ ? std::exchange(free_, free_->next_free) : new submitted_task;
    record->id = std::move(t.id);
    record->user = std::move(t.user);
    record->fn = std::move(t.fn);
    record->spawned = where;
    record->priority = t.priority;
    return *record;
  });
}

error_code pool_core::submit(task_record& record, std::optional<duration> timeout,
                             std::string lane) {
  submission s{record.user, lane, timeout};
  return hand_over(s, [&]() -> task_record& { return record; });
}

error_code pool_core::submit(pool_room& room, task_record& record,
                             std::optional<duration> timeout) {
  std::string no_lane;
  submission s{record.user, no_lane, timeout, &room};
  return hand_over(s, [&]() -> task_record& { return record; });
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
  submission s{t.user, t.lane, t.timeout, nullptr, &waiter};
  error_code ec;
  try {
    ec = submit(s, t, where);
  } catch (const std::bad_alloc&) {
    ec = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
  }
  if (!s.waits) waiter.complete(ec);
}

bool pool_core::leave(room_waiter& waiter) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(waiter.claim.waits, false)) return false;
    waiting_.erase(waiter.claim);
    stand_back(*waiter.claim.record, waiter.claim.since);
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
