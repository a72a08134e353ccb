// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A task that waits for a server which never answers. It has a quarter of a second, and nothing in
// it watches the time: you will see its read end with an error at the deadline, its caller told
// that it timed out, its socket closed as its frame is unwound, and its user's only slot free
// again.

// expect: the read: Operation canceled, cause: timeout
// expect: the caller: 504, the task outlived its run deadline
// expect: the connection, seen from the server: End of file
// expect: the pool: 1 timed out, 0 active, 0 users
// expect: the next task of the same user: done

#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

asio::awaitable<std::string> ask(weir::task_context& context, tcp::endpoint server) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, asio::use_awaitable);
  std::string answer;
  try {
    co_await asio::async_read_until(socket, asio::dynamic_buffer(answer), '\n',
                                    asio::use_awaitable);
  } catch (const boost::system::system_error& e) {
    std::cout << "the read: " << e.code().message() << ", cause: " << to_string(context.cause())
              << '\n';
    throw;
  }
  co_return answer;
}

asio::awaitable<void> run(weir::worker_pool& pool) {
  // It listens, so that connecting succeeds, but nobody accepts.
  tcp::acceptor silent(co_await asio::this_coro::executor, {asio::ip::address_v4::loopback(), 0});

  try {
    auto work = [server = silent.local_endpoint()](weir::task_context& context) {
      return ask(context, server);
    };
    co_await weir::co_spawn(pool, {.user = "ada", .timeout = 250ms}, std::move(work),
                            asio::use_awaitable);
  } catch (const boost::system::system_error& e) {
    std::cout << "the caller: " << weir::http_status(e.code()) << ", " << e.code().message()
              << '\n';
  }

  tcp::socket peer = co_await silent.async_accept(asio::use_awaitable);
  char byte = 0;
  const auto [ec, size] =
      co_await peer.async_receive(asio::buffer(&byte, 1), asio::as_tuple(asio::use_awaitable));
  std::cout << "the connection, seen from the server: " << ec.message() << '\n';

  const weir::pool_metrics m = pool.metrics();
  std::cout << "the pool: " << m.timed_out << " timed out, " << m.active << " active, " << m.users
            << " users\n";

  auto next = [](weir::task_context&) { std::cout << "the next task of the same user: done\n"; };
  co_await weir::co_spawn(pool, {.user = "ada"}, std::move(next), asio::use_awaitable);
}

}  // namespace

int main() {
  asio::io_context context;
  // A caller is told only when its task has really ended, however long that takes.
  weir::worker_pool pool({.workers = 1, .max_per_user = 1, .answer_after = weir::duration::max()});
  auto ended = asio::co_spawn(context, run(pool), asio::use_future);
  context.run();
  ended.get();
}
