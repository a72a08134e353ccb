// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/cancel_cause.hpp>

#include <boost/asio/error.hpp>
#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(cancel_cause)

namespace {

struct row {
  weir::cancel_cause cause;
  std::string name;
  weir::error_code error;
};

const row rows[] = {
    {weir::cancel_cause::none, "none", {}},
    {weir::cancel_cause::timeout, "timeout", weir::errc::task_timed_out},
    {weir::cancel_cause::shutdown, "shutdown", weir::errc::shutdown_cancelled},
    {weir::cancel_cause::caller, "caller", boost::asio::error::operation_aborted},
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_cause_has_its_name) {
  for (const row& r : rows) BOOST_TEST(weir::to_string(r.cause) == r.name);
}

BOOST_AUTO_TEST_CASE(each_cause_has_its_error) {
  for (const row& r : rows) BOOST_TEST(weir::to_error(r.cause) == r.error, r.name);
}

BOOST_AUTO_TEST_CASE(only_none_is_no_failure) {
  for (const row& r : rows)
    BOOST_TEST(weir::to_error(r.cause).failed() == (r.cause != weir::cancel_cause::none), r.name);
}

BOOST_AUTO_TEST_CASE(value_that_is_none_harms_nobody) {
  const auto stray = static_cast<weir::cancel_cause>(200);
  BOOST_TEST(std::string(weir::to_string(stray)) == "unknown");
  BOOST_TEST(!weir::to_error(stray));
}

BOOST_AUTO_TEST_SUITE_END()
