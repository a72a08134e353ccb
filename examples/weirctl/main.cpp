// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Looks into a queue of jobs, and works on it: one in an SQLite file or in a Redis server.
//
//   weirctl --queue jobs.db enqueue hash words.txt     a job for each line
//   weirctl --queue jobs.db watch                      until Ctrl-C
//   weirctl --queue jobs.db list; weirctl --queue jobs.db show 7
//   weirctl --queue jobs.db requeue --all
//   weirctl --queue redis://localhost drain --time 1min
//
// You will see what has been done on standard output, and what has not on standard error, with an
// exit status other than 0.

#include "command.hpp"
#include "run.hpp"

#include "../common/flags.hpp"
#include "../common/open_queue.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/system/system_error.hpp>

#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <span>

namespace {

namespace asio = boost::asio;

int carry_out(const weirctl::command& c) {
  asio::io_context io(1);
  const std::unique_ptr<weir::task_queue> queue =
      common::open_queue(io.get_executor(), {.text = c.queue, .create = c.name == "enqueue"});
  asio::cancellation_signal interrupted;
  asio::signal_set signals(io);
  if (c.name == "watch") {
    signals.add(SIGINT);
    signals.async_wait([&](const boost::system::error_code& ec, int) {
      if (!ec) interrupted.emit(asio::cancellation_type::terminal);
    });
  }
  std::exception_ptr failure;
  int status = 1;
  const weirctl::streams streams{std::cin, std::cout, std::cerr, ::isatty(STDOUT_FILENO) == 1};
  asio::co_spawn(
      io, weirctl::run(*queue, c, streams),
      asio::bind_cancellation_slot(interrupted.slot(), [&](std::exception_ptr e, int result) {
        failure = std::move(e);
        status = result;
        signals.cancel();
        queue->close();  // or its server keeps us here
      }));
  io.run();
  if (!failure) return status;
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& e) {
    if (e.code() != asio::error::operation_aborted) throw;
    std::cout << '\n';
    return 0;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto c =
      weirctl::parse(std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc - 1)));
  if (!c) {
    weirctl::print_help(std::cout);
    return 0;
  }
  return carry_out(*c);
} catch (const common::flag_error& e) {
  std::cerr << "weirctl: " << e.what() << '\n';
  return 2;
} catch (const std::exception& e) {
  std::cerr << "weirctl: " << e.what() << '\n';
  return 1;
}
