// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_GATEWAY_FIXTURE_HPP
#define WEIR_TEST_GATEWAY_FIXTURE_HPP

#include "options.hpp"
#include "server.hpp"

#include <weir/task_queue.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace gateway::test {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using namespace std::chrono_literals;
using asio::ip::tcp;

using response = http::response<http::string_body>;

/// How long a case waits for one thing, and how long it may take in all: less than a test is given
/// from outside, so that it says what has not come; and as much as a sanitizer needs on a machine
/// that has other things to do.
constexpr auto most_patience = 100s;
constexpr auto most_time = 240s;

/// A gateway in this process, on a free port, and a program that talks to it: both on one thread,
/// the pool on its own. When the program has ended the gateway is stopped, and nothing may be left.
class fixture {
 public:
  fixture();

  using program = asio::awaitable<void> (*)(fixture&);

  /// Starts the gateway, runs `p` and ends both, within a bounded time.
  void run(program p);

  /// Waits until `holds`, within a bounded time. What `holds` captures is of trivial types.
  template <typename Predicate>
  asio::awaitable<void> until(Predicate holds) {
    const auto limit = std::chrono::steady_clock::now() + most_patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > limit)
        throw std::runtime_error("what was waited for has not come");
      co_await let_others_run();
    }
  }

  /// Ends the gateway in order, as a signal would; work has until `deadline`.
  asio::awaitable<void> shut_down(weir::duration deadline = 10s);

  /// Only begins to: no more is accepted, by the listener or by the pool.
  asio::awaitable<void> stop_accepting();

  asio::io_context& io() { return io_; }
  tcp::endpoint address() const { return server_->local_endpoint(); }
  weir::pool_metrics metrics() const { return pool_->metrics(); }
  gateway::server& server() { return *server_; }
  weir::task_queue& queue() { return *queue_; }

  /// What the gateway has told `user`.
  account told(std::string_view user) const;

  gateway::options options;  ///< to be set before `run`

 private:
  asio::awaitable<void> run_to_end(program p);
  asio::awaitable<void> let_others_run();

  asio::io_context io_{1};
  std::optional<weir::worker_pool> pool_;
  std::unique_ptr<weir::task_queue> queue_;
  std::optional<gateway::server> server_;
};

/// One connection to the gateway, or to another port, spoken to by hand.
class client {
 public:
  explicit client(fixture& f) : client(f, f.address()) {}
  client(fixture& f, tcp::endpoint other) : gateway_(std::move(other)), socket_(f.io()) {}

  asio::awaitable<void> connect();
  asio::awaitable<void> send(std::string_view text);

  /// The next answer.
  asio::awaitable<response> receive();

  /// The next answer, to a HEAD request.
  asio::awaitable<response> receive_header();

  /// Whether the gateway closes the connection now, in order, without another word.
  asio::awaitable<bool> sees_close();

  void close();
  tcp::socket& socket() { return socket_; }

 private:
  asio::awaitable<response> receive(bool header_only);

  tcp::endpoint gateway_;
  tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
};

/// The text of a request; `fields` are whole lines, each with its line break.
std::string text_of(std::string_view method, std::string_view target, std::string_view user,
                    std::string_view body = "", std::string_view fields = "");

inline std::string post(std::string_view target, std::string_view user, std::string_view body = "",
                        std::string_view fields = "") {
  return text_of("POST", target, user, body, fields);
}

/// The answer to one request on a connection of its own.
asio::awaitable<response> ask(fixture& f, std::string text);
asio::awaitable<response> ask(client c, std::string text);

inline std::string url_of(const tcp::endpoint& endpoint, std::string_view target) {
  return "http://127.0.0.1:" + std::to_string(endpoint.port()) + std::string(target);
}

/// A port of this machine at which somebody listens, or nobody for as long as the result lives.
inline tcp::acceptor listen_on_loopback(fixture& f) {
  return {f.io(), tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
}
inline tcp::socket nobody_on_loopback(fixture& f) {
  return {f.io(), tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
}

}  // namespace gateway::test

#endif  // WEIR_TEST_GATEWAY_FIXTURE_HPP
