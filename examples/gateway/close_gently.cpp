// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "close_gently.hpp"

#include "io_deadline.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>

namespace gateway {

namespace asio = boost::asio;

asio::awaitable<void> close_gently(asio::ip::tcp::socket& socket, weir::duration within) {
  boost::system::error_code ec;
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, ec);
  if (!ec) {
    io_deadline deadline(socket);
    deadline.set(within);
    std::array<char, 1024> unwanted;
    while (!ec && !deadline.expired())
      co_await socket.async_read_some(asio::buffer(unwanted),
                                      asio::redirect_error(asio::use_awaitable, ec));
  }
  socket.close(ec);  // what the peer made of it is not ours to care for any more
}

}  // namespace gateway
