// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "run.hpp"

#include "progress.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <exception>
#include <random>
#include <string>
#include <utility>

namespace gateway::load {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using clock = std::chrono::steady_clock;

namespace {

using request = http::request<http::string_body>;

/// Draws requests: some hash, some fetch, some sleep, and a share that is too slow by design.
class request_maker {
 public:
  request_maker(const plan& p, int connection)
      : plan_(p), random_(p.seed * 1'000'003 + static_cast<std::uint64_t>(connection)) {}

  request next() {
    request r(http::verb::post, "", 11);
    r.set(http::field::host, "127.0.0.1:" + std::to_string(plan_.port));
    r.set("X-User", user());
    if (chance(plan_.slow_share)) {
      r.target("/work/sleep?ms=" + std::to_string(20 * plan_.deadline.count()));
      r.set("X-Timeout-Ms", std::to_string(plan_.deadline.count()));
    } else if (chance(0.4)) {
      r.target("/work/hash?rounds=20");
      r.body().assign(number(1, 64 * 1024), static_cast<char>(number(' ', '~')));
    } else if (chance(0.5)) {
      r.target("/work/fetch");
      r.body() = "http://127.0.0.1:" + std::to_string(plan_.port) + "/healthz";
    } else {
      r.target("/work/sleep?ms=" + std::to_string(number(5, 50)));
    }
    r.prepare_payload();
    return r;
  }

  clock::duration pause() {
    std::exponential_distribution<double> times(1.0);
    return std::chrono::duration_cast<clock::duration>(plan_.pause * times(random_));
  }

 private:
  // The lesser of two draws: the first users ask for more than the last.
  std::string user() {
    const std::size_t last = static_cast<std::size_t>(plan_.users);
    return "user-" + std::to_string(std::min(number(1, last), number(1, last)));
  }

  bool chance(double share) { return std::bernoulli_distribution(share)(random_); }

  std::size_t number(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random_);
  }

  const plan& plan_;
  std::mt19937_64 random_;
};

/// The run as a whole: what its connections share.
class runner {
 public:
  explicit runner(const plan& p) : plan_(p), server_(asio::ip::address_v4::loopback(), p.port) {}

  tally run() {
    started_ = clock::now();
    for (int i = 0; i < plan_.concurrency; ++i) {
      ++connections_;
      asio::co_spawn(io_, drive(i), [this](const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
        if (--connections_ == 0) tick_.cancel();
      });
    }
    asio::co_spawn(io_, show_progress(), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
    io_.run();
    return std::move(tally_);
  }

 private:
  bool may_begin() {
    if (clock::now() - started_ >= plan_.time) return false;
    return plan_.requests == 0 || begun_++ < plan_.requests;
  }

  enum class connection { open, closed, closed_unanswered };

  /// Sends one request after the other on one connection, and connects anew where it was closed.
  asio::awaitable<void> drive(int index) {
    request_maker maker(plan_, index);
    asio::steady_timer pause(io_);
    beast::tcp_stream stream(io_);
    beast::flat_buffer buffer;
    connection state = connection::closed;
    while (may_begin()) {
      const request r = maker.next();
      const std::string user(r["X-User"]);
      if (state == connection::closed) {
        const boost::system::error_code ec = co_await connect(stream, buffer);
        if (ec) tally_.unsent(user);
        if (ec == asio::error::connection_refused) co_return;  // nobody listens any more
        if (!ec) state = connection::open;
      }
      if (state == connection::open) state = co_await exchange(stream, buffer, r, user);
      if (state == connection::closed_unanswered) {
        // Fair from a server that has left. One that still listens has dropped a request.
        const boost::system::error_code ec = co_await connect(stream, buffer);
        ec ? tally_.unsent(user) : tally_.broken(user);
        if (ec == asio::error::connection_refused) co_return;
        state = ec ? connection::closed : connection::open;
      }
      pause.expires_after(maker.pause());
      co_await pause.async_wait(asio::use_awaitable);
    }
  }

  asio::awaitable<boost::system::error_code> connect(beast::tcp_stream& stream,
                                                     beast::flat_buffer& buffer) {
    boost::system::error_code ec;
    buffer.clear();
    stream.close();
    stream.expires_after(plan_.patience);
    co_await stream.async_connect(server_, asio::redirect_error(asio::use_awaitable, ec));
    co_return ec;
  }

  /// Sends a request, waits for its answer and enters what became of it.
  asio::awaitable<connection> exchange(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                       const request& r, const std::string& user) {
    const clock::time_point sent = clock::now();
    boost::system::error_code ec;
    stream.expires_after(plan_.patience);
    // A write that fails tells nothing: the server may have answered before it closed.
    co_await http::async_write(stream, r, asio::redirect_error(asio::use_awaitable, ec));
    http::response_parser<http::string_body> answer;
    co_await http::async_read(stream, buffer, answer,
                              asio::redirect_error(asio::use_awaitable, ec));
    if (ec && !answer.got_some()) co_return connection::closed_unanswered;
    if (ec) {
      tally_.broken(user);
      co_return connection::closed;
    }
    if (answer.get().find("X-Refused") != answer.get().end()) {
      tally_.refused();
      tally_.unsent(user);
    } else {
      tally_.answered(user, answer.get().result_int(), clock::now() - sent);
    }
    co_return answer.keep_alive() ? connection::open : connection::closed;
  }

  asio::awaitable<void> show_progress() {
    const progress shown;
    while (connections_ > 0) {
      boost::system::error_code ended;
      tick_.expires_after(shown.interval());
      co_await tick_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
      shown.show(tally_, clock::now() - started_);
    }
    shown.end();
  }

  const plan& plan_;
  tcp::endpoint server_;
  asio::io_context io_{1};
  asio::steady_timer tick_{io_};
  clock::time_point started_;
  std::uint64_t begun_ = 0;
  int connections_ = 0;
  tally tally_;
};

}  // namespace

tally run(const plan& p) { return runner(p).run(); }

}  // namespace gateway::load
