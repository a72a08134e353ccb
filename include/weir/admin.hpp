// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_ADMIN_HPP
#define WEIR_ADMIN_HPP

#include <weir/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

class worker_pool;

namespace detail {
class admin_state;
class admin_server_state;
}  // namespace detail

/// What an administrator's client asks; any Beast request converts to it.
using admin_request = boost::beast::http::request_header<>;

struct admin_options {
  /// The pools to show, in this order. They outlive the handler, or its `stop`; so does what the
  /// hooks below use.
  std::vector<const worker_pool*> pools = {};

  /// What all paths begin with, such as `/admin`; empty: nothing.
  std::string prefix = {};

  /// Says whether a request may be answered; empty: each may. It comes before the path is looked
  /// at, so it decides about `/healthz` too.
  std::function<bool(const admin_request&)> authorize = {};

  /// The `WWW-Authenticate` of a 401; empty: what is not authorized is a 403 instead.
  std::string challenge = {};

  /// The text of `/metrics`, in the exposition format of Prometheus; empty: 404.
  std::function<std::string()> metrics = {};

  /// A further condition of `/healthz`; empty: none.
  std::function<bool()> healthy = {};

  /// Names that a request's `Host` may have, without a port; any other is a 421. Empty: any. It
  /// keeps a foreign page from reaching a server on this machine by a name of its own, which would
  /// make the two the same origin.
  std::vector<std::string> hosts = {};

  std::size_t streams = 8;     ///< of events, open at once; one more is a 503
  std::size_t tasks = 2000;    ///< of each pool that `/tasks` lists; the rest is only counted
  std::size_t top_users = 10;  ///< of each pool that `/events` lists
  duration interval = std::chrono::seconds(1);    ///< from event to event; at least 10 ms
  duration write_time = std::chrono::seconds(5);  ///< for a client to take a piece of the answer
};

/// Shows what pools are at, to anybody who can speak HTTP, through any server of Boost.Beast's.
///
/// - `/` a page that shows all of the below, live
/// - `/healthz` 200, or 503 when a pool is closed or `healthy` says no
/// - `/metrics` what the hook gives
/// - `/tasks` the tasks of each pool: JSON, or text with `?format=text` or `Accept: text/plain`
/// - `/events` a snapshot of each pool a second, as server-sent events of JSON
///
/// It answers GET and HEAD, and changes nothing. It does not authenticate: see `authorize`.
///
/// Copies share their state. Thread safety: distinct objects: safe. Shared object: safe. Hooks are
/// called on the caller's executor, at once from several threads if there are several.
class admin_handler {
 public:
  explicit admin_handler(admin_options options);

  /// Whether a target is below the prefix, for a server that has other things to serve.
  bool owns(std::string_view target) const noexcept;

  /// Answers a request that was read from `stream`, a TCP or TLS stream of Asio or Beast, in full.
  ///
  /// \returns whether the connection may carry another request
  ///
  /// Errors: what the write throws; `deadline_exceeded` for a client that takes longer than
  /// `write_time` to take a piece. Nothing is kept for a slow client but the piece at hand.
  ///
  /// Cancellation: all types that the caller's coroutine accepts end it.
  ///
  /// A stream of events ends when its client has gone, at the next event or the one after, or with
  /// `stop`.
  ///
  /// Lifetime: `stream` and `request` until it has ended. The handler itself may go before.
  template <typename Stream>
  boost::asio::awaitable<bool> handle(Stream& stream, const admin_request& request) {
    return answer(
        [&stream](boost::asio::const_buffer piece) -> boost::asio::awaitable<void> {
          co_await boost::asio::async_write(stream, piece, boost::asio::use_awaitable);
        },
        request);
  }

  /// Ends the streams of events. When it has returned no pool is looked at and no hook called any
  /// more: what comes later gets a 503. Safe to call twice; not from a hook, for which it waits.
  void stop();

 private:
  // All that an answer asks of a stream is to take bytes. So that is the seam, and the answers are
  // compiled once, in the library; a handler that is a template throughout would bring Boost.JSON
  // and the serializers into each program.
  using writer = std::function<boost::asio::awaitable<void>(boost::asio::const_buffer)>;

  boost::asio::awaitable<bool> answer(writer write, const admin_request& request);

  std::shared_ptr<detail::admin_state> state_;
};

struct admin_server_options {
  /// Where to listen. Any other address than loopback needs an `authorize`: what a pool is at is
  /// nobody else's business.
  std::string address = "127.0.0.1";

  std::uint16_t port = 0;                         ///< 0: any free one
  std::size_t connections = 32;                   ///< open at once; more wait to be accepted
  std::size_t header_limit = 8 * 1024;            ///< bytes of a request's header; more is 431
  duration read_time = std::chrono::seconds(10);  ///< for a request to arrive, and between two
};

/// A server that has nothing else to serve, for programs that have no other.
///
/// Where `address` is loopback and `hosts` is empty, only the names of this machine's loopback are
/// accepted.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except destruction.
class admin_server {
 public:
  /// Listens, and serves as `ex` runs. Its own work is on a strand.
  ///
  /// \throws system_error where it cannot listen, `invalid_argument` for an address other than
  /// loopback without `authorize`
  ///
  /// Lifetime: destroy it before the executor's context.
  admin_server(const boost::asio::any_io_executor& ex, admin_options what,
               admin_server_options where = {});
  admin_server(const admin_server&) = delete;
  admin_server& operator=(const admin_server&) = delete;

  /// Stops it.
  ~admin_server();

  /// Where it listens.
  boost::asio::ip::tcp::endpoint local_endpoint() const;

  /// Accepts no more and closes what is connected, as the executor runs on. When it has returned
  /// no pool is looked at and no hook called any more. Not from a hook, for which it waits.
  void stop();

 private:
  std::shared_ptr<detail::admin_server_state> state_;
};

}  // namespace weir

#endif  // WEIR_ADMIN_HPP
