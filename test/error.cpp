// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/error.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/error_condition.hpp>
#include <boost/system/generic_category.hpp>
#include <boost/system/system_category.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>

BOOST_AUTO_TEST_SUITE(error)

namespace {

using weir::errc;
using weir::error_code;

struct row {
  errc value;
  int http_status;
  std::optional<int> retry_after;  // seconds
};

constexpr row rows[] = {
    {errc::pool_closed, 503, 5},
    {errc::user_limit_reached, 429, 1},
    {errc::queue_full, 503, 1},
    {errc::queue_wait_expired, 503, 1},
    {errc::task_timed_out, 504, std::nullopt},
    {errc::shutdown_cancelled, 503, 5},
    {errc::group_limit, 503, 1},
    {errc::rate_limited, 429, 1},
    {errc::breaker_open, 503, 5},
    {errc::retry_exhausted, 502, std::nullopt},
    {errc::lease_lost, 409, std::nullopt},
    {errc::invalid_argument, 400, std::nullopt},
    {errc::semaphore_closed, 503, 5},
    {errc::rate_limiter_closed, 503, 5},
    {errc::queue_closed, 503, 5},
    {errc::group_closed, 503, 5},
    {errc::deadline_exceeded, 504, std::nullopt},
    {errc::lane_limit_reached, 429, 1},
    {errc::user_queue_full, 429, 1},
    {errc::tenant_limit_reached, 429, 1},
};

constexpr const char* unknown = "unknown weir error";

std::optional<int> seconds(const std::optional<std::chrono::seconds>& hint) {
  if (!hint) return std::nullopt;
  return static_cast<int>(hint->count());
}

}  // namespace

BOOST_AUTO_TEST_CASE(table_has_a_row_for_each_value_from_1_on) {
  for (std::size_t i = 0; i < std::size(rows); ++i)
    BOOST_TEST(static_cast<std::size_t>(rows[i].value) == i + 1);
  // A value that was added without a row here has a message, and so fails this.
  const int next = static_cast<int>(std::size(rows)) + 1;
  BOOST_TEST(weir::weir_category().message(next) == unknown);
}

BOOST_AUTO_TEST_CASE(each_value_has_a_message_of_its_own) {
  std::set<std::string> messages;
  for (const row& r : rows) {
    const std::string message = error_code(r.value).message();
    BOOST_TEST(!message.empty());
    BOOST_TEST(message != unknown);
    BOOST_TEST(messages.insert(message).second, "twice: " << message);
  }
}

BOOST_AUTO_TEST_CASE(message_without_allocation_says_the_same) {
  for (const row& r : rows) {
    char buffer[64];
    const error_code ec = r.value;
    BOOST_TEST(std::string(ec.message(buffer, sizeof buffer)) == ec.message());
  }
}

BOOST_AUTO_TEST_CASE(value_that_is_none_has_a_message_and_harms_nobody) {
  for (const int value : {-1, static_cast<int>(std::size(rows)) + 1, 100000}) {
    const error_code ec(value, weir::weir_category());
    BOOST_TEST(ec.message() == unknown);
    BOOST_TEST(weir::http_status(ec) == 500);
    BOOST_TEST(!weir::retry_after(ec));
  }
}

BOOST_AUTO_TEST_CASE(category_is_one_object_named_weir) {
  BOOST_TEST(std::string(weir::weir_category().name()) == "weir");
  BOOST_TEST(&weir::weir_category() == &weir::weir_category());
  for (const row& r : rows) {
    const error_code ec = r.value;
    BOOST_TEST(&ec.category() == &weir::weir_category());
    BOOST_TEST(ec.value() == static_cast<int>(r.value));
    BOOST_TEST(ec.failed());
  }
}

