// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_CONSUMER_METRICS_HPP
#define WEIR_CONSUMER_METRICS_HPP

#include <cstddef>
#include <cstdint>

namespace weir {

/// A snapshot of a consumer's counters, which are of one instant: at any time
/// `leased = in_flight + ended()`.
struct consumer_metrics {
  bool running = false;       ///< started, and neither paused nor stopping
  std::size_t reserved = 0;   ///< places in the pool's queue that it holds for jobs to come
  std::size_t in_flight = 0;  ///< jobs that are leased and not reported on yet
  std::size_t stuck = 0;      ///< of those: asked to stop, and still running after the pool's
                              ///< `answer_after`; their leases are not extended

  std::uint64_t leased = 0;  ///< jobs that were taken from the queue

  // What became of them, as the queue has confirmed it.
  std::uint64_t acked = 0;       ///< done
  std::uint64_t settled = 0;     ///< the handler has reported by itself
  std::uint64_t retried = 0;     ///< failed, and are to run again
  std::uint64_t dead = 0;        ///< failed for the last time, or discarded
  std::uint64_t snoozed = 0;     ///< put off, attempt unspent: a limit of its user, or `snooze_job`
  std::uint64_t returned = 0;    ///< given back, attempt unspent: it was stopped, or the pool was
  std::uint64_t lost = 0;        ///< the lease had gone to somebody else, or the job was cancelled
  std::uint64_t unreported = 0;  ///< the queue could not be told until the lease ran out

  std::uint64_t extended = 0;      ///< leases that were made longer
  std::uint64_t queue_errors = 0;  ///< requests that failed in the queue's store; each is repeated

  std::uint64_t ended() const noexcept {
    return acked + settled + retried + dead + snoozed + returned + lost + unreported;
  }
};

}  // namespace weir

#endif  // WEIR_CONSUMER_METRICS_HPP
