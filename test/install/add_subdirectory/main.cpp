// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Runs one task through a pool of the library built in the same tree.

#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <iostream>
#include <string>

int main() {
  weir::worker_pool pool({.workers = 1, .threads = 1});
  auto greet = [](weir::task_context& context) -> boost::asio::awaitable<std::string> {
    co_return "hello, " + std::string(context.user());
  };
  const std::string got =
      weir::co_spawn(pool, {.user = "me"}, std::move(greet), boost::asio::use_future).get();
  std::cout << got << '\n';
  return got == "hello, me" ? 0 : 1;
}
