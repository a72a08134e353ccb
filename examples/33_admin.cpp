// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A program that can be looked at. You will see it ask its own admin server for its health and for
// its tasks, as `curl` would. A browser at the same address gets a page that goes on by itself.

// expect: healthz: ok
// expect: pool 'uploads': 2 tasks
// expect:   running  'photo' of 'ada', priority 0, age .*, from 33_admin.cpp:[0-9]+
// expect:   queued   'video' of 'ben', priority 0, age .*, from 33_admin.cpp:[0-9]+

#include <weir/admin.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> upload(weir::task_context&) {
  weir::steady_timer timer(co_await asio::this_coro::executor, 1h);
  co_await timer.async_wait(asio::use_awaitable);
}

/// The body of the answer to a GET.
asio::awaitable<std::string> get(tcp::endpoint server, std::string path) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, asio::use_awaitable);
  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
  std::string answer;
  boost::system::error_code ec;
  co_await asio::async_read(socket, asio::dynamic_buffer(answer),
                            asio::redirect_error(asio::use_awaitable, ec));
  if (ec != asio::error::eof) throw boost::system::system_error(ec);
  co_return answer.substr(answer.find("\r\n\r\n") + 4);
}

asio::awaitable<void> look(weir::worker_pool& pool, weir::admin_server& admin) {
  const tcp::endpoint address = admin.local_endpoint();
  const std::string health = co_await get(address, "/healthz");
  const std::string tasks = co_await get(address, "/tasks?format=text");
  std::cout << "healthz: " << health << tasks;
  admin.stop();
  co_await pool.async_shutdown({.deadline = 0s, .abandon = true}, asio::use_awaitable);
}

}  // namespace

int main() {
  asio::io_context context(1);
  weir::worker_pool pool(context.get_executor(), {.workers = 1, .name = "uploads"});
  weir::admin_server admin(context.get_executor(), {.pools = {&pool}});
  pool.submit({.id = "photo", .user = "ada", .fn = upload});
  pool.submit({.id = "video", .user = "ben", .fn = upload});
  asio::co_spawn(context, look(pool, admin), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
  context.run();
}
