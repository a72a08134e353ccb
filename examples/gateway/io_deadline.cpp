// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "io_deadline.hpp"

#include <chrono>
#include <utility>

namespace gateway {

// Shared with the handler of the timer, which may run once more when its owner is gone.
struct io_deadline::state : std::enable_shared_from_this<state> {
  explicit state(boost::asio::ip::tcp::socket& s) : socket(&s), timer(s.get_executor()) {}

  void limit(weir::time_point t) {
    due = t;
    expired = false;
    if (t < armed_for) arm(t);
  }

  void arm(weir::time_point t) {
    armed_for = t;
    timer.expires_at(t);
    timer.async_wait([self = shared_from_this(), t](const boost::system::error_code&) {
      // Not the error but the time tells whether this wait is the latest: one that has been
      // replaced may have been on its way already.
      if (self->socket != nullptr && self->armed_for == t) self->on_time();
    });
  }

  void on_time() {
    armed_for = weir::time_point::max();
    if (due == weir::time_point::max()) return;
    const weir::time_point now = weir::steady_clock::now();
    if (now < due) return arm(due);
    expired = true;
    boost::system::error_code ignored;  // a socket that cannot be cancelled is closed already
    socket->cancel(ignored);
    // A composed operation that is between two steps has nothing to cancel: look again soon.
    arm(now + std::chrono::milliseconds(20));
  }

  boost::asio::ip::tcp::socket* socket;
  weir::steady_timer timer;
  weir::time_point due = weir::time_point::max();
  weir::time_point armed_for = weir::time_point::max();
  bool expired = false;
};

io_deadline::io_deadline(boost::asio::ip::tcp::socket& socket)
    : state_(std::make_shared<state>(socket)) {}

io_deadline::~io_deadline() {
  state_->socket = nullptr;
  state_->timer.cancel();
}

void io_deadline::set(weir::duration d) {
  state_->limit(weir::saturating_add(weir::steady_clock::now(), d));
}

void io_deadline::shorten(weir::duration d) {
  const weir::time_point t = weir::saturating_add(weir::steady_clock::now(), d);
  if (t < state_->due) state_->limit(t);
}

void io_deadline::clear() { state_->due = weir::time_point::max(); }

bool io_deadline::expired() const noexcept { return state_->expired; }

}  // namespace gateway
