// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/admin.hpp>
#include <weir/error.hpp>
#include <weir/worker_pool.hpp>

#include "admin/snapshot.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace weir::admin_test {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace std::chrono_literals;
using asio::ip::tcp;

/// A pool with one worker that is busy, on the same thread as the server and its client.
struct fixture {
  asio::io_context io{1};
  worker_pool pool{io.get_executor(),
                   {.workers = 1, .queue_size = 4, .max_per_user = 0, .name = "main"}};
  admin_options what{.pools = {&pool}};
  admin_server_options where;
  std::optional<admin_server> server;

  /// Runs `program` beside the server, which it may stop, and everything to its end.
  void run(std::function<asio::awaitable<void>(fixture&)> program) {
    server.emplace(io.get_executor(), what, where);
    bool ended = false;
    asio::co_spawn(io, program(*this), [&](const std::exception_ptr& error) {
      ended = true;
      server.reset();
      shut_down();
      if (error) std::rethrow_exception(error);
    });
    io.run_for(30s);
    BOOST_TEST(ended);
    BOOST_TEST(io.stopped());
  }

  void shut_down() {
    pool.async_shutdown({.deadline = 0s, .abandon = true}, [](error_code, shutdown_report) {});
  }

  void submit(std::string user, std::string id = {}) {
    auto forever = [](task_context&) -> asio::awaitable<void> {
      steady_timer timer(co_await asio::this_coro::executor, 1h);
      co_await timer.async_wait(asio::use_awaitable);
    };
    BOOST_TEST(
        !pool.submit({.id = std::move(id), .user = std::move(user), .fn = std::move(forever)}));
  }

  asio::awaitable<tcp::socket> connect() {
    tcp::socket socket(io);
    co_await socket.async_connect(server->local_endpoint(), asio::use_awaitable);
    co_return socket;
  }

  /// All that the server says to `text` before it closes.
  asio::awaitable<std::string> say(std::string text) {
    tcp::socket socket = co_await connect();
    co_await asio::async_write(socket, asio::buffer(text), asio::use_awaitable);
    std::string answer;
    boost::system::error_code ec;
    co_await asio::async_read(socket, asio::dynamic_buffer(answer),
                              asio::redirect_error(asio::use_awaitable, ec));
    BOOST_TEST((!ec || ec == asio::error::eof));
    co_return answer;
  }

  static std::string request(const std::string& target, const std::string& fields = {},
                             const std::string& method = "GET") {
    return method + ' ' + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
           fields + "\r\n";
  }
  asio::awaitable<std::string> get(std::string target, std::string fields = {},
                                   std::string method = "GET") {
    return say(request(target, fields, method));
  }
};

