// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A pool beside the io_context of an Asio program. The coroutine `greet` hands a piece of work to
// the pool, which runs it on a thread of its own within the limits that stand where the pool is
// made, and awaits what it returns. You will see that result.

// expect: hello, ada

//[hello
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>
#include <iostream>
#include <string>

namespace asio = boost::asio;

asio::awaitable<void> greet(weir::worker_pool& pool) {
  auto work = [](weir::task_context& context) -> asio::awaitable<std::string> {
    co_return "hello, " + std::string(context.user());  // any awaitable code
  };
  std::cout << co_await weir::co_spawn(pool, {.user = "ada"}, work, asio::use_awaitable) << '\n';
}

int main() {
  asio::io_context context;
  weir::worker_pool pool({.workers = 16, .queue_size = 200, .max_per_user = 2});
  auto greeted = asio::co_spawn(context, greet(pool), asio::use_future);
  context.run();
  greeted.get();  // throws what `greet` threw: a refusal is a system_error
}
//]
