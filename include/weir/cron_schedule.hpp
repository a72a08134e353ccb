// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_CRON_SCHEDULE_HPP
#define WEIR_CRON_SCHEDULE_HPP

#include <weir/wall_clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

/// Times of day by a cron expression, to the minute: `*/5 8-18 * * mon-fri`.
///
/// Five fields, in this order, by spaces or tabs apart:
///
/// | field        | values                                     |
/// |--------------|--------------------------------------------|
/// | minute       | 0-59                                       |
/// | hour         | 0-23                                       |
/// | day of month | 1-31                                       |
/// | month        | 1-12, or jan-dec                           |
/// | day of week  | 0-7, or sun-sat; 0 and 7 are both Sunday   |
///
/// A field is a list, by commas, of values, of ranges `a-b`, and of `*` for all there are; a range
/// or `*` may have a step, as in `10-40/15`. Capitals do not matter. If neither day of month nor
/// day of week begins with `*`, a day that is in either of them counts: `0 9 1 * mon` is nine
/// o'clock on the first of the month and on each Monday. Else a day has to be in both.
///
/// In place of the fields: `@hourly`, `@daily` or `@midnight`, `@weekly`, `@monthly`, `@yearly` or
/// `@annually`. `@reboot` is no time and `L`, `W`, `#`, `?` and seconds are not known.
///
/// The expression is read in UTC, or at a fixed distance from it. There are no time zones: where
/// clocks are put forward and back, a time of day comes twice or not at all, and no rule for that
/// suits every job; the zones themselves come with the standard library from g++ 14 on. What has to
/// follow a zone is scheduled in UTC at both times, and looks at its own clock when it runs.
///
/// A pure policy: no Asio, and the time is handed in.
///
/// Thread safety: distinct objects: safe. Shared object: safe while only const members are called.
///
/// Source: crontab(5) of Vixie cron, the rule for days included.
class cron_schedule {
 public:
  /// Reads an expression.
  ///
  /// \param utc_offset the local time less UTC, within a day either way: `2h` is east of Greenwich
  ///
  /// \throws system_error with `invalid_argument` that names the field and what is wrong with it.
  static cron_schedule parse(std::string_view text, std::chrono::minutes utc_offset = {});

  /// The first time after `after`; empty if there is none, as for `0 0 31 2 *`, or none that a
  /// `wall_time` can hold.
  std::optional<wall_time> next(wall_time after) const;

  bool operator==(const cron_schedule&) const = default;

 private:
  cron_schedule() noexcept = default;
  bool has_day(std::chrono::sys_days day) const noexcept;

  // Bit n of a field: n is in it.
  std::uint64_t minutes_ = 0;
  std::uint64_t hours_ = 0;
  std::uint64_t days_ = 0;
  std::uint64_t months_ = 0;
  std::uint64_t weekdays_ = 0;
  bool either_day_ = false;  ///< a day in one of `days_` and `weekdays_` is enough
  std::chrono::minutes utc_offset_{};
};

}  // namespace weir

#endif  // WEIR_CRON_SCHEDULE_HPP