int status_of(const std::string& answer) {
  return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3));
}
std::string body_of(const std::string& answer) {
  const auto at = answer.find("\r\n\r\n");
  return at == answer.npos ? "" : answer.substr(at + 4);
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

BOOST_FIXTURE_TEST_SUITE(admin, fixture)

BOOST_AUTO_TEST_CASE(each_path_has_its_answer) {
  what.metrics = [] { return std::string("up 1\n"); };
  run([](fixture& f) -> asio::awaitable<void> {
    f.submit("ada", "first");
    f.submit("ben", "second");
    std::string r = co_await f.get("/healthz");
    BOOST_TEST(status_of(r) == 200);
    BOOST_TEST(body_of(r) == "ok\n");
    BOOST_TEST(has(r, "X-Content-Type-Options: nosniff"));
    BOOST_TEST(has(r, "Cache-Control: no-store"));
    r = co_await f.get("/metrics");
    BOOST_TEST(body_of(r) == "up 1\n");
    r = co_await f.get("/tasks");
    const json::value tasks = json::parse(body_of(r)).at("pools").at(0);
    BOOST_TEST(tasks.at("name").as_string() == "main");
    BOOST_TEST(tasks.at("total").as_int64() == 2);
    BOOST_TEST(tasks.at("tasks").at(0).at("id").as_string() == "first");
    BOOST_TEST(tasks.at("tasks").at(0).at("state").as_string() == "running");
    BOOST_TEST(tasks.at("tasks").at(1).at("state").as_string() == "queued");
    BOOST_TEST(has(std::string(tasks.at("tasks").at(0).at("spawned").as_string()), "admin.cpp:"));
    r = co_await f.get("/tasks?format=text");
    BOOST_TEST(body_of(r).starts_with("pool 'main': 2 tasks\n"));
    r = co_await f.get("/tasks", "Accept: text/plain\r\n");
    BOOST_TEST(body_of(r).starts_with("pool 'main': 2 tasks\n"));
    r = co_await f.get("/tasks?a&format=json", "Accept: text/plain\r\n");
    BOOST_TEST(body_of(r).starts_with("{"));
    r = co_await f.get("/");
    BOOST_TEST(has(r, "script-src 'nonce-"));
    BOOST_TEST(has(body_of(r), "</html>"));
    BOOST_TEST(!has(body_of(r), "NONCE"));
    for (const char* target : {"/other", "/tasks/", "//", "http://localhost/tasks", "*"}) {
      r = co_await f.get(target);
      BOOST_TEST(status_of(r) == 404, target);
    }
  });
}

BOOST_AUTO_TEST_CASE(without_a_hook_there_are_no_metrics) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string r = co_await f.get("/metrics");
    BOOST_TEST(status_of(r) == 404);
  });
}

BOOST_AUTO_TEST_CASE(head_has_the_length_and_no_body) {
  run([](fixture& f) -> asio::awaitable<void> {
    std::string r = co_await f.get("/healthz", "", "HEAD");
    BOOST_TEST(status_of(r) == 200);
    BOOST_TEST(has(r, "Content-Length: 3\r\n"));
    BOOST_TEST(body_of(r).empty());
    r = co_await f.get("/events", "", "HEAD");
    BOOST_TEST(has(r, "text/event-stream"));
    BOOST_TEST(body_of(r).empty());
  });
}

BOOST_AUTO_TEST_CASE(other_methods_are_turned_away) {
  run([](fixture& f) -> asio::awaitable<void> {
    for (const char* method : {"POST", "DELETE", "OPTIONS", "PUT", "BREW"}) {
      const std::string r = co_await f.get("/tasks", "", method);
      BOOST_TEST(status_of(r) == 405, method);
      BOOST_TEST(has(r, "Allow: GET, HEAD"));
    }
  });
}

BOOST_AUTO_TEST_CASE(who_is_not_authorized_learns_nothing) {
  what.authorize = [](const admin_request& r) { return r["Authorization"] == "Bearer secret"; };
  what.challenge = "Bearer";
  run([](fixture& f) -> asio::awaitable<void> {
    for (const char* target : {"/", "/tasks", "/events", "/healthz", "/nowhere"}) {
      std::string r = co_await f.get(target);
      BOOST_TEST(status_of(r) == 401, target);
      BOOST_TEST(has(r, "WWW-Authenticate: Bearer"));
    }
    const std::string r = co_await f.get("/healthz", "Authorization: Bearer secret\r\n");
    BOOST_TEST(status_of(r) == 200);
  });
}

BOOST_AUTO_TEST_CASE(without_a_challenge_it_is_403) {
  what.authorize = [](const admin_request&) { return false; };
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string r = co_await f.get("/tasks");
    BOOST_TEST(status_of(r) == 403);
  });
}

BOOST_AUTO_TEST_CASE(what_a_failing_hook_says_stays_inside) {
  what.metrics = []() -> std::string { throw std::runtime_error("secret"); };
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string r = co_await f.get("/metrics");
    BOOST_TEST(status_of(r) == 500);
    BOOST_TEST(!has(r, "secret"));
  });
}

