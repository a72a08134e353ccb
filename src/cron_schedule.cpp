// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/cron_schedule.hpp>
#include <weir/detail/require.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>
#include <string>
#include <vector>

namespace weir {

namespace {

constexpr std::string_view blanks = " \t";

struct cron_macro {
  std::string_view name;
  std::string_view fields;
};

constexpr std::array cron_macros{
    cron_macro{"@hourly", "0 * * * *"},   cron_macro{"@daily", "0 0 * * *"},
    cron_macro{"@midnight", "0 0 * * *"}, cron_macro{"@weekly", "0 0 * * 0"},
    cron_macro{"@monthly", "0 0 1 * *"},  cron_macro{"@yearly", "0 0 1 1 *"},
    cron_macro{"@annually", "0 0 1 1 *"},
};

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names{"sun", "mon", "tue", "wed",
                                                        "thu", "fri", "sat"};

char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;  // whatever the locale says
}

[[noreturn]] void reject_cron(std::string_view about, std::string_view what) {
  throw boost::system::system_error(errc::invalid_argument,
                                    "cron " + std::string(about) + ' ' + std::string(what));
}

/// Reads one of the five fields.
class field_reader {
 public:
  field_reader(std::string_view name, unsigned least, unsigned most,
               std::span<const std::string_view> names = {}) noexcept
      : name_(name), least_(least), most_(most), names_(names) {}

  std::uint64_t read(std::string_view text) const {
    std::uint64_t set = 0;
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      set |= read_part(text.substr(from, comma - from));
      from = comma + 1;
    }
    return set;
  }

 private:
  std::uint64_t read_part(std::string_view part) const {
    const std::size_t slash = std::min(part.find('/'), part.size());
    const std::string_view range = part.substr(0, slash);
    const std::size_t dash = std::min(range.find('-'), range.size());
    unsigned first = least_;
    unsigned last = most_;
    if (range != "*") {
      first = value(range.substr(0, dash), part);
      last = dash == range.size() ? first : value(range.substr(dash + 1), part);
      // Sunday may be the end of a week as well as its beginning.
      if (last < first && last == 0 && most_ == 7) last = 7;
      if (last < first) reject(part, "is a range that ends before it begins");
    }
    unsigned step = 1;
    if (slash < part.size()) {
      // Some take `5/10` for 5-59/10 and some for 5: nobody has to guess here.
      if (range != "*" && dash == range.size()) reject(part, "is a step without a range");
      if (!number(part.substr(slash + 1), step) || step < 1 || step > most_ - least_ + 1)
        reject(part, "has a step that is not a number in the range of the field");
    }
    std::uint64_t set = 0;
    for (unsigned v = first; v <= last; v += step) set |= std::uint64_t{1} << v;
    return set;
  }

  unsigned value(std::string_view text, std::string_view part) const {
    const auto equal = [text](std::string_view name) {
      return std::equal(name.begin(), name.end(), text.begin(), text.end(),
                        [](char n, char t) { return n == to_lower(t); });
    };
    const auto named = std::find_if(names_.begin(), names_.end(), equal);
    if (named != names_.end())
      // Names begin where the values do: at 0 for Sunday, at 1 for January.
      return least_ + static_cast<unsigned>(named - names_.begin());
    unsigned v = 0;
    if (!number(text, v)) reject(part, "is not a value of it");
    if (v < least_ || v > most_)
      reject(part, "is not from " + std::to_string(least_) + " to " + std::to_string(most_));
    return v;
  }

  static bool number(std::string_view text, unsigned& value) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && stop == end && !text.empty();
  }

  [[noreturn]] void reject(std::string_view part, std::string_view why) const {
    reject_cron(name_, "'" + std::string(part) + "' " + std::string(why));
  }

  std::string_view name_;
  unsigned least_;
  unsigned most_;
  std::span<const std::string_view> names_;
};

std::vector<std::string_view> split_fields(std::string_view text) {
  std::vector<std::string_view> fields;
  std::size_t from = 0;
  while ((from = text.find_first_not_of(blanks, from)) < text.size()) {
    const std::size_t to = std::min(text.find_first_of(blanks, from), text.size());
    fields.push_back(text.substr(from, to - from));
    from = to;
  }
  return fields;
}

