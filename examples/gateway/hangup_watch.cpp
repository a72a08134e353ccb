// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "hangup_watch.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gateway {

namespace asio = boost::asio;

// Shared with the handler of the wait, which runs once more when the watch is over.
struct hangup_watch::state {
  state(asio::ip::tcp::socket& s, boost::beast::flat_buffer& b, asio::cancellation_signal& g)
      : socket(&s), buffer(&b), signal(&g) {}

  static void wait(std::shared_ptr<state> self) {
    asio::ip::tcp::socket& socket = *self->socket;
    socket.async_wait(asio::socket_base::wait_read,
                      [self = std::move(self)](const boost::system::error_code& ec) mutable {
                        if (self->watching && !ec) look(std::move(self));
                      });
  }

  static void look(std::shared_ptr<state> self) {
    constexpr std::size_t at_once = 4096;
    boost::beast::flat_buffer& buffer = *self->buffer;
    const std::size_t room = std::min(at_once, buffer.max_size() - buffer.size());
    if (room == 0) return;
    boost::system::error_code ec;
    buffer.commit(self->socket->read_some(buffer.prepare(room), ec));
    if (!ec || ec == asio::error::would_block || ec == asio::error::try_again)
      return wait(std::move(self));
    self->gone = true;
    self->signal->emit(asio::cancellation_type::terminal);
  }

  asio::ip::tcp::socket* socket;
  boost::beast::flat_buffer* buffer;
  asio::cancellation_signal* signal;
  bool watching = true;
  bool gone = false;
};

hangup_watch::hangup_watch(asio::ip::tcp::socket& socket, boost::beast::flat_buffer& buffer,
                           asio::cancellation_signal& gone)
    : state_(std::make_shared<state>(socket, buffer, gone)) {
  state::wait(state_);
}

hangup_watch::~hangup_watch() {
  state_->watching = false;
  boost::system::error_code ignored;  // a socket that cannot be cancelled is closed already
  state_->socket->cancel(ignored);
}

bool hangup_watch::gone() const noexcept { return state_->gone; }

}  // namespace gateway
