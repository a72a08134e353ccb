// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Puts a job into a queue of the installed library, in a database that is not kept.

#include <weir/sqlite_queue.hpp>

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <iostream>

int main() {
  boost::asio::thread_pool threads(1);
  weir::sqlite_queue queue(threads.get_executor(), ":memory:");
  const auto added = queue.async_enqueue({.kind = "mine"}, boost::asio::use_future).get();
  std::cout << "job " << added.id << '\n';
  return added.id == 1 ? 0 : 1;
}
