// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A queue of the installed library says no when it has been closed. It needs no server.

#include <weir/error.hpp>
#include <weir/redis_queue.hpp>

#include <boost/asio/io_context.hpp>

#include <iostream>

int main() {
  boost::asio::io_context context(1);
  weir::redis_queue queue(context.get_executor(), "unix:///nowhere/at/all");
  queue.close();
  weir::error_code said;
  queue.async_enqueue({.kind = "mine"},
                      [&](const weir::error_code& ec, const weir::enqueued&) { said = ec; });
  context.run();
  std::cout << said.message() << '\n';
  return said == weir::errc::queue_closed ? 0 : 1;
}
