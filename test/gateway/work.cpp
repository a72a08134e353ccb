// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// What the gateway does for its users.

#include "fixture.hpp"

#include "fetch_policy.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <utility>

namespace gateway::test {

BOOST_FIXTURE_TEST_SUITE(work, fixture)

// Source: the examples that NIST publishes with FIPS 180-4.
BOOST_AUTO_TEST_CASE(hash_matches_the_published_vectors) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::array<std::pair<std::string, std::string_view>, 4> vectors{{
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1\n"},
        {std::string(1'000'000, 'a'),
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0\n"},
    }};
    for (const auto& [text, digest] : vectors) {
      const response r = co_await ask(f, post("/work/hash", "ada", text));
      BOOST_TEST(r.result_int() == 200U);
      BOOST_TEST(r.body() == digest);
    }
  });
}

BOOST_AUTO_TEST_CASE(further_round_hashes_the_digest_and_the_text) {
  run([](fixture& f) -> asio::awaitable<void> {
    const response once = co_await ask(f, post("/work/hash", "ada", "abc"));
    std::string chained;
    for (std::size_t i = 0; i < 64; i += 2) {
      unsigned byte = 0;
      const char* const digits = once.body().data() + i;
      BOOST_REQUIRE(std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2);
      chained += static_cast<char>(byte);
    }
    const response by_hand = co_await ask(f, post("/work/hash", "ada", chained + "abc"));
    const response twice = co_await ask(f, post("/work/hash?rounds=2", "ada", "abc"));
    BOOST_TEST(twice.body() == by_hand.body());
    BOOST_TEST(twice.body() != once.body());
  });
}

BOOST_AUTO_TEST_CASE(fetch_brings_what_the_server_says) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string url = url_of(f.address(), "/healthz");
    const response in_body = co_await ask(f, post("/work/fetch", "ada", url));
    BOOST_TEST(in_body.result_int() == 200U);
    BOOST_TEST(in_body.body() == "alive\n");
    const response in_query = co_await ask(f, post("/work/fetch?url=" + url, "ada"));
    BOOST_TEST(in_query.body() == "alive\n");
    const std::string nothing = url_of(f.address(), "/nothing");
    const response missing = co_await ask(f, post("/work/fetch", "ada", nothing));
    BOOST_TEST(missing.result_int() == 200U);
    BOOST_TEST(missing["X-Upstream-Status"] == "404");
  });
}

