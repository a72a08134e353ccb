// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A server that is stopped on another thread than it serves on, for the sanitizers.

#include "pool_fixture.hpp"

#include <weir/admin.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

using namespace weir_test;

BOOST_AUTO_TEST_SUITE(admin_stress)

namespace {

using asio::ip::tcp;

std::string request(const std::string& target, const std::string& fields = {}) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}

std::size_t count_of(std::string_view part, std::string_view text) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// What clients of a server do, and what they have seen.
struct clients {
  tcp::endpoint server;
  std::atomic<bool> stopping{false};
  std::atomic<int> answers{0}, events{0}, wrong{0};

  asio::awaitable<tcp::socket> ask(std::string text, error_code& ec) {
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect(server, asio::redirect_error(asio::use_awaitable, ec));
    if (!ec)
      co_await asio::async_write(socket, asio::buffer(text),
                                 asio::redirect_error(asio::use_awaitable, ec));
    co_return socket;
  }

  /// Asks for this and that until the server has gone.
  asio::awaitable<void> look() {
    const std::string text =
        request("/metrics") + request("/tasks") + request("/healthz", "Connection: close\r\n");
    while (!stopping) {
      error_code ec;
      tcp::socket socket = co_await ask(text, ec);
      std::string said;
      if (!ec)
        co_await asio::async_read(socket, asio::dynamic_buffer(said),
                                  asio::redirect_error(asio::use_awaitable, ec));
      if (count_of("HTTP/1.1 200 OK", said) == 3)
        ++answers;
      else if (!stopping)
        ++wrong;
    }
  }

  /// Follows the events until the server has gone.
  asio::awaitable<void> follow() {
    while (!stopping) {
      error_code ec;
      tcp::socket socket = co_await ask(request("/events"), ec);
      std::string said;
      while (!ec) {
        const std::size_t n =
            co_await asio::async_read_until(socket, asio::dynamic_buffer(said), "\n\n",
                                            asio::redirect_error(asio::use_awaitable, ec));
        said.erase(0, n);
        if (!ec) ++events;
      }
      if (!stopping) ++wrong;
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(pools_and_hooks_may_go_once_a_server_is_stopped_whoever_asks) {
  for (int round = 0; round < 60; ++round) {
    asio::thread_pool threads(3);
    std::optional<weir::worker_pool> pool(
        std::in_place,
        weir::pool_options{.workers = 2, .threads = 1, .queue_size = 50, .max_per_user = 0});
    std::atomic<bool> gone{false};
    std::atomic<int> late{0};
    const weir::admin_options what{.pools = {&*pool},
                                   .metrics =
                                       [&] {
                                         if (gone) ++late;
                                         return std::to_string(pool->metrics().completed);
                                       },
                                   .interval = 10ms};
    std::optional<weir::admin_server> server(std::in_place, threads.get_executor(), what);
    clients all{.server = server->local_endpoint()};
    std::vector<std::future<void>> ended;
    for (int i = 0; i < 3; ++i)
      ended.push_back(asio::co_spawn(asio::make_strand(threads), all.look(), asio::use_future));
    for (int i = 0; i < 2; ++i)
      ended.push_back(asio::co_spawn(asio::make_strand(threads), all.follow(), asio::use_future));
    while (all.answers < 1 + round % 5 || all.events < 2 + round % 3) {
      std::ignore = pool->submit(task_of("ann", nothing()));
      std::this_thread::yield();
    }
    all.stopping = true;
    if (round % 3 == 0) {
      server.reset();
    } else if (round % 3 == 1) {
      server->stop();
    } else {
      std::thread other([&] { server->stop(); });
      server->stop();
      gone = true;
      other.join();
    }
    gone = true;
    pool.reset();
    for (auto& e : ended) e.get();
    server.reset();
    threads.join();
    BOOST_TEST(late == 0);
    BOOST_TEST(all.wrong == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
