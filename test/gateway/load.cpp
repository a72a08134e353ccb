// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The load client's accounts, and how they are held against the gateway's: the demo believes them.

#include "accounts.hpp"
#include "compare.hpp"
#include "tally.hpp"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace gateway::test {

BOOST_AUTO_TEST_SUITE(load_client)

namespace {

using namespace std::chrono_literals;

/// A file with a text in it for as long as the object lives.
class text_file {
 public:
  explicit text_file(const std::string& text)
      : name_((std::filesystem::temp_directory_path() / "weir-XXXXXX").string()) {
    ::close(::mkstemp(name_.data()));
    std::ofstream(name_) << text;
  }
  text_file(const text_file&) = delete;
  text_file& operator=(const text_file&) = delete;
  ~text_file() { std::remove(name_.c_str()); }
  const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

load::account_map two_users() {
  return {{"ada", {.offered = 5, .ok = 2, .limited = 1, .unavailable = 1, .timed_out = 1}},
          {"bob", {.offered = 3, .ok = 1, .other = 1, .gone = 1}}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(quantile_is_the_least_latency_that_enough_do_not_exceed) {
  BOOST_TEST(load::quantile({}, 0.5) == 0.0F);
  BOOST_TEST(load::quantile({7}, 0.99) == 7.0F);
  BOOST_TEST(load::quantile({4, 1, 3, 2}, 0.5) == 2.0F);
  BOOST_TEST(load::quantile({4, 1, 3, 2}, 0.51) == 3.0F);
  BOOST_TEST(load::quantile({4, 1, 3, 2}, 1) == 4.0F);
  BOOST_TEST(load::quantile({4, 1, 3, 2}, 0) == 1.0F);
}

BOOST_AUTO_TEST_CASE(what_the_client_writes_down_reads_back_the_same) {
  load::tally t;
  for (const unsigned status : {200U, 200U, 429U, 503U, 504U}) t.answered("ada", status, 2ms);
  t.answered("bob", 200, 1ms);
  t.answered("bob", 418, 1ms);
  t.broken("bob");
  t.unsent("bob");
  t.refused();
  const text_file file(t.to_json());
  BOOST_TEST((load::read_accounts(file.name()) == two_users()));
  BOOST_TEST(t.total().offered == 8U);
  BOOST_TEST(t.total_unsent() == 1U);
}

BOOST_AUTO_TEST_CASE(what_the_gateway_writes_down_reads_back_the_same) {
  accounts server;
  for (const unsigned status : {200U, 200U, 429U, 503U, 504U}) server.answered("ada", status);
  server.answered("bob", 200);
  server.answered("bob", 418);
  server.answered("bob", 200);
  server.undelivered("bob", 200);
  const text_file file(server.to_json());
  BOOST_TEST((load::read_accounts(file.name()) == two_users()));
}

BOOST_AUTO_TEST_CASE(equal_accounts_agree) {
  std::ostringstream out;
  BOOST_TEST(load::compare(two_users(), two_users(), out));
  BOOST_TEST(out.str().find("agree on 8 requests of 2 users") != std::string::npos, out.str());
}

BOOST_AUTO_TEST_CASE(a_difference_of_one_in_any_column_is_named) {
  for (std::uint64_t account::*count :
       {&account::offered, &account::ok, &account::limited, &account::unavailable,
        &account::timed_out, &account::other, &account::gone}) {
    load::account_map theirs = two_users();
    ++(theirs["bob"].*count);
    std::ostringstream out;
    BOOST_TEST(!load::compare(theirs, two_users(), out));
    BOOST_TEST(out.str().find("they differ: user 'bob'") != std::string::npos, out.str());
    BOOST_TEST(out.str().find("agree on") == std::string::npos, out.str());
  }
}

BOOST_AUTO_TEST_CASE(a_user_whom_only_one_side_knows_is_a_difference) {
  load::account_map less = two_users();
  less.erase("ada");
  std::ostringstream out;
  BOOST_TEST(!load::compare(less, two_users(), out));
  BOOST_TEST(!load::compare(two_users(), less, out));
}

BOOST_AUTO_TEST_CASE(accounts_that_cannot_be_read_are_an_error) {
  BOOST_CHECK_THROW(load::read_accounts("/no/such/file"), std::exception);
  const text_file garbage("{\"users\": {\"ada\": ");
  BOOST_CHECK_THROW(load::read_accounts(garbage.name()), std::exception);
  const text_file lacking("{\"users\": {\"ada\": {\"offered\": 1}}}");
  BOOST_CHECK_THROW(load::read_accounts(lacking.name()), std::exception);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace gateway::test
