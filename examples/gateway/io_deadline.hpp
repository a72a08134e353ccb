// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_IO_DEADLINE_HPP
#define WEIR_EXAMPLES_GATEWAY_IO_DEADLINE_HPP

#include <weir/clock.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <memory>

namespace gateway {

/// A time limit for what is being done on a socket: past it, the operation ends with
/// `operation_aborted`, and the socket can still carry an answer that says so.
///
/// The timer is armed lazily: a deadline that moves further away, as it does with each request,
/// touches nothing. `beast::tcp_stream` was turned down because its limit closes the socket.
///
/// Thread safety: one thread, that of the socket. Lifetime: within that of the socket.
class io_deadline {
 public:
  explicit io_deadline(boost::asio::ip::tcp::socket& socket);
  io_deadline(const io_deadline&) = delete;
  io_deadline& operator=(const io_deadline&) = delete;
  ~io_deadline();

  /// From now on, the limit is `d` from now.
  void set(weir::duration d);

  /// The limit is `d` from now, unless it is earlier already.
  void shorten(weir::duration d);

  /// There is no limit.
  void clear();

  /// Whether the limit that was last set has passed and been enforced.
  bool expired() const noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_IO_DEADLINE_HPP
