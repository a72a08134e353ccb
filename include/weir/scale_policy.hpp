// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SCALE_POLICY_HPP
#define WEIR_SCALE_POLICY_HPP

#include <weir/clock.hpp>
#include <weir/usable_cpus.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

/// How a number of workers follows the load. Out-of-range values are clamped as each line says.
struct scale_options {
  int min = 1;                   ///< below 1 becomes 1
  int max = usable_cpus() * 16;  ///< never more, whatever the load; below `min` becomes `min`

  /// A task should wait no longer than this for a worker; below zero becomes zero.
  duration target = std::chrono::milliseconds(20);

  duration grow_after = std::chrono::seconds(1);     ///< from a change to a growth, at least
  duration shrink_after = std::chrono::seconds(30);  ///< from a change to a shrinking, at least

  /// The most of the present number that is added at once, but one at least; from 0 to 16.
  double growth = 0.5;
  /// The most that is taken away at once, but one at least; from 0 to 1.
  double shrinkage = 0.25;

  /// It shrinks where no more than this part of the workers was busy at any time since
  /// `shrink_after`, and to a number of which this part would have been; from 0.1 to 1.
  double utilisation = 0.7;
};

/// What was measured.
struct scale_load {
  int workers = 0;         ///< there are now
  std::size_t active = 0;  ///< tasks that run
  std::size_t queued = 0;  ///< tasks that wait
  duration wait = {};      ///< the longest that waits, or recently waited, has waited so long
};

/// Why a number of workers is changed.
enum class scale_reason : std::uint8_t {
  queue_wait,   ///< tasks wait longer than the target
  utilisation,  ///< few of the workers are busy
  bounds,       ///< the number was outside `min` and `max`
};

std::string_view to_string(scale_reason r) noexcept;

struct scale_change {
  int from = 0;
  int to = 0;
  scale_reason why = scale_reason::queue_wait;

  bool operator==(const scale_change&) const = default;
};

/// Decides how many workers there should be: grows fast and shrinks slowly, by how long tasks wait
/// and not by how many do. A thousand that wait for a millisecond need nothing; ten that wait for a
/// second do.
///
/// - Longer waits than the target add workers: so many per cent as the wait is above the target,
/// but
///   no more than `growth`, and not more workers than there are tasks.
/// - A whole `shrink_after` without that, in which never more than `utilisation` of the workers
///   were busy, takes some away: down to what the busiest moment needed, but at most `shrinkage`.
///   So a load that comes and goes within that time changes nothing.
///
/// A pure policy: no Asio, no lock, and the time is handed in.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
class scale_policy {
 public:
  explicit scale_policy(scale_options options = {});

  const scale_options& options() const noexcept { return options_; }

  /// What to do about the load of this instant, or nothing. Called at regular times, a few in
  /// each `grow_after`; the more often the less it misses. A change that is returned counts as
  /// made.
  std::optional<scale_change> on_load(time_point now, const scale_load& load);

 private:
  std::optional<scale_change> change(time_point now, int from, int to, scale_reason why);

  scale_options options_;
  std::optional<time_point> changed_;
  std::optional<time_point> calm_since_;  ///< none: the last load asked for more
  std::size_t peak_ = 0;                  ///< tasks at the busiest moment since then
};

}  // namespace weir

#endif  // WEIR_SCALE_POLICY_HPP
