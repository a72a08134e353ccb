// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Bad, large and slow input; connections and how they end.

#include "fixture.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <sys/resource.h>

#include <array>
#include <vector>

namespace gateway::test {

BOOST_FIXTURE_TEST_SUITE(requests, fixture)

BOOST_AUTO_TEST_CASE(garbage_gets_400_and_a_close) {
  run([](fixture& f) -> asio::awaitable<void> {
    constexpr std::array<std::string_view, 5> garbage{
        "hello\r\n\r\n",
        "GET /healthz HTTP/9.9\r\nHost: g\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
        "POST /work/hash HTTP/1.1\r\nHost: g\r\nContent-Length: minus\r\n\r\n",
        std::string_view("\x16\x03\x01\0\x05\r\n\r\n", 9),
    };
    for (const std::string_view text : garbage) {
      client c(f);
      co_await c.connect();
      co_await c.send(text);
      const response r = co_await c.receive();
      BOOST_TEST(r.result_int() == 400U);
      BOOST_TEST(!r.keep_alive());
      BOOST_TEST(co_await c.sees_close());
    }
    BOOST_TEST(f.told("").other == garbage.size());
    const response alive = co_await ask(f, text_of("GET", "/healthz", ""));
    BOOST_TEST(alive.result_int() == 200U);
  });
}

BOOST_AUTO_TEST_CASE(requests_that_make_no_sense_get_400_and_the_connection_goes_on) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::array<std::string, 13> senseless{
        post("/work/hash", "", "text"),
        post("/work/hash", "no spaces", "text"),
        post("/work/hash", std::string(65, 'u'), "text"),
        post("/work/hash?rounds=0", "ada", "text"),
        post("/work/hash?rounds=many", "ada", "text"),
        post("/work/hash?rounds=%zz", "ada", "text"),
        post("/work/sleep", "ada"),
        post("/work/sleep?ms=-1", "ada"),
        post("/work/sleep?ms=99999999999", "ada"),
        post("/work/sleep?ms=1", "ada", "", "X-Timeout-Ms: 0\r\n"),
        post("/work/sleep?ms=1", "ada", "", "X-Timeout-Ms: soon\r\n"),
        post("/work/fetch", "ada", "gopher://127.0.0.1/"),
        "POST /work/sleep?ms=1 HTTP/1.1\r\nX-User: ada\r\nContent-Length: 0\r\n\r\n",  // no Host
    };
    client c(f);
    co_await c.connect();
    for (const std::string& text : senseless) {
      co_await c.send(text);
      const response r = co_await c.receive();
      BOOST_TEST(r.result_int() == 400U);
      BOOST_TEST(r.keep_alive());
    }
    BOOST_TEST(f.metrics().offered() == 0U);
  });
}

BOOST_AUTO_TEST_CASE(unknown_path_gets_404) {
  run([](fixture& f) -> asio::awaitable<void> {
    const response a = co_await ask(f, text_of("GET", "/", ""));
    BOOST_TEST(a.result_int() == 404U);
    const response b = co_await ask(f, post("/work/dance", "ada"));
    BOOST_TEST(b.result_int() == 404U);
    BOOST_TEST(f.told("ada").other == 1U);
  });
}

BOOST_AUTO_TEST_CASE(wrong_method_gets_405_that_names_the_right_one) {
  run([](fixture& f) -> asio::awaitable<void> {
    const response a = co_await ask(f, text_of("GET", "/work/hash", "ada"));
    BOOST_TEST(a.result_int() == 405U);
    BOOST_TEST(a[http::field::allow] == "POST");
    const response b = co_await ask(f, post("/metrics", "ada"));
    BOOST_TEST(b.result_int() == 405U);
    BOOST_TEST(b[http::field::allow] == "GET, HEAD");
  });
}

BOOST_AUTO_TEST_CASE(head_gets_the_header_alone) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(text_of("HEAD", "/healthz", "") + text_of("GET", "/healthz", ""));
    const response header = co_await c.receive_header();
    BOOST_TEST(header.result_int() == 200U);
    BOOST_TEST(header[http::field::content_length] == "6");
    const response whole = co_await c.receive();
    BOOST_TEST(whole.body() == "alive\n");
  });
}

BOOST_AUTO_TEST_CASE(large_header_gets_431) {
  options.limits.header = 1024;
  run([](fixture& f) -> asio::awaitable<void> {
    for (const std::size_t size : {1024, 5000, 100'000}) {
      client c(f);
      co_await c.connect();
      co_await c.send("GET /healthz HTTP/1.1\r\nHost: g\r\nX: " + std::string(size, 'x'));
      const response r = co_await c.receive();
      BOOST_TEST(r.result_int() == 431U);
      BOOST_TEST(!r.keep_alive());
    }
  });
}

BOOST_AUTO_TEST_CASE(large_body_gets_413_before_it_is_sent) {
  options.limits.body = 1000;
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(
        "POST /work/hash HTTP/1.1\r\nHost: g\r\nX-User: ada\r\nContent-Length: 1001\r\n\r\n");
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 413U);
    BOOST_TEST(co_await c.sees_close());
    BOOST_TEST(f.told("ada").other == 1U);

    const response fits = co_await ask(f, post("/work/hash", "ada", std::string(1000, 'x')));
    BOOST_TEST(fits.result_int() == 200U);
  });
}

