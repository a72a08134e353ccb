// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The port of the administrators.

#include "fixture.hpp"

#include <boost/asio/use_awaitable.hpp>

namespace gateway::test {

namespace {

/// What the administrators' port says to a GET.
asio::awaitable<response> look(fixture& f, const std::string& path) {
  return ask(client(f, f.server().admin_endpoint().value()),
             "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(administrators, fixture)

BOOST_AUTO_TEST_CASE(see_health_and_tasks_and_metrics_on_a_port_of_their_own) {
  options.admin = 0;
  run([](fixture& f) -> asio::awaitable<void> {
    BOOST_TEST(f.server().admin_endpoint().value().address().is_loopback());
    client busy(f);
    co_await busy.connect();
    co_await busy.send(post("/work/sleep?ms=60000", "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    const response health = co_await look(f, "/healthz");
    BOOST_TEST(health.result_int() == 200U);
    const response tasks = co_await look(f, "/tasks");
    BOOST_TEST((tasks.body().find("\"user\":\"ada\"") != std::string::npos));
    const response metrics = co_await look(f, "/metrics");
    BOOST_TEST((metrics.body().find("# TYPE") != std::string::npos));
    busy.close();
  });
}

BOOST_AUTO_TEST_CASE(have_no_port_unless_it_was_asked_for) {
  run([](fixture& f) -> asio::awaitable<void> {
    BOOST_TEST(!f.server().admin_endpoint().has_value());
    const response r = co_await ask(f, text_of("GET", "/tasks", ""));
    BOOST_TEST(r.result_int() == 404U);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace gateway::test
