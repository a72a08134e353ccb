// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_BENCH_WEIR_SIDE_HPP
#define WEIR_BENCH_WEIR_SIDE_HPP

#include "by_hand.hpp"

#include <weir/error.hpp>
#include <weir/task.hpp>
#include <weir/worker_pool.hpp>

#include <string>

namespace bench {

/// weir's pool as a side of the scenarios.
class weir_side {
 public:
  explicit weir_side(const side_options& options, weir::discipline order = weir::discipline::fifo)
      : pool_(weir::pool_options{.workers = options.workers,
                                 .threads = options.threads,
                                 .queue_size = options.queue_size,
                                 .max_per_user = options.max_per_user,
                                 .task_timeout = options.task_timeout,
                                 .discipline = order}) {}

  weir::worker_pool& pool() { return pool_; }

  template <typename F>
  verdict submit(const std::string& user, F work) {
    const weir::error_code ec =
        pool_.submit(weir::task{.id = {},
                                .user = user,
                                .fn = [work](weir::task_context&) { return work(); },
                                .priority = 0,
                                .timeout = {}});
    if (!ec) return verdict::accepted;
    if (ec == weir::errc::queue_full) return verdict::full;
    if (ec == weir::errc::user_limit_reached) return verdict::user_limit;
    throw boost::system::system_error(ec);
  }

 private:
  weir::worker_pool pool_;
};

}  // namespace bench

#endif  // WEIR_BENCH_WEIR_SIDE_HPP
