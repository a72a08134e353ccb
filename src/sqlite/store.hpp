// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_SQLITE_STORE_HPP
#define WEIR_SRC_SQLITE_STORE_HPP

#include "sqlite/database.hpp"

#include <weir/detail/job_store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::sqlite {

struct store_options {
  std::size_t capacity = 0;
  duration busy_timeout = {};
  bool check = true;
  std::string boot_id = {};
};

/// Jobs in an SQLite file.
///
/// Everything is found by way of an index that has the jobs of one state, so that the time of a
/// lease does not grow with those that wait; how many there are in each state is kept in a table,
/// which each transaction corrects once.
class store final : public detail::job_store {
 public:
  store(const std::string& path, const store_options& options);

  bool has_transactions() const noexcept override { return true; }
  void begin(bool writes) override;
  void commit() override;
  void rollback() noexcept override;
  bool changed_elsewhere() override;
  void tidy() noexcept override;

  void recover(detail::queue_time now) override;
  std::optional<duration> next_event(detail::queue_time now) override;
  error_code enqueue(const enqueue_request& r, detail::queue_time now,
                     std::span<enqueued> answer) override;
  void lease(const lease_request& r, detail::queue_time now,
             std::vector<weir::lease>& answer) override;
  error_code settle(const settle_request& r, detail::queue_time now) override;
  bool cancel(job_id id, detail::queue_time now) override;
  std::optional<job_status> find(job_id id, detail::queue_time now) override;
  queue_stats stats() override;
  std::vector<job_status> dead_letters(const dead_letters_request& r) override;
  std::size_t bury(const bury_request& r, detail::queue_time now) override;

 private:
  using state_counts = std::array<std::int64_t, 8>;  // by state

  /// A unique key as its job holds it.
  struct held_key {
    std::string key;
    duration held_for;
  };

  /// A ready job, as it is looked for.
  struct candidate {
    std::int64_t priority;
    std::int64_t at;
    job_id id;
    bool operator<(const candidate& other) const noexcept;
  };

  template <typename F>
  error_code with_effect(const transaction_effect& effect, F request);
  error_code add_all(const enqueue_request& r, detail::queue_time now, std::span<enqueued> answer);
  error_code report(const settle_request& r, detail::queue_time now);
  job_id add(const new_job& n, detail::queue_time now);
  std::optional<job_id> holder_of(std::string_view key, detail::queue_time now);
  void free_key(job_id id, const held_key& k);
  void make_dead(job_id id, job_state from, const held_key& k, std::string_view reason);
  void find_ready(const std::string& kind, std::size_t limit);
  void find_ready_of_any_kind(std::size_t limit);
  bool look_ahead(const lease_request& r, std::size_t wanted);
  void claim(job_id id, const lease_request& r, detail::queue_time now,
             std::vector<weir::lease>& answer);
  void count(job_state state, std::int64_t by) noexcept {
    if (state == job_state::ready) ahead_.clear();
    counted_[static_cast<std::size_t>(state)] += by;
  }
  void count_move(job_state from, job_state to) noexcept {
    count(from, -1);
    count(to, 1);
  }
  std::int64_t jobs_held();

  database db_;
  const std::size_t capacity_;
  state_counts counted_{};  ///< by this transaction
  std::int64_t data_version_ = 0;
  bool in_effect_ = false;
  int wal_pages_ = 0;
  int checkpoint_at_;

  // The ready jobs that come next, the first of them last, for leases of these kinds in this
  // transaction: a group of those looks for its jobs together. Forgotten when others become ready,
  // or any of them ceases to be.
  std::vector<candidate> ahead_;
  std::vector<std::string> ahead_kinds_;
  std::size_t ahead_size_ = 0;  ///< how many were looked for last

  statement begin_read_;
  statement begin_write_;
  statement commit_;
  statement count_;
  statement counts_;
  statement data_version_of_;
  statement probe_;
  statement promote_;
  statement lapsed_;
  statement put_back_;
  statement forget_done_;
  statement forget_cancelled_;
  statement forget_keys_;
  statement next_scheduled_;
  statement next_lapse_;
  statement insert_;
  statement key_holder_;
  statement hold_key_;
  statement free_key_;
  statement ready_of_kind_;
  statement next_kind_;
  statement ready_one_;
  statement claim_;
  statement held_;
  statement drop_plain_;
  statement keep_;
  statement run_again_;
  statement extend_;
  statement make_dead_;
  statement live_;
  statement drop_;
  statement cancel_;
  statement find_;
  statement dead_page_;
  statement dead_one_;
  statement requeue_;
};

}  // namespace weir::sqlite

#endif  // WEIR_SRC_SQLITE_STORE_HPP
