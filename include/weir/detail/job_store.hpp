// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_JOB_STORE_HPP
#define WEIR_DETAIL_JOB_STORE_HPP

#include <weir/clock.hpp>
#include <weir/error.hpp>
#include <weir/queue_backend.hpp>
#include <weir/wall_clock.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace weir::detail {

/// Both clocks at one moment. What is kept beyond the process goes by the time of day; leases go by
/// the clock that nobody can set.
struct queue_time {
  wall_time wall;
  time_point steady;

  static queue_time now() noexcept { return {wall_clock::now(), steady_clock::now()}; }
};

/// Why a job is dead that killed whoever ran it each time.
inline constexpr const char* lease_ran_out = "the lease of the last attempt ran out";

/// What a queue does to its jobs, without any waiting: the part in which memory and a file differ.
/// `queue_engine` makes a queue of it.
///
/// An error that a function returns is an answer, and nothing has been changed. When the store
/// itself fails it throws; it is then rolled back, or, if it has no transactions, has changed
/// nothing.
///
/// Thread safety: one call at a time.
class job_store {
 public:
  job_store() = default;
  job_store(const job_store&) = delete;
  job_store& operator=(const job_store&) = delete;
  virtual ~job_store() = default;

  virtual bool has_transactions() const noexcept { return false; }

  // Around each group of calls.
  virtual void begin([[maybe_unused]] bool writes) {}
  virtual void commit() {}
  virtual void rollback() noexcept {}

  /// Whether another process has changed something since this was last asked.
  virtual bool changed_elsewhere() { return false; }

  /// Called when those who wait have been told: the time for what need not be done at once.
  virtual void tidy() noexcept {}

  /// Before a lease: what has come due is made ready, what nobody will ask for any more is
  /// forgotten, and the jobs of leases that have run out are made ready, or dead letters.
  virtual void recover(queue_time now) = 0;

  /// When the next job becomes ready by itself, from `now`; empty if none does.
  virtual std::optional<duration> next_event(queue_time now) = 0;

  virtual error_code enqueue(const enqueue_request& r, queue_time now,
                             std::span<enqueued> answer) = 0;
  virtual void lease(const lease_request& r, queue_time now, std::vector<weir::lease>& answer) = 0;
  virtual error_code settle(const settle_request& r, queue_time now) = 0;
  virtual bool cancel(job_id id, queue_time now) = 0;
  virtual std::optional<job_status> find(job_id id, queue_time now) = 0;
  virtual queue_stats stats() = 0;
  virtual std::vector<job_status> dead_letters(const dead_letters_request& r) = 0;
  virtual std::size_t bury(const bury_request& r, queue_time now) = 0;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_JOB_STORE_HPP
