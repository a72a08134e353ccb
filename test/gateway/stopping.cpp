// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// How a gateway ends: nobody who has been heard goes without an answer.

#include "fixture.hpp"

#include <weir/shutdown_on_signal.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <string_view>
#include <vector>

namespace gateway::test {

static_assert(weir::work_source<server>);

BOOST_FIXTURE_TEST_SUITE(stopping, fixture)

BOOST_AUTO_TEST_CASE(stop_finishes_what_is_in_flight) {
  run([](fixture& f) -> asio::awaitable<void> {
    // Work that lasts until the gateway has begun to stop, however long that takes.
    tcp::acceptor upstream = listen_on_loopback(f);
    client c(f);
    co_await c.connect();
    co_await c.send(post("/work/fetch", "ada", url_of(upstream.local_endpoint(), "/")));
    tcp::socket peer = co_await upstream.async_accept(asio::use_awaitable);
    co_await f.stop_accepting();
    constexpr std::string_view reply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    co_await asio::async_write(peer, asio::buffer(reply), asio::use_awaitable);
    co_await f.shut_down();
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 200U);
    BOOST_TEST(!r.keep_alive());
    BOOST_TEST(co_await c.sees_close());
    BOOST_TEST(f.told("ada").ok == 1U);
  });
}

BOOST_AUTO_TEST_CASE(request_on_an_open_connection_gets_503_when_the_pool_has_closed) {
  run([](fixture& f) -> asio::awaitable<void> {
    client busy(f);
    co_await busy.connect();
    co_await busy.send(post("/work/sleep?ms=60000", "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    client open(f);
    client curious(f);
    client operations(f);
    for (client* c : {&open, &curious, &operations}) co_await c->connect();
    co_await f.until([&] { return f.server().connections().open == 4; });

    co_await f.stop_accepting();
    co_await open.send(post("/work/sleep?ms=0", "ben"));
    const response r = co_await open.receive();
    BOOST_TEST(r.result_int() == 503U);
    BOOST_TEST(!r.keep_alive());
    co_await curious.send(text_of("GET", "/readyz", ""));
    const response ready = co_await curious.receive();
    BOOST_TEST(ready.result_int() == 503U);
    co_await operations.send(text_of("GET", "/healthz", ""));
    const response alive = co_await operations.receive();
    BOOST_TEST(alive.result_int() == 200U);
    BOOST_TEST(f.told("ben").unavailable == 1U);
    busy.close();
  });
}

BOOST_AUTO_TEST_CASE(readyz_says_yes_until_then) {
  run([](fixture& f) -> asio::awaitable<void> {
    const response ready = co_await ask(f, text_of("GET", "/readyz", ""));
    BOOST_TEST(ready.result_int() == 200U);
  });
}

BOOST_AUTO_TEST_CASE(idle_connections_are_closed_in_order) {
  run([](fixture& f) -> asio::awaitable<void> {
    client unused(f);
    co_await unused.connect();
    client used(f);
    co_await used.connect();
    co_await used.send(text_of("GET", "/healthz", ""));
    static_cast<void>(co_await used.receive());
    co_await f.until([&] { return f.server().connections().open == 2; });
    co_await f.shut_down();
    BOOST_TEST(co_await unused.sees_close());
    BOOST_TEST(co_await used.sees_close());
  });
}

BOOST_AUTO_TEST_CASE(new_connections_are_refused) {
  run([](fixture& f) -> asio::awaitable<void> {
    co_await f.stop_accepting();
    client late(f);
    boost::system::error_code ec;
    co_await late.socket().async_connect(f.address(),
                                         asio::redirect_error(asio::use_awaitable, ec));
    BOOST_TEST(ec == asio::error::connection_refused);
  });
}

BOOST_AUTO_TEST_CASE(connections_that_were_not_accepted_yet_are_not_reset) {
  run([](fixture& f) -> asio::awaitable<void> {
    // The calls block this thread, and with it the accepting: all of them are in the backlog when
    // the gateway is stopped.
    std::vector<client> waiting;
    boost::system::error_code ec;
    for (int i = 0; i < 20; ++i) {
      client& c = waiting.emplace_back(f);
      c.socket().connect(f.address(), ec);
      BOOST_REQUIRE(!ec);
      const std::string text = post("/work/sleep?ms=0", "ada");
      asio::write(c.socket(), asio::buffer(text));
    }
    co_await f.shut_down();
    for (client& c : waiting) {
      const response r = co_await c.receive();
      BOOST_TEST((r.result_int() == 200U || r.result_int() == 429U || r.result_int() == 503U));
      BOOST_TEST(co_await c.sees_close());
    }
    BOOST_TEST(f.told("ada").offered == waiting.size());
  });
}

BOOST_AUTO_TEST_CASE(client_that_never_ends_its_request_does_not_hold_up_the_end) {
  options.limits.linger_time = 50ms;
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send("POST /work/hash HTTP/1.1\r\nHost: g\r\nX-User: ada\r\n");
    co_await f.until([&] { return f.server().connections().open == 1; });
    co_await f.shut_down();
    co_await f.until([&] { return f.server().connections().open == 0; });
  });
}

BOOST_AUTO_TEST_CASE(task_that_outlives_the_deadline_is_cut_short_and_its_client_told) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(post("/work/sleep?ms=60000", "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    co_await f.shut_down(0s);
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 503U);
    BOOST_TEST(f.told("ada").unavailable == 1U);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace gateway::test
