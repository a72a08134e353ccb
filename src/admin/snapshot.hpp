// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_ADMIN_SNAPSHOT_HPP
#define WEIR_ADMIN_SNAPSHOT_HPP

#include <weir/histogram.hpp>
#include <weir/task_dump.hpp>
#include <weir/worker_pool.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

/// What a user gave, as something that JSON can carry and a page can show: valid UTF-8, of at most
/// `most` bytes. What is no UTF-8 becomes U+FFFD.
std::string shown(std::string_view text, std::size_t most);

/// What pools were at when last seen: a stream's own, so that each has the waits of its interval.
class admin_snapshots {
 public:
  admin_snapshots(const std::vector<const worker_pool*>& pools, std::size_t top_users);

  /// All pools now, as a line of JSON.
  std::string next();

 private:
  const std::vector<const worker_pool*>& pools_;
  std::size_t top_users_;
  std::vector<histogram> waits_;  // of each pool, as of the last call
};

/// All tasks of `pools`, at most `most` of each.
std::string tasks_as_json(const std::vector<const worker_pool*>& pools, std::size_t most);
std::string tasks_as_text(const std::vector<const worker_pool*>& pools, std::size_t most);

}  // namespace weir::detail

#endif  // WEIR_ADMIN_SNAPSHOT_HPP
