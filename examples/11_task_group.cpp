// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A page that is put together from parts, at most three of which are fetched at once. You will see
// the parts come back in the order in which they were asked for; one failure end the others, none
// of which has to be cleaned up by hand, and turn away the producer that waits for room; and
// what the page is told: what went wrong, not that the rest was cancelled for it.

// expect: ^page: header menu news footer after 40 ms$
// expect: ^  [a-z]+ given up after 10 ms$
// expect: ^page of a broken site: news is broken after 10 ms, 2 parts of 3 cancelled$

#include <weir/task_group.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct part {
  std::string name;
  std::chrono::milliseconds takes;
  bool broken = false;
};

using weir::test::virtual_time;

asio::awaitable<std::string> fetch(const part& p, const virtual_time& time) {
  weir::steady_timer network(co_await asio::this_coro::executor, p.takes);
  const auto [ec] = co_await network.async_wait(asio::as_tuple(asio::deferred));
  if (ec) {
    std::cout << "  " << p.name << " given up after " << time.elapsed() / 1ms << " ms\n";
    throw boost::system::system_error(ec);
  }
  if (p.broken) throw std::runtime_error(p.name + " is broken");
  co_return p.name;
}

asio::awaitable<void> show_page(std::string title, std::vector<part> parts,
                                const virtual_time& time) {
  const auto executor = co_await asio::this_coro::executor;
  weir::task_group<std::string> group(executor,
                                      {.limit = 3, .on_error = weir::first_error_cancels});
  for (const part& p : parts) {
    // A name for the lambda: see the README on g++ 12.
    auto member = [&p, &time] { return fetch(p, time); };
    const auto [ec] =
        co_await group.async_spawn(std::move(member), asio::as_tuple(asio::use_awaitable));
    if (ec) break;  // the group has failed; the wait says why
  }
  auto [error, result] = co_await group.async_wait(asio::as_tuple(asio::use_awaitable));
  std::cout << title << ':';
  try {
    if (error) std::rethrow_exception(error);
    for (const std::string& text : std::move(result).values()) std::cout << ' ' << text;
    std::cout << " after " << time.elapsed() / 1ms << " ms\n";
  } catch (const std::runtime_error& e) {
    std::cout << ' ' << e.what() << " after " << time.elapsed() / 1ms << " ms, " << result.cancelled
              << " parts of " << result.outcomes.size() << " cancelled\n";
  }
}

void show(std::string title, std::vector<part> parts) {
  // Virtual time, so that the example takes none. A program has an executor of its own here.
  virtual_time time;
  time.spawn(show_page(std::move(title), std::move(parts), time));
  time.run();
}

}  // namespace

int main() {
  show("page", {{"header", 30ms}, {"menu", 20ms}, {"news", 40ms}, {"footer", 10ms}});
  show("page of a broken site",
       {{"header", 30ms}, {"menu", 20ms}, {"news", 10ms, true}, {"footer", 10ms}});
}
