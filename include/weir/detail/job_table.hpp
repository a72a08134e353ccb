// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_JOB_TABLE_HPP
#define WEIR_DETAIL_JOB_TABLE_HPP

#include <weir/detail/job_store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::detail {

/// Jobs in memory: what `memory_queue` holds. Pure: time is handed in.
///
/// Each job is in one index, that of its state: ready ones by kind and in the order in which they
/// go, the others by when something happens to them. All indexes are of one type, so that a job
/// takes its node along from one to the next: only to enqueue needs memory, and nothing else can
/// fail half-way.
class job_table final : public job_store {
 public:
  /// \param capacity jobs in any state
  explicit job_table(std::size_t capacity) : capacity_(capacity) {}

  void recover(queue_time now) override;
  std::optional<duration> next_event(queue_time now) override;
  error_code enqueue(const enqueue_request& r, queue_time now, std::span<enqueued> answer) override;
  void lease(const lease_request& r, queue_time now, std::vector<weir::lease>& answer) override;
  error_code settle(const settle_request& r, queue_time now) override;
  bool cancel(job_id id, queue_time now) override;
  std::optional<job_status> find(job_id id, queue_time now) override;
  queue_stats stats() override;
  std::vector<job_status> dead_letters(const dead_letters_request& r) override;
  std::size_t bury(const bury_request& r, queue_time now) override;

 private:
  // What a job is sorted by, and its id.
  using place = std::array<std::int64_t, 3>;
  using job_index = std::set<place>;

  struct record {
    weir::job job;
    duration unique_for{};
    job_state state = job_state::ready;
    std::int64_t token = 0;
    time_point lease_until{};
    wall_time kept_until{};
    std::string result{};
    std::string reason{};
  };
  struct kind_entry {
    job_index ready{};
    std::size_t jobs = 0;  ///< in any state
  };
  struct key_holder {
    job_id id;
    wall_time until;  ///< `max()`: until the job has ended
  };

  static place place_of(const record& r) noexcept;
  job_index& index_of(const record& r);

  /// Puts a job where `change` says that it belongs.
  template <typename F>
  void move(record& r, F change) {
    auto node = index_of(r).extract(place_of(r));
    change();
    node.value() = place_of(r);
    index_of(r).insert(std::move(node));
  }

  void add(const new_job& n, queue_time now);
  void run_again(record& r, wall_time at, wall_time now);
  void end(record& r, job_state state, wall_time now);
  void bury(record& r, std::string reason);
  void erase(record& r);
  void forget(wall_time now);
  const key_holder* holder_of(const std::string& key, wall_time now) const;
  void hold_key(const record& r, wall_time now);
  void free_key(const record& r);
  record* leased_by(const lease_key& key);

  const std::size_t capacity_;
  job_id last_id_ = 0;
  std::unordered_map<job_id, record> jobs_;
  std::unordered_map<std::string, kind_entry> kinds_;  ///< of which there are jobs
  job_index scheduled_;
  job_index leased_;
  job_index done_;
  job_index cancelled_;
  job_index dead_;
  std::unordered_map<std::string, key_holder> keys_;
  std::set<std::pair<wall_time, std::string>> timed_keys_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_JOB_TABLE_HPP