BOOST_AUTO_TEST_CASE(foreign_host_names_are_refused_on_loopback) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string r = co_await f.say(
        "GET /tasks HTTP/1.1\r\nHost: evil.example:80\r\n\r\n"
        "GET /tasks HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
        "Connection: close\r\n\r\n");
    BOOST_TEST(status_of(r) == 421);
    BOOST_TEST(has(r, "HTTP/1.1 200 OK"));  // and the connection goes on
  });
}

BOOST_AUTO_TEST_CASE(other_addresses_need_an_authorization) {
  where.address = "0.0.0.0";
  BOOST_CHECK_THROW(admin_server(io.get_executor(), what, where), boost::system::system_error);
  what.authorize = [](const admin_request&) { return true; };
  const admin_server open(io.get_executor(), what, where);
  BOOST_TEST(open.local_endpoint().port() != 0);
}

BOOST_AUTO_TEST_CASE(bad_requests_are_told_so) {
  run([](fixture& f) -> asio::awaitable<void> {
    std::string r = co_await f.say("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'a') + "\r\n\r\n");
    BOOST_TEST(status_of(r) == 431);
    r = co_await f.say("what?\r\n\r\n");
    BOOST_TEST(status_of(r) == 400);
    r = co_await f.say("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello");
    BOOST_TEST(status_of(r) == 413);
  });
}

BOOST_AUTO_TEST_CASE(request_that_does_not_arrive_is_cut) {
  where.read_time = 20ms;
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string r = co_await f.say("GET / HT");
    BOOST_TEST(r.empty());
  });
}

BOOST_AUTO_TEST_CASE(health_follows_the_check_and_the_pool) {
  bool well = false;
  what.healthy = [&well] { return well; };
  bool* const p = &well;
  run([p](fixture& f) -> asio::awaitable<void> {
    std::string r = co_await f.get("/healthz");
    BOOST_TEST(status_of(r) == 503);
    *p = true;
    r = co_await f.get("/healthz");
    BOOST_TEST(status_of(r) == 200);
    f.shut_down();
    r = co_await f.get("/healthz");
    BOOST_TEST(status_of(r) == 503);
  });
}

