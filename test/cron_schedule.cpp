// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/cron_schedule.hpp>
#include <weir/error.hpp>
#include <weir/test/random.hpp>

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iomanip>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
using weir::cron_schedule;
using weir::wall_time;

BOOST_AUTO_TEST_SUITE(cron_schedule_suite)

namespace {

// The C library's calendar, not the one that is tested.
wall_time at(const char* text) {
  std::tm parts{};
  std::istringstream in(text);
  in >> std::get_time(&parts, "%Y-%m-%d %H:%M:%S");
  if (!in) throw std::invalid_argument(text);
  return wall_time(std::chrono::seconds(::timegm(&parts)));
}

std::tm parts_of(wall_time t) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count();
  const std::time_t count = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&count, &parts);
  return parts;
}

std::string text_of(std::optional<wall_time> t) {
  if (!t) return "never";
  const std::tm parts = parts_of(*t);
  std::ostringstream out;
  out << std::put_time(&parts, "%Y-%m-%d %H:%M:%S");
  return out.str();
}

std::string next_of(const char* expression, const char* after) {
  return text_of(cron_schedule::parse(expression).next(at(after)));
}

/// A field drawn at random, and the values that it stands for.
struct drawn_field {
  std::string text;
  std::set<int> values;

  bool is_star() const { return text.front() == '*'; }
};

drawn_field draw_field(weir::test::random& r, int least, int most,
                       const std::vector<std::string>& names = {}) {
  const auto word = [&](int v) {
    const auto i = static_cast<std::size_t>(v - least);
    return i < names.size() && r.chance(0.5) ? names[i] : std::to_string(v);
  };
  drawn_field f;
  const int parts = r.chance(0.7) ? 1 : r.between(2, 3);
  for (int i = 0; i < parts; ++i) {
    if (i > 0) f.text += ',';
    int first = least;
    int last = most;
    int step = 1;
    bool range = true;
    if (r.chance(0.4)) {
      f.text += '*';
    } else {
      first = r.between(least, most);
      last = first;
      f.text += word(first);
      range = r.chance(0.5);
      if (range) {
        last = r.between(first, most);
        f.text += '-' + word(last);
      }
    }
    if (range && r.chance(0.4)) {
      step = r.between(1, most - least + 1);
      f.text += '/' + std::to_string(step);
    }
    for (int v = first; v <= last; v += step) f.values.insert(v);
  }
  return f;
}

struct drawn_schedule {
  drawn_field minute, hour, day, month, weekday;

  std::string text() const {
    return minute.text + ' ' + hour.text + '\t' + day.text + "  " + month.text + ' ' + weekday.text;
  }

  bool has(wall_time t) const {
    const std::tm p = parts_of(t);
    const bool in_month = day.values.contains(p.tm_mday);
    const bool in_week =
        weekday.values.contains(p.tm_wday) || (p.tm_wday == 0 && weekday.values.contains(7));
    const bool either = !day.is_star() && !weekday.is_star();
    return minute.values.contains(p.tm_min) && hour.values.contains(p.tm_hour) &&
           month.values.contains(p.tm_mon + 1) &&
           (either ? in_month || in_week : in_month && in_week);
  }
};

