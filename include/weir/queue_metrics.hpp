// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_QUEUE_METRICS_HPP
#define WEIR_QUEUE_METRICS_HPP

#include <cstddef>
#include <cstdint>

namespace weir {

/// A snapshot of a queue. At rest, which is while no call is under way,
/// `offered = sent + rejected + waiting_senders` and `sent = received + dropped_newest +
/// dropped_oldest + merged + (spilled - read_back) + size + in_flight`.
struct queue_metrics {
  std::size_t size = 0;               ///< items inside
  std::size_t max_size = 0;           ///< the most there ever were
  std::size_t weight = 0;             ///< of those inside
  std::size_t in_flight = 0;          ///< granted to receives whose handlers have not run yet
  std::size_t in_sink = 0;            ///< spilled, and still to be read back
  std::size_t waiting_senders = 0;    ///< wait for room
  std::size_t waiting_receivers = 0;  ///< wait for an item
  bool closed = false;
  std::uint64_t offered = 0;   ///< sends
  std::uint64_t sent = 0;      ///< sends that succeeded
  std::uint64_t rejected = 0;  ///< sends that failed, cancelled ones included
  std::uint64_t received = 0;
  std::uint64_t dropped_newest = 0;
  std::uint64_t dropped_oldest = 0;
  std::uint64_t merged = 0;
  std::uint64_t spilled = 0;
  std::uint64_t read_back = 0;  ///< from the sink
};

}  // namespace weir

#endif  // WEIR_QUEUE_METRICS_HPP
