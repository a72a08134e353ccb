// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// How tasks join what waits, and leave it: for a worker, or unrun.

#include <weir/detail/pool_core.hpp>

#include <boost/asio/execution.hpp>
#include <boost/asio/prefer.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace weir::detail {

namespace asio = boost::asio;

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

void pool_core::leave_share(task_record& record) noexcept {
  if (options_.max_queued_per_user > 0) --record.slot->second.queued;
}

void pool_core::stand_back(task_record& record, time_point now) noexcept {
  leave_lane(record, now);
  leave_share(record);
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

task_record* pool_core::next_task(time_point now) noexcept {
  if (!codel_.enabled()) return static_cast<task_record*>(queue_.pop());
  const bool newest = codel_.overloaded(now);  // `shed` has looked
  auto* const record = static_cast<task_record*>(newest ? queue_.pop_newest() : queue_.pop());
  if (record) codel_.on_served(now - record->queued_at(), now);
  return record;
}

time_point pool_core::shed(time_point now) noexcept {
  for (;;) {
    task_record* record = nullptr;
    room_claim* served = nullptr;
    worker* wake = nullptr;
    {
      const std::lock_guard lock(mutex_);
      time_point due = time_point::max();
      if (options_.max_queue_wait > duration::zero() && (record = oldest()))
        due = saturating_add(record->accepted_at, options_.max_queue_wait);
      if (codel_.enabled()) {
        // Of those that wait for a worker: who waits for its lane is not late by overload. When
        // such a one joins them nobody sets the timer, so it looks again in time for it.
        auto* const first = static_cast<task_record*>(queue_.oldest());
        if (first) codel_.look(first->queued_at(), now);
        const time_point slough = first                     ? codel_.due(first->queued_at())
                                  : lanes_.following() != 0 ? codel_.due(now)
                                                            : time_point::max();
        if (slough < due) record = first;
        if (slough <= now && slough < due) {
          codel_.on_shed(now);
          ++shed_codel_;
        }
        due = std::min(due, slough);
      }
      if (due > now) return due;
      ++shed_;
      unqueue(*record);
      served = left_unrun(*record, now);
      if (!queue_.empty()) wake = worker_to_wake();
    }
    drop(*record, errc::queue_wait_expired, served);
    if (wake) wake->wake(shared_from_this());
  }
}

room_claim* pool_core::left_unrun(task_record& record, time_point now) noexcept {
  book(record, task_outcome::cancelled);
  stand_back(record, now);
  telling_.fetch_add(1, std::memory_order_relaxed);
  return leave_room(now);
}

void pool_core::drop(task_record& record, error_code why, room_claim* served) noexcept {
  dispose(record, why);
  told();
  serve(served);
}

}  // namespace weir::detail