BOOST_AUTO_TEST_CASE(large_body_in_chunks_gets_413) {
  options.limits.body = 1000;
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string chunk = "200\r\n" + std::string(0x200, 'x') + "\r\n";
    const response r = co_await ask(f,
                                    "POST /work/hash HTTP/1.1\r\nHost: g\r\nX-User: ada\r\n"
                                    "Transfer-Encoding: chunked\r\n\r\n" +
                                        chunk + chunk + "0\r\n\r\n");
    BOOST_TEST(r.result_int() == 413U);
  });
}

BOOST_AUTO_TEST_CASE(answer_survives_the_rest_of_a_large_body) {
  options.limits.body = 1000;
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(post("/work/hash", "ada", std::string(300'000, 'x')));
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 413U);
    BOOST_TEST(co_await c.sees_close());
  });
}

BOOST_AUTO_TEST_CASE(slow_header_gets_408) {
  options.limits.header_time = 30ms;
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send("GET /healthz HTTP/1.1\r\nHo");
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 408U);
    BOOST_TEST(co_await c.sees_close());
  });
}

BOOST_AUTO_TEST_CASE(trickle_does_not_extend_the_time_for_a_header) {
  options.limits.header_time = 50ms;
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send("GET /healthz HTTP/1.1\r\n");
    // A line whenever the socket has nothing for us: far more often than the time allows.
    co_await f.until([&] {
      boost::system::error_code ec;
      c.socket().write_some(asio::buffer("X: y\r\n", 6), ec);
      return c.socket().available(ec) > 0;
    });
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 408U);
  });
}

BOOST_AUTO_TEST_CASE(slow_body_gets_408) {
  options.limits.body_time = 30ms;
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(
        "POST /work/hash HTTP/1.1\r\nHost: g\r\nX-User: ada\r\nContent-Length: 10\r\n\r\nabc");
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 408U);
    BOOST_TEST(f.told("ada").other == 1U);
  });
}

BOOST_AUTO_TEST_CASE(half_a_request_and_a_close_is_in_no_book) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send("POST /work/hash HTTP/1.1\r\nHost: g\r\nX-User: ada\r\nContent-Le");
    co_await f.until([&] { return f.server().connections().open == 1; });
    c.close();
    co_await f.until([&] { return f.server().connections().open == 0; });
    BOOST_TEST(f.server().books().total().offered == 0U);
  });
}

BOOST_AUTO_TEST_CASE(client_that_asks_is_told_to_go_on) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(
        "POST /work/hash HTTP/1.1\r\nHost: g\r\nX-User: ada\r\nContent-Length: 3\r\n"
        "Expect: 100-continue\r\n\r\n");
    const response go_on = co_await c.receive_header();
    BOOST_TEST(go_on.result_int() == 100U);
    co_await c.send("abc");
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 200U);
  });
}

BOOST_AUTO_TEST_CASE(keep_alive_serves_many) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    for (int i = 0; i < 200; ++i) {
      co_await c.send(post("/work/hash", "ada", std::to_string(i)));
      const response r = co_await c.receive();
      BOOST_REQUIRE(r.result_int() == 200U);
      BOOST_REQUIRE(r.keep_alive());
    }
    BOOST_TEST(f.server().connections().accepted == 1U);
  });
}

BOOST_AUTO_TEST_CASE(last_request_of_a_connection_is_told_so) {
  options.limits.requests = 3;
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    for (const bool more : {true, true, false}) {
      co_await c.send(text_of("GET", "/healthz", ""));
      const response r = co_await c.receive();
      BOOST_TEST(r.keep_alive() == more);
    }
    BOOST_TEST(co_await c.sees_close());
  });
}

BOOST_AUTO_TEST_CASE(http_1_0_is_served_and_closed) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send("GET /healthz HTTP/1.0\r\n\r\n");
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 200U);
    BOOST_TEST(co_await c.sees_close());
  });
}

BOOST_AUTO_TEST_CASE(pipelined_requests_are_answered_in_order) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    // The first takes longest: what is behind it waits, and is not lost while it is watched.
    co_await c.send(post("/work/sleep?ms=50", "ada") + post("/work/hash", "ada", "abc") +
                    text_of("GET", "/healthz", "") + post("/work/sleep?ms=0", "ada"));
    const response slept = co_await c.receive();
    BOOST_TEST(slept.body() == "slept\n");
    const response hashed = co_await c.receive();
    BOOST_TEST(hashed.body().starts_with("ba7816bf"));
    const response alive = co_await c.receive();
    BOOST_TEST(alive.body() == "alive\n");
    const response last = co_await c.receive();
    BOOST_TEST(last.body() == "slept\n");
  });
}

