// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_CONSUMER_OPTIONS_HPP
#define WEIR_CONSUMER_OPTIONS_HPP

#include <weir/backoff.hpp>
#include <weir/clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace weir {

/// How a consumer feeds its pool.
struct consumer_options {
  /// For how long a job is leased; above zero. It is extended while the job is queued or runs, the
  /// first time after a third of this, so this is how long the job of a process that died waits
  /// for somebody else, and how long the queue may be away before jobs run twice.
  duration lease_for = std::chrono::seconds(30);

  /// Jobs that are leased and not reported on yet, at most; 0: twice as many as the pool has
  /// workers, so that some run while others are fetched or reported on. Not negative.
  int max_leased = 0;

  /// Run deadline of a job whose handler names none; empty: the pool's; zero: none. Not negative.
  std::optional<duration> timeout = {};

  /// How long a failed job waits for its next attempt: the n-th failure for the n-th delay. No
  /// delay is shorter than the floor, and those that failed together do not come back together.
  backoff_options retry = {.base = std::chrono::seconds(2),
                           .cap = std::chrono::minutes(10),
                           .floor = std::chrono::seconds(1)};

  /// How long a job waits whose user has as many tasks in the pool as it may: this, up to twice
  /// this. Above zero. A backlog far beyond the cap costs a lease and a release each time.
  duration snooze = std::chrono::seconds(1);

  /// How long to leave the queue alone after an error of its store.
  backoff_options queue_backoff = {.base = std::chrono::milliseconds(200),
                                   .cap = std::chrono::seconds(10),
                                   .floor = std::chrono::milliseconds(100)};

  /// Of what the delays are drawn from; 0: another for each consumer.
  std::uint64_t seed = 0;

  std::string name = {};  ///< what reports call it
};

}  // namespace weir

#endif  // WEIR_CONSUMER_OPTIONS_HPP
