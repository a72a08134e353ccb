// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The parts of the gateway that need no connection.

#include "accounts.hpp"
#include "fetch_policy.hpp"
#include "options.hpp"
#include "target.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace gateway::test {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(parts)

BOOST_AUTO_TEST_CASE(query_values_are_decoded) {
  BOOST_TEST(query_value("a=1&b=x%20y+z&c", "b").value() == "x y z");
  BOOST_TEST(query_value("a=1&b=2", "a").value() == "1");
  BOOST_TEST(query_value("a=1&c", "c").value().empty());
  BOOST_TEST(!query_value("a=1&bb=2", "b").has_value());
  BOOST_TEST(!query_value("", "a").has_value());
  BOOST_TEST(query_value("a=%4", "a").value() == "%4");
  BOOST_TEST(query_value("a=%+1", "a").value() == "%+1");
  BOOST_TEST(query_value("a==b", "a").value() == "=b");
}

BOOST_AUTO_TEST_CASE(urls_are_read_strictly) {
  const auto plain = parse_http_url("http://host.example:8080/a?b=c");
  BOOST_REQUIRE(plain.has_value());
  BOOST_TEST(plain->host == "host.example");
  BOOST_TEST(plain->port == 8080U);
  BOOST_TEST(plain->target == "/a?b=c");
  const auto six = parse_http_url("http://[::1]?x");
  BOOST_REQUIRE(six.has_value());
  BOOST_TEST(six->host == "::1");
  BOOST_TEST(six->port == 80U);
  BOOST_TEST(six->target == "/?x");
  BOOST_TEST(six->authority() == "[::1]:80");
  for (const char* bad :
       {"", "http://", "http:///", "https://a/", "HTTP//a", "http://user@a/", "http://a:/",
        "http://a:0/", "http://a:65536/", "http://a:80x/", "http://a b/", "http://a/ b",
        "http://a/\r\nX: y", "http://a/#f", "http://a\\b/", "http://[::1", "http://[::1]x/",
        "http://[a]b:1/", "http://%61/"})
    BOOST_TEST(!parse_http_url(bad).has_value(), bad);
}

BOOST_AUTO_TEST_CASE(policy_without_a_list_allows_the_loopback_alone) {
  const fetch_policy policy;
  const auto allows = [&](const char* url) { return policy.allows(parse_http_url(url).value()); };
  BOOST_TEST(allows("http://127.0.0.1:9/"));
  BOOST_TEST(allows("http://127.8.8.8/"));
  BOOST_TEST(allows("http://[::1]/"));
  BOOST_TEST(allows("http://[::ffff:127.0.0.1]/"));
  BOOST_TEST(allows("http://LocalHost/"));
  BOOST_TEST(!allows("http://10.0.0.1/"));
  BOOST_TEST(!allows("http://[::ffff:10.0.0.1]/"));
  BOOST_TEST(!allows("http://[::]/"));
  BOOST_TEST(!allows("http://localhost.example/"));
  BOOST_TEST(!policy.allows(boost::asio::ip::make_address("10.0.0.1")));
}

BOOST_AUTO_TEST_CASE(policy_with_a_list_allows_what_is_in_it) {
  const fetch_policy policy({"Api.example:80", "[2001:db8::1]:8080"});
  const auto allows = [&](const char* url) { return policy.allows(parse_http_url(url).value()); };
  BOOST_TEST(allows("http://api.example/"));
  BOOST_TEST(allows("http://API.example:80/x"));
  BOOST_TEST(allows("http://[2001:db8::1]:8080/"));
  BOOST_TEST(!allows("http://api.example:81/"));
  BOOST_TEST(!allows("http://127.0.0.1/"));
  BOOST_TEST(policy.allows(boost::asio::ip::make_address("192.0.2.1")));
  for (const char* bad : {"", "host", "host:", "host:80/", "http://host:80", "a b:80"})
    BOOST_CHECK_THROW(fetch_policy({bad}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(accounts_add_up) {
  accounts books;
  for (const unsigned status : {200U, 200U, 429U, 503U, 504U, 404U}) books.answered("ada", status);
  books.abandoned("ada");
  books.undelivered("ada", 200);
  const account& a = books.by_user().at("ada");
  BOOST_TEST(a.offered == 7U);
  BOOST_TEST(a.ok == 1U);
  BOOST_TEST(a.limited == 1U);
  BOOST_TEST(a.unavailable == 1U);
  BOOST_TEST(a.timed_out == 1U);
  BOOST_TEST(a.other == 1U);
  BOOST_TEST(a.gone == 2U);
  BOOST_TEST((books.total() == a));
}

BOOST_AUTO_TEST_CASE(users_beyond_the_bound_share_an_account) {
  accounts books(2);
  for (const char* user : {"a", "b", "c", "d", "a", "c"}) books.answered(user, 200);
  BOOST_TEST(books.by_user().size() == 3U);
  BOOST_TEST(books.by_user().at("a").ok == 2U);
  BOOST_TEST(books.by_user().at("*").ok == 3U);
  books.undelivered("d", 200);
  BOOST_TEST(books.by_user().at("*").gone == 1U);
}

BOOST_AUTO_TEST_CASE(flags_set_what_they_name) {
  options o;
  const std::array arguments{"--port",  "0",   "--workers=3", "--task-timeout", "250ms",
                             "--allow", "a:1", "--allow=b:2", "--body-limit",   "10"};
  BOOST_TEST(make_flags(o).parse(arguments));
  BOOST_TEST(o.port == 0U);
  BOOST_TEST(o.pool.workers == 3);
  BOOST_TEST((o.pool.task_timeout == 250ms));
  BOOST_TEST(o.allow == std::vector<std::string>({"a:1", "b:2"}), boost::test_tools::per_element());
  BOOST_TEST(o.limits.body == 10U);
}

BOOST_AUTO_TEST_CASE(flags_that_make_no_sense_are_named) {
  const std::array<std::vector<const char*>, 8> bad{{{"--what", "1"},
                                                     {"--port"},
                                                     {"--port", "65536"},
                                                     {"--port", "-1"},
                                                     {"--workers", "0"},
                                                     {"--workers", "3x"},
                                                     {"--grace", "5"},
                                                     {"--grace", "5h"}}};
  for (const auto& arguments : bad) {
    options o;
    BOOST_CHECK_EXCEPTION(make_flags(o).parse(arguments), common::flag_error,
                          [&](const common::flag_error& e) {
                            return std::string_view(e.what()).starts_with(arguments.front());
                          });
  }
  options o;
  const std::array help{"--help"};
  BOOST_TEST(!make_flags(o).parse(help));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace gateway::test