BOOST_AUTO_TEST_CASE(pipelining_more_than_is_read_ahead_loses_nothing) {
  options.limits.header = 1024;
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    std::string text = post("/work/sleep?ms=50", "ada");
    for (int i = 0; i < 100; ++i) text += post("/work/hash", "ada", std::to_string(i));
    co_await c.send(text);
    for (int i = 0; i < 101; ++i) {
      const response r = co_await c.receive();
      BOOST_REQUIRE(r.result_int() == 200U);
    }
    BOOST_TEST(f.told("ada").ok == 101U);
  });
}

BOOST_AUTO_TEST_CASE(idle_connection_is_closed_in_silence) {
  options.limits.idle_time = 30ms;
  run([](fixture& f) -> asio::awaitable<void> {
    client unused(f);
    co_await unused.connect();
    BOOST_TEST(co_await unused.sees_close());
    client used(f);
    co_await used.connect();
    co_await used.send(text_of("GET", "/healthz", ""));
    const response r = co_await used.receive();
    BOOST_TEST(r.keep_alive());
    BOOST_TEST(co_await used.sees_close());
    BOOST_TEST(f.server().books().total().offered == 0U);
  });
}

BOOST_AUTO_TEST_CASE(client_that_does_not_read_is_given_up) {
  options.limits.write_time = 50ms;
  options.limits.linger_time = 50ms;
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    c.socket().open(tcp::v4());
    c.socket().set_option(asio::socket_base::receive_buffer_size(4096));  // soon full
    co_await c.connect();
    const std::string questions = [] {
      std::string text;
      for (int i = 0; i < 100; ++i) text += text_of("GET", "/metrics", "");
      return text;
    }();
    // Asks as long as the gateway takes questions, and takes no answer.
    c.socket().non_blocking(true);
    boost::system::error_code ec;
    co_await f.until([&] {
      c.socket().write_some(asio::buffer(questions), ec);
      return f.server().connections().accepted == 1 && f.server().connections().open == 0;
    });
    const response r = co_await ask(f, text_of("GET", "/healthz", ""));
    BOOST_TEST(r.result_int() == 200U);
  });
}

BOOST_AUTO_TEST_CASE(connections_beyond_the_limit_get_503) {
  options.limits.connections = 2;
  run([](fixture& f) -> asio::awaitable<void> {
    client a(f);
    client b(f);
    co_await a.connect();
    co_await b.connect();
    co_await f.until([&] { return f.server().connections().open == 2; });
    client c(f);
    co_await c.connect();
    co_await c.send(text_of("GET", "/healthz", ""));
    const response r = co_await c.receive();
    BOOST_TEST(r.result_int() == 503U);
    BOOST_TEST(!r.keep_alive());
    BOOST_TEST(r.count("X-Refused") == 1U);
    BOOST_TEST(co_await c.sees_close());
    BOOST_TEST(f.server().connections().refused == 1U);

    a.close();
    co_await f.until([&] { return f.server().connections().open == 1; });
    const response served = co_await ask(f, text_of("GET", "/healthz", ""));
    BOOST_TEST(served.result_int() == 200U);
  });
}

BOOST_AUTO_TEST_CASE(flood_of_connections_is_turned_away_and_serving_goes_on) {
  options.limits.connections = 8;
  run([](fixture& f) -> asio::awaitable<void> {
    std::vector<client> flood;
    for (int i = 0; i < 300; ++i) {
      flood.emplace_back(f);
      co_await flood.back().connect();
    }
    co_await f.until([&] {
      const connection_counts& counts = f.server().connections();
      return counts.accepted + counts.refused == flood.size();
    });
    BOOST_TEST(f.server().connections().open == 8U);
    co_await flood.front().send(post("/work/hash", "ada", "abc"));
    const response r = co_await flood.front().receive();
    BOOST_TEST(r.result_int() == 200U);
    const response refused = co_await flood.back().receive();
    BOOST_TEST(refused.result_int() == 503U);
  });
}

BOOST_AUTO_TEST_CASE(accepting_goes_on_after_running_out_of_descriptors) {
  run([](fixture& f) -> asio::awaitable<void> {
    // UBSan opens a pipe when it meets a type for the first time and calls the object broken when
    // it cannot: one connection served before leaves it nothing new to meet.
    {
      client before(f);
      co_await before.connect();
      co_await before.send(text_of("GET", "/healthz", ""));
      const response served = co_await before.receive();
      BOOST_TEST(served.result_int() == 200U);
    }
    std::vector<client> clients;
    for (int i = 0; i < 8; ++i) {
      clients.emplace_back(f);
      clients.back().socket().open(tcp::v4());
    }
    const auto first_free = static_cast<rlim_t>(clients.back().socket().native_handle()) + 1;
    rlimit saved{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &saved) == 0);
    const rlimit lowered{first_free + 2, saved.rlim_max};
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &lowered) == 0);
    for (client& c : clients) {
      co_await c.connect();
      co_await c.send(text_of("GET", "/healthz", ""));
    }
    const response first = co_await clients.front().receive();
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &saved) == 0);
    BOOST_TEST(first.result_int() == 200U);
    for (std::size_t i = 1; i < clients.size(); ++i) {
      const response r = co_await clients[i].receive();
      BOOST_TEST(r.result_int() == 200U);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace gateway::test
