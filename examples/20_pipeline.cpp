// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A pipeline: lines are parsed, each number is looked up, three at a time, and what was found is
// written in pairs, in the order of the lines. You will see that three look-ups are under way and
// no more, and that a line that cannot be parsed is reported and left out.

// expect: ^not a number: "six"$
// expect: ^written: 0 1, 4 9, 16 25, 49 64, 81,$
// expect: ^look-ups at once: 3$

#include <weir/pipeline.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

int parse(const std::string& line) {
  try {
    return std::stoi(line);
  } catch (const std::invalid_argument&) {
    throw std::runtime_error("not a number: \"" + line + '"');
  }
}

int under_way = 0;
int most_under_way = 0;

/// Stands for a query to a server.
asio::awaitable<int> look_up(int n) {
  most_under_way = std::max(most_under_way, ++under_way);
  weir::steady_timer server(co_await asio::this_coro::executor, 2ms);
  co_await server.async_wait(asio::deferred);
  --under_way;
  co_return n* n;
}

}  // namespace

int main() {
  std::istringstream lines("0 1 2 3 4 5 six 7 8 9");
  auto report = [](const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::runtime_error& e) {
      std::cout << e.what() << '\n';
    }
  };
  std::string written;
  const auto write = [&](const std::vector<int>& pair) {
    for (const int n : pair) written += ' ' + std::to_string(n);
    written += ',';
  };

  asio::io_context context;
  asio::co_spawn(context,
                 weir::from(std::views::istream<std::string>(lines)) |
                     weir::map(parse, {.errors = weir::on_error(report)}) |
                     weir::map(look_up, {.concurrency = 3, .order = weir::input_order(6)}) |
                     weir::batch(2) | weir::for_each(write),
                 asio::detached);
  context.run();
  std::cout << "written:" << written << "\nlook-ups at once: " << most_under_way << '\n';
}
