// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_HANGUP_WATCH_HPP
#define WEIR_EXAMPLES_GATEWAY_HANGUP_WATCH_HPP

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <memory>

namespace gateway {

/// Watches a connection while its request is worked on, and emits a signal when the client
/// closes it: nobody is left to work for.
///
/// What the client sends meanwhile is its next request: it goes into the buffer from which the
/// connection reads, up to the buffer's bound, where the watching ends. Peeking at it instead
/// would leave the socket readable, and the watch awake, for as long as the work takes. A client
/// that closes its sending half alone counts as gone.
///
/// Thread safety: one thread, that of the socket. Lifetime: within that of what it is given;
/// nothing else reads from the socket meanwhile.
class hangup_watch {
 public:
  /// Starts to watch. The socket is in non-blocking mode.
  hangup_watch(boost::asio::ip::tcp::socket& socket, boost::beast::flat_buffer& buffer,
               boost::asio::cancellation_signal& gone);
  hangup_watch(const hangup_watch&) = delete;
  hangup_watch& operator=(const hangup_watch&) = delete;

  /// Ends the watching.
  ~hangup_watch();

  /// Whether the client has gone.
  bool gone() const noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_HANGUP_WATCH_HPP