drawn_schedule draw_schedule(weir::test::random& r) {
  drawn_schedule s;
  s.minute = draw_field(r, 0, 59);
  s.hour = draw_field(r, 0, 23);
  s.day = draw_field(r, 1, 31);
  s.month = draw_field(
      r, 1, 12,
      {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"});
  s.weekday = draw_field(r, 0, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"});
  return s;
}

}  // namespace

BOOST_AUTO_TEST_CASE(next_is_the_first_time_after) {
  struct row {
    const char* expression;
    const char* after;
    const char* next;
  };
  // The first of January 2026 is a Thursday.
  constexpr std::array rows{
      row{"* * * * *", "2026-01-01 00:00:00", "2026-01-01 00:01:00"},
      row{"* * * * *", "2026-01-01 00:00:59", "2026-01-01 00:01:00"},
      row{"* * * * *", "2026-12-31 23:59:30", "2027-01-01 00:00:00"},
      row{"*/5 8-18 * * mon-fri", "2026-01-01 07:59:00", "2026-01-01 08:00:00"},
      row{"*/5 8-18 * * mon-fri", "2026-01-01 08:00:00", "2026-01-01 08:05:00"},
      row{"*/5 8-18 * * mon-fri", "2026-01-02 18:55:00", "2026-01-05 08:00:00"},
      row{"0 0 29 2 *", "2026-01-01 00:00:00", "2028-02-29 00:00:00"},
      row{"0 0 29 2 *", "2096-02-29 00:00:00", "2104-02-29 00:00:00"},
      row{"59 23 31 12 *", "2026-12-31 23:59:00", "2027-12-31 23:59:00"},
      row{"0 0 31 * *", "2026-03-31 00:00:00", "2026-05-31 00:00:00"},
      row{"10-40/15 * * * *", "2026-01-01 00:25:00", "2026-01-01 00:40:00"},
      row{"10-40/15 * * * *", "2026-01-01 00:40:00", "2026-01-01 01:10:00"},
      row{"5,50 23 * * *", "2026-01-01 23:50:00", "2026-01-02 23:05:00"},
      row{"30 6 * * *", "2026-01-01 06:45:00", "2026-01-02 06:30:00"},
      row{"0 12 * * 0", "2026-01-01 00:00:00", "2026-01-04 12:00:00"},
      row{"0 12 * * 7", "2026-01-01 00:00:00", "2026-01-04 12:00:00"},
      row{"0 12 * * fri-sun", "2026-01-03 12:00:00", "2026-01-04 12:00:00"},
      row{"0 12 * * SAT", "2026-01-01 00:00:00", "2026-01-03 12:00:00"},
      row{"0 0 1 Feb,aug *", "2026-02-01 00:00:00", "2026-08-01 00:00:00"},
      row{"\t 0  0 * * *  ", "2026-01-01 00:00:00", "2026-01-02 00:00:00"},
      row{"@hourly", "2026-01-01 00:30:00", "2026-01-01 01:00:00"},
      row{"@daily", "2026-01-01 00:30:00", "2026-01-02 00:00:00"},
      row{"@Midnight", "2026-01-01 00:30:00", "2026-01-02 00:00:00"},
      row{"@weekly", "2026-01-01 00:30:00", "2026-01-04 00:00:00"},
      row{"@monthly", "2026-01-01 00:30:00", "2026-02-01 00:00:00"},
      row{"@yearly", "2026-01-01 00:30:00", "2027-01-01 00:00:00"},
      row{"@annually", "2026-01-01 00:30:00", "2027-01-01 00:00:00"},
      row{"* * * * *", "1969-12-31 23:58:30", "1969-12-31 23:59:00"},
  };
  for (const row& r : rows)
    BOOST_TEST(next_of(r.expression, r.after) == r.next, r.expression << " after " << r.after);
}

BOOST_AUTO_TEST_CASE(day_of_month_or_of_week_is_enough_if_both_are_given) {
  // Source: crontab(5).
  BOOST_TEST(next_of("30 4 1,15 * 5", "2026-01-01 04:30:00") == "2026-01-02 04:30:00");
  BOOST_TEST(next_of("30 4 1,15 * 5", "2026-01-09 04:30:00") == "2026-01-15 04:30:00");
  // With a star in front both have to hold, whatever follows it.
  BOOST_TEST(next_of("0 0 13 * *", "2026-01-01 00:00:00") == "2026-01-13 00:00:00");
  BOOST_TEST(next_of("0 0 */2 * mon", "2026-01-01 00:00:00") == "2026-01-05 00:00:00");
  BOOST_TEST(next_of("0 0 */2 * mon", "2026-01-05 00:00:00") == "2026-01-19 00:00:00");
}

BOOST_AUTO_TEST_CASE(date_that_never_comes_has_no_next) {
  BOOST_TEST(next_of("0 0 31 2 *", "2026-01-01 00:00:00") == "never");
  BOOST_TEST(next_of("0 0 30 2 *", "2026-01-01 00:00:00") == "never");
  BOOST_TEST(next_of("0 0 31 4,6,9,11 *", "2026-01-01 00:00:00") == "never");
  // But one that comes once in 28 years, or in 40 about the year 2100, does.
  BOOST_TEST(next_of("0 0 29 2 */7", "2088-03-01 00:00:00") == "2128-02-29 00:00:00");
  BOOST_TEST(!cron_schedule::parse("* * * * *").next(wall_time::max()).has_value());
  const auto last = cron_schedule::parse("* * * * *").next(wall_time::max() - 90s);
  BOOST_TEST((last && *last <= wall_time::max()));
  BOOST_TEST(cron_schedule::parse("* * * * *").next(wall_time::min()).has_value());
}

BOOST_AUTO_TEST_CASE(offset_moves_local_time_and_its_days) {
  const auto next = [](const char* text, std::chrono::minutes offset, const char* after) {
    return text_of(cron_schedule::parse(text, offset).next(at(after)));
  };
  BOOST_TEST(next("0 9 * * *", 2h, "2026-01-01 00:00:00") == "2026-01-01 07:00:00");
  BOOST_TEST(next("0 9 * * *", -330min, "2026-01-01 00:00:00") == "2026-01-01 14:30:00");
  // Friday begins in the east while it is Thursday in Greenwich.
  BOOST_TEST(next("0 0 * * fri", 5h, "2026-01-01 00:00:00") == "2026-01-01 19:00:00");
  BOOST_TEST(next("0 0 1 1 *", -8h, "2026-01-01 07:59:00") == "2026-01-01 08:00:00");
  for (const std::chrono::minutes offset : {24h, -24h})
    BOOST_CHECK_THROW(cron_schedule::parse("* * * * *", offset), boost::system::system_error);
  // At both ends of what can be said.
  BOOST_TEST(!cron_schedule::parse("* * * * *", 23h).next(wall_time::max()).has_value());
  BOOST_TEST(cron_schedule::parse("* * * * *", -23h).next(wall_time::min()).has_value());
}

BOOST_AUTO_TEST_CASE(expression_that_makes_no_sense_names_its_field) {
  struct row {
    const char* expression;
    std::string_view says;
  };
  constexpr std::array rows{
      row{"", "expression has 0 fields instead of 5"},
      row{"* * * *", "expression has 4 fields instead of 5"},
      row{"0 * * * * *", "expression has 6 fields instead of 5"},
      row{"@reboot", "expression '@reboot' is not known"},
      row{"@dailyish", "expression '@dailyish' is not known"},
      row{"@daily *", "expression has 2 fields instead of 5"},
      row{"60 * * * *", "minute '60' is not from 0 to 59"},
      row{"-1 * * * *", "minute '-1' is not a value of it"},
      row{"+1 * * * *", "minute '+1' is not a value of it"},
      row{"1.5 * * * *", "minute '1.5' is not a value of it"},
      row{"5- * * * *", "minute '5-' is not a value of it"},
      row{", * * * *", "minute '' is not a value of it"},
      row{"1, * * * *", "minute '' is not a value of it"},
      row{"*5 * * * *", "minute '*5' is not a value of it"},
      row{"*/0 * * * *", "minute '*/0' has a step"},
      row{"*/61 * * * *", "minute '*/61' has a step"},
      row{"*/ * * * *", "minute '*/' has a step"},
      row{"*/5/2 * * * *", "minute '*/5/2' has a step"},
      row{"5/10 * * * *", "minute '5/10' is a step without a range"},
      row{"99999999999999999999 * * * *", "minute '99999999999999999999' is not"},
      row{"* 24 * * *", "hour '24' is not from 0 to 23"},
      row{"* 18-8 * * *", "hour '18-8' is a range that ends before it begins"},
      row{"* * 0 * *", "day of month '0' is not from 1 to 31"},
      row{"* * L * *", "day of month 'L' is not a value of it"},
      row{"* * ? * *", "day of month '?' is not a value of it"},
      row{"* * * 13 *", "month '13' is not from 1 to 12"},
      row{"* * * january *", "month 'january' is not a value of it"},
      row{"* * * mon *", "month 'mon' is not a value of it"},
      row{"* * * * 8", "day of week '8' is not from 0 to 7"},
      row{"* * * * mun-fri", "day of week 'mun-fri' is not a value of it"},
      row{"* * * * fri-mon", "day of week 'fri-mon' is a range that ends before it begins"},
      row{"* * * * mon#2", "day of week 'mon#2' is not a value of it"},
  };
  for (const row& r : rows)
    BOOST_CHECK_EXCEPTION(
        cron_schedule::parse(r.expression), boost::system::system_error,
        [&](const boost::system::system_error& e) {
          BOOST_TEST(std::string_view(e.what()).starts_with("cron " + std::string(r.says)),
                     e.what());
          return e.code() == weir::errc::invalid_argument;
        });
}

BOOST_AUTO_TEST_CASE(equal_schedules_are_equal) {
  BOOST_TEST((cron_schedule::parse("@daily") == cron_schedule::parse("0 0 * * *")));
  BOOST_TEST((cron_schedule::parse("@daily") != cron_schedule::parse("0 0 * * *", 1h)));
  BOOST_TEST((cron_schedule::parse("@daily") != cron_schedule::parse("0 1 * * *")));
}

BOOST_AUTO_TEST_CASE(next_agrees_with_a_look_at_every_minute) {
  constexpr int most_minutes = 2'000;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    weir::test::random r(seed);
    const drawn_schedule drawn = draw_schedule(r);
    const std::chrono::minutes offset(r.chance(0.5) ? 0 : r.between(-1439, 1439));
    BOOST_TEST_INFO_SCOPE("seed " << seed << ": " << drawn.text() << ", offset " << offset.count());
    const cron_schedule schedule = cron_schedule::parse(drawn.text(), offset);
    const wall_time start = at("2024-01-01 00:00:00") +
                            std::chrono::minutes(r.between(0, 4 * 366 * 24 * 60)) +
                            std::chrono::seconds(r.between(0, 59));
    const std::optional<wall_time> next = schedule.next(start);
    if (next) {
      BOOST_TEST_REQUIRE((*next > start));
      BOOST_TEST_REQUIRE(drawn.has(*next + offset), text_of(next));
    }
    wall_time t = std::chrono::floor<std::chrono::minutes>(start) + 1min;
    for (int i = 0; i < most_minutes && (!next || t < *next); ++i, t += 1min)
      if (drawn.has(t + offset)) BOOST_FAIL(text_of(t) << " is before " << text_of(next));
  }
}

BOOST_AUTO_TEST_SUITE_END()
