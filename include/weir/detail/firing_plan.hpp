// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FIRING_PLAN_HPP
#define WEIR_DETAIL_FIRING_PLAN_HPP

#include <weir/clock.hpp>
#include <weir/wall_clock.hpp>

#include <functional>
#include <optional>

namespace weir::detail {

/// When something that is due at certain times of day is to be done, on a clock that may be set
/// ahead and back.
///
/// A pure policy: no Asio, and the time is handed in.
class firing_plan {
 public:
  /// The first time after a time; empty if there is none.
  using schedule = std::function<std::optional<wall_time>(wall_time after)>;

  /// Times before `now - catch_up` are past and gone.
  firing_plan(schedule next, duration catch_up, wall_time now);

  struct firing {
    wall_time at = {};

    /// A time of day that comes for a second time, because the clock has been set back: from where.
    std::optional<wall_time> set_back_from = {};
  };

  /// What is to be done now, if anything: of several times that are due, the last.
  ///
  /// A clock that is set ahead makes many times due at once, of which one is done. One that is set
  /// back by less than the span between two times does not make any of them come again; by
  /// more, and what is done each minute would rest for an hour: it goes on at once, and the times
  /// that come again say so.
  std::optional<firing> due(wall_time now);

  /// It is done, and all before it.
  void done(wall_time at) noexcept;

  /// When to ask again, if nothing is due.
  std::optional<wall_time> next(wall_time now);

 private:
  std::optional<wall_time> last_in(wall_time after, wall_time until) const;

  schedule next_;
  duration catch_up_;
  wall_time settled_;                       ///< all until then is done, or gone
  wall_time latest_ = wall_time::min();     ///< that was ever done
  std::optional<wall_time> set_back_from_;  ///< at the last time that it was

  // Nothing is due from the one to the other: a search for a rare date is not repeated at each
  // look.
  wall_time quiet_from_ = wall_time::max();
  std::optional<wall_time> quiet_until_;  ///< empty: for ever
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FIRING_PLAN_HPP
