// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_METRICS_HPP
#define WEIR_EXAMPLES_GATEWAY_METRICS_HPP

#include "accounts.hpp"

#include <weir/consumer.hpp>
#include <weir/prometheus.hpp>
#include <weir/task_queue.hpp>
#include <weir/worker_pool.hpp>

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gateway {

/// The connections of a gateway.
struct connection_counts {
  std::size_t open = 0;        ///< now
  std::uint64_t accepted = 0;  ///< served, or being served
  std::uint64_t refused = 0;   ///< turned away, because there were too many
};

/// What became of the requests to enqueue a job.
struct job_counts {
  std::uint64_t accepted = 0;
  std::uint64_t duplicates = 0;  ///< the job was there already, by its idempotency key
  std::uint64_t limited = 0;     ///< the user's rate was used up
  std::uint64_t refused = 0;     ///< the queue was full, or could not be reached
};

/// The figures of a gateway as Prometheus wants them: of its pool, of its jobs, of its answers, of
/// its connections. Users are not told apart here: their number has no bound that suits a time
/// series.
///
/// Lifetime: of what it is made from. Thread safety: as that of `accounts`.
class metrics {
 public:
  struct sources {
    const weir::worker_pool& pool;
    const weir::consumer& consumer;
    const job_counts& jobs;
    const accounts& books;
    const connection_counts& connections;
  };

  explicit metrics(const sources& from);

  /// All of them as text, in the exposition format 0.0.4, with what the queue says of itself;
  /// empty: it could not be asked.
  std::string to_text(const std::optional<weir::queue_stats>& queue) const;

 private:
  std::vector<prometheus::MetricFamily> own() const;

  sources from_;
  weir::prometheus_collector shown_;
  weir::prometheus_registration pool_;
  weir::prometheus_registration consumer_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_METRICS_HPP
