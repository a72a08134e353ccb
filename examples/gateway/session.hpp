// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_SESSION_HPP
#define WEIR_EXAMPLES_GATEWAY_SESSION_HPP

#include "answer.hpp"
#include "io_deadline.hpp"
#include "options.hpp"
#include "service.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace gateway {

/// One connection: reads requests within limits, answers each, in order, and closes so that the
/// last answer arrives.
///
/// Every request that has been read is answered and entered in the books, unless the client
/// leaves first; one that has not been read is in no book.
///
/// Thread safety: one thread, that of the socket's executor.
class session {
 public:
  /// Lifetime: `s` and `limits` outlive the session.
  session(boost::asio::ip::tcp::socket socket, service& s, const connection_limits& limits);

  /// Serves the connection to its end.
  static boost::asio::awaitable<void> run(std::shared_ptr<session> self);

  /// Lets the request at hand be answered, then closes; a request that is still being read has
  /// `within` to arrive.
  void finish(weir::duration within);

  /// Closes at once and cancels the work at hand.
  void abort();

 private:
  struct reply_to;

  boost::asio::awaitable<bool> wait_for_request();
  boost::asio::awaitable<bool> serve_one();
  boost::asio::awaitable<bool> write(answer a, reply_to to);
  bool has_input();

  boost::asio::ip::tcp::socket socket_;
  service& service_;
  const connection_limits& limits_;
  io_deadline deadline_;
  boost::beast::flat_buffer buffer_;
  boost::asio::cancellation_signal hangup_;
  std::size_t answered_ = 0;
  enum class phase { idle, reading, answering } phase_ = phase::idle;
  bool finishing_ = false;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_SESSION_HPP