BOOST_AUTO_TEST_CASE(prefix_is_part_of_each_path) {
  what.prefix = "/admin";
  run([](fixture& f) -> asio::awaitable<void> {
    std::string r = co_await f.get("/admin/healthz");
    BOOST_TEST(status_of(r) == 200);
    r = co_await f.get("/healthz");
    BOOST_TEST(status_of(r) == 404);
    r = co_await f.get("/admin");
    BOOST_TEST(status_of(r) == 308);
    BOOST_TEST(has(r, "Location: /admin/\r\n"));
    r = co_await f.get("/adminhealthz");
    BOOST_TEST(status_of(r) == 404);
  });
  const admin_handler handler(what);
  BOOST_TEST(handler.owns("/admin"));
  BOOST_TEST(handler.owns("/admin/x"));
  BOOST_TEST(!handler.owns("/administer"));
  what.prefix = "admin/";
  BOOST_CHECK_THROW(admin_handler{what}, boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(events_are_snapshots_that_change) {
  what.interval = 10ms;
  run([](fixture& f) -> asio::awaitable<void> {
    tcp::socket socket = co_await f.connect();
    const std::string text = f.request("/events");
    co_await asio::async_write(socket, asio::buffer(text), asio::use_awaitable);
    std::string buffer;
    std::size_t n = co_await asio::async_read_until(socket, asio::dynamic_buffer(buffer),
                                                    "\r\n\r\n", asio::use_awaitable);
    BOOST_TEST(status_of(buffer) == 200);
    buffer.erase(0, n);
    std::int64_t active = -1;
    while (active != 1) {
      n = co_await asio::async_read_until(socket, asio::dynamic_buffer(buffer), "\n\n",
                                          asio::use_awaitable);
      BOOST_TEST(buffer.starts_with("data: "));
      const json::value seen = json::parse(buffer.substr(6, n - 8)).at("pools").at(0);
      buffer.erase(0, n);
      BOOST_TEST(seen.at("workers").as_int64() == 1);
      const bool first = active < 0;
      active = seen.at("active").to_number<std::int64_t>();
      if (first) f.submit("ada");
      if (active == 1) BOOST_TEST(seen.at("top_users").at(0).at("user").as_string() == "ada");
    }
  });
}

BOOST_AUTO_TEST_CASE(streams_are_limited_and_end_with_the_server) {
  what.streams = 1;
  run([](fixture& f) -> asio::awaitable<void> {
    tcp::socket first = co_await f.connect();
    const std::string text = f.request("/events");
    co_await asio::async_write(first, asio::buffer(text), asio::use_awaitable);
    std::string buffer;
    co_await asio::async_read_until(first, asio::dynamic_buffer(buffer), "\n\n",
                                    asio::use_awaitable);
    const std::string second = co_await f.get("/events");
    BOOST_TEST(status_of(second) == 503);
    BOOST_TEST(has(second, "Retry-After"));
    f.server->stop();
    f.server->stop();
    boost::system::error_code ec;
    co_await asio::async_read(first, asio::dynamic_buffer(buffer),
                              asio::redirect_error(asio::use_awaitable, ec));
    BOOST_TEST((ec == asio::error::eof || ec == asio::error::connection_reset));
  });
}

BOOST_AUTO_TEST_CASE(what_comes_after_the_stop_gets_503_and_calls_no_hook) {
  int calls = 0;
  what.authorize = [&](const admin_request&) { return ++calls != 0; };
  what.metrics = [&] { return std::to_string(++calls); };
  admin_handler handler(what);
  handler.stop();
  asio::local::stream_protocol::socket ours(io);
  asio::local::stream_protocol::socket theirs(io);
  asio::local::connect_pair(ours, theirs);
  const boost::beast::http::request<boost::beast::http::string_body> request(
      boost::beast::http::verb::get, "/metrics", 11);
  asio::co_spawn(io, handler.handle(ours, request), asio::detached);
  shut_down();
  io.run_for(30s);
  ours.close();
  std::string answer;
  boost::system::error_code ec;
  asio::read(theirs, asio::dynamic_buffer(answer), ec);
  BOOST_TEST(status_of(answer) == 503);
  BOOST_TEST(calls == 0);
}

BOOST_AUTO_TEST_CASE(client_that_has_gone_gives_its_stream_back) {
  what.streams = 1;
  what.interval = 10ms;
  run([](fixture& f) -> asio::awaitable<void> {
    {
      tcp::socket gone = co_await f.connect();
      const std::string text = f.request("/events");
      co_await asio::async_write(gone, asio::buffer(text), asio::use_awaitable);
      std::string buffer;
      co_await asio::async_read_until(gone, asio::dynamic_buffer(buffer), "\n\n",
                                      asio::use_awaitable);
    }
    int status = 503;
    while (status == 503) {
      tcp::socket next = co_await f.connect();
      const std::string text = f.request("/events");
      co_await asio::async_write(next, asio::buffer(text), asio::use_awaitable);
      std::string buffer;
      co_await asio::async_read_until(next, asio::dynamic_buffer(buffer), "\r\n\r\n",
                                      asio::use_awaitable);
      status = status_of(buffer);
    }
    BOOST_TEST(status == 200);
  });
}

/// A stream whose client takes its answer to the end of the header, and then nothing more.
struct stalled_stream {
  using executor_type = asio::any_io_executor;
  executor_type get_executor() { return timer.get_executor(); }

  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    ++writes;
    const std::size_t size = writes == 1 ? asio::buffer_size(buffers) : 0;
    return asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this, size](auto handler) {
          timer.expires_after(size > 0 ? 0s : 1h);
          auto done = asio::get_associated_cancellation_slot(handler);
          timer.async_wait(asio::bind_cancellation_slot(
              done, [handler = std::move(handler), size](boost::system::error_code ec) mutable {
                std::move(handler)(ec, size);
              }));
        },
        token);
  }
  asio::steady_timer timer;
  int writes = 0;
};

