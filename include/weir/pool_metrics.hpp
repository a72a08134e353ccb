// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_POOL_METRICS_HPP
#define WEIR_POOL_METRICS_HPP

#include <weir/histogram.hpp>

#include <cstddef>
#include <cstdint>

namespace weir {

/// Submissions that a pool turned down, by cause.
struct rejection_counts {
  std::uint64_t closed = 0;        ///< `pool_closed`
  std::uint64_t user_limit = 0;    ///< `user_limit_reached`
  std::uint64_t user_queue = 0;    ///< `user_queue_full`
  std::uint64_t tenant_limit = 0;  ///< `tenant_limit_reached`
  std::uint64_t lane_limit = 0;    ///< `lane_limit_reached`
  std::uint64_t queue_full = 0;    ///< `queue_full`
  std::uint64_t invalid = 0;       ///< `invalid_argument`
  std::uint64_t cancelled = 0;     ///< given up by the caller while it waited for room

  std::uint64_t total() const noexcept {
    return closed + user_limit + user_queue + tenant_limit + lane_limit + queue_full + invalid +
           cancelled;
  }
};

/// A snapshot of a pool's counters. The task counters are of one instant, so at any time
/// `submitted = queued + active + completed + failed + timed_out + cancelled`; with the
/// rejections, which are counted apart, `offered() = submitted + rejected.total()`. Slots are
/// counted apart too: that of a task which has run is back before its end is counted, that of one
/// which was dropped from the queue a moment after.
struct pool_metrics {
  int workers = 0;              ///< the limit on `active`, less `stand_ins`; see `resize`
  std::size_t queue_size = 0;   ///< the limit on `queued + reserved`
  std::size_t active = 0;       ///< tasks that run now, cancelled ones that have not ended included
  std::size_t queued = 0;       ///< tasks that wait for a worker, or for their lane
  std::size_t in_lane = 0;      ///< of those: behind another of their lane
  std::size_t queued_max = 0;   ///< the most that ever waited at once
  std::size_t reserved = 0;     ///< room that is held for tasks still to come
  std::size_t waiting = 0;      ///< `async_submit` and `async_reserve` callers that wait for room
  std::size_t stuck = 0;        ///< of those active: told to stop, and still there after the grace
  std::size_t stand_ins = 0;    ///< how many more than `workers` may run, for those that are stuck
  std::size_t hogging = 0;      ///< of those active: hold a thread for longer than `hog_after`
  std::size_t users = 0;        ///< users that hold a slot, where there is a limit on them
  std::size_t tenants = 0;      ///< likewise, tenants whose users do
  std::size_t lanes = 0;        ///< lanes that have a task
  std::uint64_t submitted = 0;  ///< tasks accepted
  std::uint64_t completed = 0;  ///< ended by returning
  std::uint64_t failed = 0;     ///< ended by an exception that nobody asked for
  std::uint64_t timed_out = 0;  ///< ended after the run deadline, however they ended
  std::uint64_t cancelled = 0;  ///< ended by a shutdown, by their caller, or shed
  std::uint64_t shed = 0;       ///< of those: waited for too long
  std::uint64_t shed_codel = 0;  ///< of those: by `pool_options::codel`
  bool overloaded = false;       ///< `pool_options::codel` lets the newest go first
  std::uint64_t hogged = 0;      ///< times that a task held a thread for longer than `hog_after`
  duration oldest_wait = {};     ///< of the tasks that wait for a worker, the longest wait so far
  histogram queue_wait;          ///< from acceptance to start, of tasks that started
  histogram run_time;            ///< from start to end, of tasks that started
  rejection_counts rejected;     ///< submissions that were turned down

  std::uint64_t offered() const noexcept { return submitted + rejected.total(); }
};

}  // namespace weir

#endif  // WEIR_POOL_METRICS_HPP
