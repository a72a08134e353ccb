// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A file of lines, each naming a page, is read, parsed, fetched over HTTP from a server on this
// machine and written to a report, a batch of lines at a time. You will see that no more than 8
// pages are fetched at once and no more than 50 a second, that the report is in the order of the
// file though pages come back in any, that a line that is no number and a page that is not there
// are counted and left out, and a bar that says how far it is.

// expect: ^\[#+\] 60/60, [0-9]+ a second, 0.0 s left
// expect: ^58 lines written in [3-9] batches, in the order of the file: yes
// expect: ^left out: "sixty": stoi
// expect: ^left out: HTTP/1.0 404 for page 13
// expect: ^at most 8 at once: yes; no faster than 50 a second: yes

#include <weir/pipeline.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

int now_fetching = 0;
int most_fetching = 0;

/// Answers one request, the later the lower the page's number.
asio::awaitable<void> serve(tcp::socket socket) {
  std::string request;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n",
                                  asio::use_awaitable);
  const int page = std::stoi(request.substr(request.find('/') + 1));
  weir::steady_timer work(socket.get_executor(), std::chrono::milliseconds(60 - page % 60));
  co_await work.async_wait(asio::deferred);
  const std::string answer = page == 13 ? "HTTP/1.0 404 Not Found\r\n\r\n"
                                        : "HTTP/1.0 200 OK\r\n\r\npage " + std::to_string(page);
  co_await asio::async_write(socket, asio::buffer(answer), asio::use_awaitable);
}

asio::awaitable<void> listen(tcp::acceptor& acceptor) {
  for (;;) {
    auto socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), asio::detached);
  }
}

asio::awaitable<std::string> fetch(tcp::endpoint server, int page) {
  most_fetching = std::max(most_fetching, ++now_fetching);
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, asio::use_awaitable);
  const std::string request = "GET /" + std::to_string(page) + " HTTP/1.0\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
  std::string answer;
  boost::system::error_code end;
  auto read = asio::async_read(socket, asio::dynamic_buffer(answer),
                               asio::redirect_error(asio::use_awaitable, end));
  co_await std::move(read);
  --now_fetching;
  if (!answer.starts_with("HTTP/1.0 200"))
    throw std::runtime_error(answer.substr(0, 12) + " for page " + std::to_string(page));
  co_return answer.substr(answer.find("\r\n\r\n") + 4);
}

void draw(const weir::progress& p) {
  std::string bar(static_cast<std::size_t>(20 * p.share.value_or(0)), '#');
  bar.resize(20, ' ');
  const double left = std::chrono::duration<double>(p.left.value_or(0s)).count();
  std::printf("[%s] %d/60, %.0f a second, %.1f s left\n", bar.c_str(), static_cast<int>(p.count),
              p.per_second, left);
}

}  // namespace

int main() {
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += (i == 20 ? "sixty" : std::to_string(i)) + "\n";
  std::istringstream file(
      lines);  // stands for a file of any size: one line of it is read at a time

  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(context, listen(acceptor), asio::detached);

  weir::rate_limiter rate({.rate = 50, .per = 1s, .burst = 5}, "requests to the server");
  weir::progress_meter meter(60);
  std::vector<std::string> report;
  int batches = 0;
  const auto parse = [](const std::string& line) {
    try {
      return std::stoi(line);
    } catch (const std::invalid_argument& e) {
      throw std::runtime_error("\"" + line + "\": " + e.what());
    }
  };
  const auto get = [&](int page) { return fetch(acceptor.local_endpoint(), page); };
  const auto write = [&](std::vector<std::string> batch) {
    ++batches;
    std::ranges::move(batch, std::back_inserter(report));
    draw(meter.read());
  };
  std::vector<std::string> missing;
  auto left_out = [&](const std::exception_ptr& e) {
    try {
      std::rethrow_exception(e);
    } catch (const std::exception& error) {
      missing.push_back(error.what());
    }
  };

  const auto start = weir::steady_clock::now();
  auto work = [&]() -> asio::awaitable<void> {
    co_await (weir::from(std::ranges::istream_view<std::string>(file)) | weir::tap_progress(meter) |
              weir::map(parse, {.errors = weir::on_error(left_out)}) | weir::throttle(rate) |
              weir::map(get, {.concurrency = 8,
                              .order = weir::input_order(16),
                              .errors = weir::on_error(left_out),
                              .timeout = 5s}) |
              weir::batch(20, 1s) | weir::for_each(write));
    acceptor.close();
  };
  asio::co_spawn(context, work, asio::detached);
  context.run();

  const auto page = [](const std::string& line) { return std::stoi(line.substr(5)); };
  std::cout << report.size() << " lines written in " << batches
            << " batches, in the order of the file: "
            << (std::ranges::is_sorted(report, {}, page) ? "yes" : "no") << '\n';
  std::ranges::sort(missing);
  for (const auto& what : missing) std::cout << "left out: " << what << '\n';
  const bool in_time = weir::steady_clock::now() - start >= 1s;
  std::cout << "at most 8 at once: " << (most_fetching <= 8 ? "yes" : "no")
            << "; no faster than 50 a second: " << (in_time ? "yes" : "no") << '\n';
}
