// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Asks the admin server of the installed library for the health of a pool.

#include <weir/admin.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>

namespace asio = boost::asio;

int main() {
  asio::io_context context(1);
  weir::worker_pool pool(context.get_executor());
  weir::admin_server admin(context.get_executor(), {.pools = {&pool}});
  asio::ip::tcp::socket socket(context);
  socket.connect(admin.local_endpoint());
  constexpr std::string_view request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  asio::write(socket, asio::buffer(request));
  std::string answer;
  asio::async_read_until(socket, asio::dynamic_buffer(answer), "\r\n\r\nok\n",
                         [&](const boost::system::error_code&, std::size_t) { admin.stop(); });
  context.run();
  std::cout << answer;
  return answer.starts_with("HTTP/1.1 200 OK\r\n") ? 0 : 1;
}