BOOST_AUTO_TEST_CASE(value_prints_as_its_code_does) {
  for (const row& r : rows) {
    std::ostringstream value;
    std::ostringstream code;
    value << r.value;
    code << error_code(r.value);
    BOOST_TEST(value.str() == code.str());
    BOOST_TEST(value.str() == "weir:" + std::to_string(static_cast<int>(r.value)));
  }
}

BOOST_AUTO_TEST_CASE(code_equals_its_own_value_only) {
  for (const row& a : rows) {
    const error_code ec = a.value;
    for (const row& b : rows) {
      BOOST_TEST((ec == b.value) == (a.value == b.value));
      BOOST_TEST((ec != error_code(b.value)) == (a.value != b.value));
    }
  }
}

BOOST_AUTO_TEST_CASE(code_differs_from_the_same_number_elsewhere) {
  for (const row& r : rows) {
    const error_code ec = r.value;
    BOOST_TEST((ec != error_code(ec.value(), boost::system::system_category())));
    BOOST_TEST((ec != error_code(ec.value(), boost::system::generic_category())));
  }
}

BOOST_AUTO_TEST_CASE(code_is_its_own_condition_and_no_generic_one) {
  for (const row& r : rows) {
    const error_code ec = r.value;
    BOOST_TEST((ec.default_error_condition() ==
                boost::system::error_condition(ec.value(), weir::weir_category())));
    BOOST_TEST((ec == ec.default_error_condition()));
  }
  // Nor where the name is the same: that code is not a weir error, and is answered otherwise.
  BOOST_TEST((error_code(errc::invalid_argument) != boost::system::errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(system_error_carries_the_code) {
  try {
    throw boost::system::system_error(errc::queue_full);
  } catch (const boost::system::system_error& e) {
    BOOST_TEST((e.code() == errc::queue_full));
    BOOST_TEST(std::string(e.what()).find("queue is full") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(http_status_follows_the_table) {
  for (const row& r : rows)
    BOOST_TEST(weir::http_status(r.value) == r.http_status, error_code(r.value).message());
}

BOOST_AUTO_TEST_CASE(retry_after_follows_the_table) {
  for (const row& r : rows)
    BOOST_TEST((seconds(weir::retry_after(r.value)) == r.retry_after),
               error_code(r.value).message());
}

BOOST_AUTO_TEST_CASE(retry_after_goes_with_429_and_503_only) {
  for (const row& r : rows) {
    const int status = weir::http_status(r.value);
    BOOST_TEST(weir::retry_after(r.value).has_value() == (status == 429 || status == 503));
  }
}

BOOST_AUTO_TEST_CASE(success_is_200_without_a_hint) {
  BOOST_TEST(weir::http_status({}) == 200);
  BOOST_TEST(weir::http_status(error_code(0, weir::weir_category())) == 200);
  BOOST_TEST(!weir::retry_after({}));
  BOOST_TEST(!weir::retry_after(error_code(0, weir::weir_category())));
}

BOOST_AUTO_TEST_CASE(caller_that_has_gone_is_499_without_a_hint) {
  const error_code aborted = boost::asio::error::operation_aborted;
  BOOST_TEST(weir::http_status(aborted) == 499);
  BOOST_TEST(!weir::retry_after(aborted));
}

BOOST_AUTO_TEST_CASE(foreign_error_is_500_without_a_hint) {
  const error_code foreign[] = {
      boost::asio::error::eof, boost::asio::error::connection_reset,
      boost::system::errc::make_error_code(boost::system::errc::not_enough_memory)};
  for (const error_code& ec : foreign) {
    BOOST_TEST(weir::http_status(ec) == 500);
    BOOST_TEST(!weir::retry_after(ec));
  }
  // The numbers of weir in another category mean nothing to weir.
  for (const row& r : rows) {
    const error_code ec(static_cast<int>(r.value), boost::system::generic_category());
    BOOST_TEST(weir::http_status(ec) == 500);
    BOOST_TEST(!weir::retry_after(ec));
  }
}

BOOST_AUTO_TEST_SUITE_END()
