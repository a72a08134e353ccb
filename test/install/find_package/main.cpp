// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Runs one task through a pool of the installed library.

#include <weir/worker_pool.hpp>

#include <boost/asio/use_future.hpp>

#include <iostream>

int main() {
  weir::worker_pool pool;
  auto answer = [](weir::task_context&) { return 42; };
  const int got =
      weir::co_spawn(pool, {.user = "me"}, std::move(answer), boost::asio::use_future).get();
  std::cout << "the task returned " << got << '\n';
  return got == 42 ? 0 : 1;
}