BOOST_AUTO_TEST_CASE(slow_client_is_cut_with_one_piece_in_hand) {
  what.write_time = 20ms;
  what.interval = 10ms;
  const admin_handler shared(what);
  admin_handler handler = shared;
  stalled_stream stream{asio::steady_timer(io)};
  boost::beast::http::request<boost::beast::http::string_body> request(
      boost::beast::http::verb::get, "/events", 11);
  std::optional<boost::system::error_code> ended;
  asio::co_spawn(io, handler.handle(stream, request), [&](std::exception_ptr error, bool) {
    shut_down();
    try {
      if (error) std::rethrow_exception(error);
    } catch (const boost::system::system_error& e) {
      ended = e.code();
    }
  });
  io.run_for(30s);
  BOOST_REQUIRE(ended.has_value());
  BOOST_TEST((*ended == errc::deadline_exceeded));
  BOOST_TEST(stream.writes == 2);
}

BOOST_AUTO_TEST_CASE(hostile_names_are_data) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string hostile = "<script>\"\\\n\x1b[31m\xe2\x80\xae\xff";
    f.submit(hostile, std::string(10'000, 'x'));
    std::string r = co_await f.get("/tasks");
    const json::value task = json::parse(body_of(r)).at("pools").at(0).at("tasks").at(0);
    BOOST_TEST(task.at("user").as_string() == "<script>\"\\\n\x1b[31m\xe2\x80\xae\xef\xbf\xbd");
    BOOST_TEST(task.at("id").as_string().size() <= 259U);
    r = co_await f.get("/tasks?format=text");
    BOOST_TEST(!has(body_of(r), "\x1b"));
    const std::string text = body_of(r);
    BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 2);
  });
}

BOOST_AUTO_TEST_CASE(shown_text_is_utf_8_of_bounded_length) {
  using detail::shown;
  BOOST_TEST(shown("", 8).empty());
  BOOST_TEST(shown("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 64) ==
             "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  for (const char* bad : {"\xff", "\xc0\xaf", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xe0\x80\x80", "\xf0\x80\x80\x80"})
    BOOST_TEST(shown(bad, 64).starts_with("\xef\xbf\xbd"));
  BOOST_TEST(shown("abcdef", 6) == "abcdef");
  BOOST_TEST(shown("abcdefg", 6) == "abc\xe2\x80\xa6");
}

BOOST_AUTO_TEST_CASE(long_lists_are_cut_and_counted) {
  what.tasks = 1;
  run([](fixture& f) -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) f.submit("ada");
    std::string r = co_await f.get("/tasks");
    const json::value seen = json::parse(body_of(r)).at("pools").at(0);
    BOOST_TEST(seen.at("total").as_int64() == 3);
    BOOST_TEST(seen.at("tasks").as_array().size() == 1U);
    r = co_await f.get("/tasks?format=text");
    BOOST_TEST(has(r, "and 2 more"));
  });
}

BOOST_AUTO_TEST_CASE(context_may_end_while_a_stream_is_open) {
  asio::io_context other(1);
  std::optional<admin_server> short_lived(std::in_place, other.get_executor(), what, where);
  tcp::socket client(other);
  client.connect(short_lived->local_endpoint());
  const std::string text = request("/events");
  asio::write(client, asio::buffer(text));
  std::string buffer;
  std::size_t got = 0;
  asio::async_read_until(client, asio::dynamic_buffer(buffer), "\n\n",
                         [&](boost::system::error_code, std::size_t n) { got = n; });
  while (got == 0) other.run_one();
  short_lived.reset();  // and nothing runs any more
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weir::admin_test
