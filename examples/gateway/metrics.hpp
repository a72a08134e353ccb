// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_METRICS_HPP
#define WEIR_EXAMPLES_GATEWAY_METRICS_HPP

#include "accounts.hpp"

#include <weir/worker_pool.hpp>

#include <prometheus/collectable.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gateway {

/// The connections of a gateway.
struct connection_counts {
  std::size_t open = 0;        ///< now
  std::uint64_t accepted = 0;  ///< served, or being served
  std::uint64_t refused = 0;   ///< turned away, because there were too many
};

/// The figures of a gateway as Prometheus wants them: of its pool, of its answers, of its
/// connections. Users are not told apart here: their number has no bound that suits a time series.
///
/// Lifetime: of what it is made from. Thread safety: as that of `accounts`.
class metrics : public prometheus::Collectable {
 public:
  metrics(const weir::worker_pool& pool, const accounts& books, const connection_counts& counts)
      : pool_(pool), books_(books), counts_(counts) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

  /// The same as text, in the exposition format 0.0.4.
  std::string to_text() const;

 private:
  const weir::worker_pool& pool_;
  const accounts& books_;
  const connection_counts& counts_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_METRICS_HPP