BOOST_AUTO_TEST_CASE(fetch_refuses_hosts_that_are_not_allowed) {
  run([](fixture& f) -> asio::awaitable<void> {
    for (const std::string_view url :
         {"http://192.0.2.1/", "http://example.com/", "http://[2001:db8::1]/", "http://0.0.0.0/",
          "http://127.0.0.1.example.com/", "http://169.254.169.254/latest/"}) {
      const response r = co_await ask(f, post("/work/fetch", "ada", url));
      BOOST_TEST(r.result_int() == 403U, url);
    }
    BOOST_TEST(f.metrics().offered() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(fetch_from_nobody_is_502) {
  run([](fixture& f) -> asio::awaitable<void> {
    const tcp::socket nobody = nobody_on_loopback(f);
    const std::string url = url_of(nobody.local_endpoint(), "/");
    const response r = co_await ask(f, post("/work/fetch", "ada", url));
    BOOST_TEST(r.result_int() == 502U);
    BOOST_TEST(f.told("ada").other == 1U);
    BOOST_TEST(f.metrics().failed == 0U);
  });
}

BOOST_AUTO_TEST_CASE(fetch_of_garbage_is_502) {
  run([](fixture& f) -> asio::awaitable<void> {
    tcp::acceptor babbler = listen_on_loopback(f);
    client c(f);
    co_await c.connect();
    co_await c.send(post("/work/fetch", "ada", url_of(babbler.local_endpoint(), "/")));
    tcp::socket peer = co_await babbler.async_accept(asio::use_awaitable);
    co_await asio::async_write(peer, asio::buffer("blah\r\n\r\n", 8), asio::use_awaitable);
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 502U);
  });
}

BOOST_AUTO_TEST_CASE(fetch_of_too_much_is_502) {
  options.limits.body = 1000;
  run([](fixture& f) -> asio::awaitable<void> {
    tcp::acceptor generous = listen_on_loopback(f);
    client c(f);
    co_await c.connect();
    co_await c.send(post("/work/fetch", "ada", url_of(generous.local_endpoint(), "/")));
    tcp::socket peer = co_await generous.async_accept(asio::use_awaitable);
    const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n";
    co_await asio::async_write(peer, asio::buffer(text), asio::use_awaitable);
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 502U);
  });
}

BOOST_AUTO_TEST_CASE(fetch_from_a_silent_server_ends_at_the_deadline) {
  run([](fixture& f) -> asio::awaitable<void> {
    tcp::acceptor silent = listen_on_loopback(f);
    const response r = co_await ask(
        f,
        post("/work/fetch", "ada", url_of(silent.local_endpoint(), "/"), "X-Timeout-Ms: 30\r\n"));
    BOOST_TEST(r.result_int() == 504U);
    co_await f.until([&] { return f.metrics().timed_out == 1; });
    BOOST_TEST(f.metrics().users == 0U);
  });
}

BOOST_AUTO_TEST_CASE(fetch_is_cancelled_when_its_client_leaves) {
  run([](fixture& f) -> asio::awaitable<void> {
    tcp::acceptor silent = listen_on_loopback(f);
    client c(f);
    co_await c.connect();
    co_await c.send(post("/work/fetch", "ada", url_of(silent.local_endpoint(), "/")));
    tcp::socket peer = co_await silent.async_accept(asio::use_awaitable);
    c.close();
    co_await f.until([&] { return f.metrics().cancelled == 1; });
    BOOST_TEST(f.metrics().users == 0U);
  });
}

BOOST_AUTO_TEST_CASE(fetch_from_a_named_host_is_allowed_by_its_port) {
  options.allow = {"localhost:1"};
  run([](fixture& f) -> asio::awaitable<void> {
    const response r = co_await ask(f, post("/work/fetch", "ada", url_of(f.address(), "/healthz")));
    BOOST_TEST(r.result_int() == 403U);
  });
}

BOOST_AUTO_TEST_CASE(metrics_are_lines_of_the_exposition_format) {
  run([](fixture& f) -> asio::awaitable<void> {
    const response worked = co_await ask(f, post("/work/hash", "ada", "abc"));
    BOOST_TEST(worked.result_int() == 200U);
    const response r = co_await ask(f, text_of("GET", "/metrics", ""));
    BOOST_TEST(r.result_int() == 200U);
    BOOST_TEST(r[http::field::content_type].starts_with("text/plain; version=0.0.4"));

    std::map<std::string, double> values;
    std::istringstream lines(r.body());
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) continue;
      const std::size_t space = line.rfind(' ');
      BOOST_REQUIRE(space != std::string::npos);
      double value = 0;
      const char* const end = line.data() + line.size();
      BOOST_REQUIRE(std::from_chars(line.data() + space + 1, end, value).ptr == end);
      values[line.substr(0, space)] = value;
    }
    BOOST_TEST(values.at("weir_pool_submitted_total{pool=\"gateway\"}") == 1.0);
    BOOST_TEST(values.at("weir_pool_tasks_total{pool=\"gateway\",outcome=\"completed\"}") == 1.0);
    BOOST_TEST(values.at("gateway_answers_total{status=\"200\"}") == 1.0);
    BOOST_TEST(values.at("gateway_connections_accepted_total") == 2.0);
  });
}

BOOST_AUTO_TEST_CASE(accounts_name_each_user_and_leave_out_operations) {
  run([](fixture& f) -> asio::awaitable<void> {
    static_cast<void>(co_await ask(f, post("/work/hash", "ada", "abc")));
    static_cast<void>(co_await ask(f, text_of("GET", "/healthz", "")));
    const response r = co_await ask(f, text_of("GET", "/accounts", ""));
    BOOST_TEST(r[http::field::content_type] == "application/json");
    BOOST_TEST(
        r.body() ==
        R"({"users":{"ada":{"offered":1,"200":1,"429":0,"503":0,"504":0,"other":0,"gone":0}},)"
        R"("total":{"offered":1,"200":1,"429":0,"503":0,"504":0,"other":0,"gone":0}})"
        "\n");
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace gateway::test