bool holds(std::uint64_t set, unsigned value) noexcept { return (set >> value & 1U) != 0; }

/// The least value in `set` that is not below `from`; 64 if there is none.
int first_from(std::uint64_t set, long from) noexcept {
  return from > 63 ? 64 : std::countr_zero(set >> from << from);
}

}  // namespace

cron_schedule cron_schedule::parse(std::string_view text, std::chrono::minutes utc_offset) {
  detail::require(utc_offset > -std::chrono::days(1) && utc_offset < std::chrono::days(1),
                  "weir::cron_schedule");
  std::vector<std::string_view> fields = split_fields(text);
  if (fields.size() == 1 && fields[0].starts_with('@')) {
    const std::string_view name = fields[0];
    const auto found =
        std::find_if(cron_macros.begin(), cron_macros.end(), [name](const cron_macro& m) {
          return std::equal(m.name.begin(), m.name.end(), name.begin(), name.end(),
                            [](char n, char t) { return n == to_lower(t); });
        });
    if (found == cron_macros.end())
      reject_cron("expression", "'" + std::string(name) + "' is not known");
    fields = split_fields(found->fields);
  }
  if (fields.size() != 5)
    reject_cron("expression", "has " + std::to_string(fields.size()) + " fields instead of 5");

  cron_schedule s;
  s.minutes_ = field_reader("minute", 0, 59).read(fields[0]);
  s.hours_ = field_reader("hour", 0, 23).read(fields[1]);
  s.days_ = field_reader("day of month", 1, 31).read(fields[2]);
  s.months_ = field_reader("month", 1, 12, month_names).read(fields[3]);
  s.weekdays_ = field_reader("day of week", 0, 7, weekday_names).read(fields[4]);
  if (holds(s.weekdays_, 7)) s.weekdays_ |= 1;
  s.either_day_ = !fields[2].starts_with('*') && !fields[4].starts_with('*');
  s.utc_offset_ = utc_offset;
  return s;
}

bool cron_schedule::has_day(std::chrono::sys_days day) const noexcept {
  const bool in_month = holds(days_, static_cast<unsigned>(std::chrono::year_month_day(day).day()));
  const bool in_week = holds(weekdays_, std::chrono::weekday(day).c_encoding());
  return either_day_ ? in_month || in_week : in_month && in_week;
}

std::optional<wall_time> cron_schedule::next(wall_time after) const {
  using std::chrono::days;
  using std::chrono::floor;
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::sys_days;
  // In time points of the zone, as if it were UTC, and to the minute: wide enough not to overflow
  // where a `wall_time` would.
  using local_time = std::chrono::sys_time<minutes>;
  const local_time from = floor<minutes>(after) + utc_offset_ + minutes(1);
  const local_time latest = floor<minutes>(wall_time::max()) + utc_offset_;
  // The calendar repeats itself after 400 years: what has not come by then never will.
  const sys_days first_day = floor<days>(from);
  const sys_days last_day = std::min(first_day + days(146'097), floor<days>(latest));

  for (sys_days day = first_day; day <= last_day;) {
    const std::chrono::year_month_day date(day);
    if (!holds(months_, static_cast<unsigned>(date.month()))) {
      day = sys_days(date.year() / date.month() / std::chrono::last) + days(1);
      continue;
    }
    if (has_day(day)) {
      const minutes since_midnight = day == first_day ? from - day : minutes(0);
      const auto hour = since_midnight / hours(1);
      int h = first_from(hours_, hour);
      int m = first_from(minutes_, h == hour ? since_midnight / minutes(1) % 60 : 0);
      if (m == 64) {  // not in this hour any more, so early in the next
        h = first_from(hours_, h + 1);
        m = first_from(minutes_, 0);
      }
      const local_time found = day + hours(h) + minutes(m);
      if (h < 64)
        return found <= latest ? std::optional<wall_time>(found - utc_offset_) : std::nullopt;
    }
    day += days(1);
  }
  return std::nullopt;
}

}  // namespace weir
