// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The port of the administrators.

#include "fixture.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace gateway::test {

namespace {

/// All that the administrators' port says to a GET.
asio::awaitable<std::string> look(fixture& f, std::string path) {
  tcp::socket socket(f.io());
  co_await socket.async_connect(f.server().admin_endpoint().value(), asio::use_awaitable);
  const std::string text =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(text), asio::use_awaitable);
  std::string answer;
  boost::system::error_code ec;
  co_await asio::async_read(socket, asio::dynamic_buffer(answer),
                            asio::redirect_error(asio::use_awaitable, ec));
  co_return answer;
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
    const std::string health = co_await look(f, "/healthz");
    BOOST_TEST(health.starts_with("HTTP/1.1 200"));
    const std::string tasks = co_await look(f, "/tasks");
    BOOST_TEST((tasks.find("\"user\":\"ada\"") != std::string::npos));
    const std::string metrics = co_await look(f, "/metrics");
    BOOST_TEST((metrics.find("# TYPE") != std::string::npos));
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
