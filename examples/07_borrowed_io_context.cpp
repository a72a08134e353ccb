// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A pool in a program of one thread. The pool borrows the program's io_context and starts no
// thread, so tasks may use what belongs to that thread without a lock. You will see six tasks run
// two at a time, all on the thread of main, and the context run out of work once the last has
// ended: an idle pool does not keep it going.

// expect: handed over: 6, running: 0
// expect: done: 6, at most 2 at once
// expect: threads used: 1, the one of main: yes
// expect: refused after the shutdown: weir:1

#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>
#include <string>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Shared by all tasks, with nothing to guard it.
struct ledger {
  int running = 0;
  int most = 0;
  int done = 0;
  std::set<std::thread::id> threads;
};

asio::awaitable<void> work(ledger& book) {
  book.threads.insert(std::this_thread::get_id());
  book.most = std::max(book.most, ++book.running);
  asio::steady_timer io(co_await asio::this_coro::executor, 1ms);
  co_await io.async_wait(asio::use_awaitable);
  book.threads.insert(std::this_thread::get_id());
  --book.running;
  ++book.done;
}

}  // namespace

int main() {
  ledger book;
  asio::io_context context(1);
  weir::worker_pool pool(context.get_executor(), {.workers = 2});

  for (const char* user : {"ada", "grace", "edsger", "ada", "grace", "edsger"}) {
    const auto ec =
        pool.submit({.user = user, .fn = [&book](weir::task_context&) { return work(book); }});
    if (ec) throw boost::system::system_error(ec);
  }
  std::cout << "handed over: " << pool.metrics().submitted << ", running: " << book.running << '\n';

  context.run();
  std::cout << "done: " << book.done << ", at most " << book.most << " at once\n";
  std::cout << "threads used: " << book.threads.size() << ", the one of main: "
            << (book.threads.contains(std::this_thread::get_id()) ? "yes" : "no") << '\n';

  // Shutting down is work for the same thread, too.
  auto report = pool.async_shutdown({.deadline = 1s}, asio::use_future);
  context.restart();
  context.run();
  report.get();
  const auto late = pool.submit({.user = "ada", .fn = [](weir::task_context&) {}});
  std::cout << "refused after the shutdown: " << late << '\n';
}
