// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_LEASE_HPP
#define WEIR_LEASE_HPP

#include <weir/clock.hpp>
#include <weir/job.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace weir {

/// What proves that a job is one's own to report on.
struct lease_key {
  job_id id = 0;

  /// The fencing token: greater than that of each lease of this job before. A store that remembers
  /// the greatest it has seen can refuse what a holder writes who has lost its lease.
  std::int64_t token = 0;

  bool operator==(const lease_key&) const = default;
};

/// A job that is one's own until a point in time.
///
/// A value and not a guard: one that is dropped runs out by itself, with its attempt spent. To give
/// back in a destructor, without spending it, would run a job for ever whose handler throws.
struct lease {
  lease_key key = {};
  weir::job job = {};
  time_point until = {};
};

/// What to lease, and for how long. Trivially destructible, as `job_request` is.
struct lease_options {
  int max = 1;                                    ///< jobs at once, at most
  duration wait = {};                             ///< for the first of them, at most
  duration lease_for = std::chrono::seconds(30);  ///< extend before it is over, or lose it
  std::span<const std::string_view> kinds = {};   ///< leave all others alone; empty: any kind
};

/// How to say that a job has failed.
struct nack_options {
  duration delay = {};           ///< until the next attempt
  std::string_view reason = {};  ///< kept with the job, for whoever looks
  bool dead = false;             ///< a dead letter at once, whatever attempts are left
};

static_assert(std::is_trivially_destructible_v<lease_options>);
static_assert(std::is_trivially_destructible_v<nack_options>);

}  // namespace weir

#endif  // WEIR_LEASE_HPP
