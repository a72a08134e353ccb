// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A file of lines, each naming a page, is read, parsed, fetched over HTTP from a server on this
// machine and written to a report, in batches. It takes two seconds, since there are 100 lines and
// the limit is 50 requests a second. You will see a bar fill up; that the server never had more
// than 8 requests at once; that the report is in the order of the file, though the server answers
// in any; and that the line that is no number and the page that is not there were counted and left
// out.

// expect: \[#+\] 100 of 100 lines, [0-9]+ a second
// expect: ^98 pages in the report, in the order of the file: yes$
// expect: ^left out: page 13: HTTP/1.0 404 Not Found$
// expect: ^left out: no page in the line "forty-two"$
// expect: ^at most 8 requests at once: yes; at most 50 a second: yes$

#include <weir/pipeline.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

constexpr int lines = 100;

/// What `istream_view` reads one of at a time, so that the file may be of any size.
struct line {
  std::string text;
  friend std::istream& operator>>(std::istream& in, line& l) { return std::getline(in, l.text); }
};

int parse(const line& l) {
  int page = 0;
  const char* end = l.text.data() + l.text.size();
  if (std::from_chars(l.text.data(), end, page).ptr != end)
    throw std::runtime_error("no page in the line \"" + l.text + '"');
  return page;
}

int requests = 0;
int most_requests = 0;

/// Answers one request, after 50 to 249 ms.
asio::awaitable<void> serve(tcp::socket socket) {
  most_requests = std::max(most_requests, ++requests);
  std::string in;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(in), "\r\n\r\n", use_awaitable);
  const int page = std::stoi(in.substr(in.find('/') + 1));
  weir::steady_timer work(socket.get_executor(), std::chrono::milliseconds(50 + page * 37 % 200));
  co_await work.async_wait(use_awaitable);
  const std::string answer = page == 13 ? "HTTP/1.0 404 Not Found\r\n\r\n"
                                        : "HTTP/1.0 200 OK\r\n\r\n" + std::to_string(page);
  --requests;
  co_await asio::async_write(socket, asio::buffer(answer), use_awaitable);
}

asio::awaitable<void> listen(tcp::acceptor& acceptor) {
  for (;;) {
    auto socket = co_await acceptor.async_accept(use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), asio::detached);
  }
}

asio::awaitable<std::string> fetch(tcp::endpoint server, int page) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, use_awaitable);
  const std::string request = "GET /" + std::to_string(page) + " HTTP/1.0\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(request), use_awaitable);
  std::string answer;
  boost::system::error_code end;  // of the answer
  auto token = asio::redirect_error(use_awaitable, end);
  co_await asio::async_read(socket, asio::dynamic_buffer(answer), token);
  if (!answer.starts_with("HTTP/1.0 200"))
    throw std::runtime_error("page " + std::to_string(page) + ": " +
                             answer.substr(0, answer.find('\r')));
  co_return answer.substr(answer.find("\r\n\r\n") + 4);
}

void draw(const weir::progress& p) {
  std::string bar(static_cast<std::size_t>(20 * p.share.value_or(0)), '#');
  bar.resize(20, ' ');
  std::printf("\r[%s] %d of %d lines, %.0f a second, %.1f s left ", bar.c_str(),
              static_cast<int>(p.count), lines, p.per_second,
              std::chrono::duration<double>(p.left.value_or(0s)).count());
  std::fflush(stdout);
}

}  // namespace

int main() {
  std::string name = (std::filesystem::temp_directory_path() / "weir_example_XXXXXX").string();
  if (!mkdtemp(name.data())) return 1;
  const std::filesystem::path directory(name);
  {
    std::ofstream file(directory / "pages.txt");
    for (int i = 0; i < lines; ++i) file << (i == 42 ? "forty-two" : std::to_string(i)) << '\n';
  }

  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(context, listen(acceptor), asio::detached);

  std::ifstream file(directory / "pages.txt");
  std::ofstream report(directory / "report.txt");
  weir::rate_limiter rate({.rate = 50, .per = 1s, .burst = 5}, "requests to the server");
  weir::progress_meter meter(lines);
  std::vector<std::exception_ptr> left_out;
  const auto get = [&](int page) { return fetch(acceptor.local_endpoint(), page); };
  const auto write = [&](const std::vector<std::string>& pages) {
    std::ranges::copy(pages, std::ostream_iterator<std::string>(report, "\n"));
    report.flush();
    draw(meter.read());
  };

  const auto start = weir::steady_clock::now();
  auto work = [&]() -> asio::awaitable<void> {
    co_await (weir::from(std::views::istream<line>(file)) | weir::tap_progress(meter) |
              weir::map(parse, {.errors = weir::collect_errors(left_out)}) | weir::throttle(rate) |
              weir::map(get, {.concurrency = 8,
                              .order = weir::input_order(16),
                              .errors = weir::collect_errors(left_out),
                              .timeout = 5s}) |
              weir::batch(10, 250ms) | weir::for_each(write));
    acceptor.close();
  };
  asio::co_spawn(context, work, asio::detached);
  context.run();
  const auto took = weir::steady_clock::now() - start;

  std::ifstream written(directory / "report.txt");
  const std::vector<int> pages{std::istream_iterator<int>(written), {}};
  std::cout << '\n'
            << pages.size() << " pages in the report, in the order of the file: "
            << (std::ranges::is_sorted(pages) ? "yes" : "no") << '\n';
  for (const std::exception_ptr& why : left_out) try {
      std::rethrow_exception(why);
    } catch (const std::exception& e) {
      std::cout << "left out: " << e.what() << '\n';
    }
  std::cout << "at most 8 requests at once: " << (most_requests <= 8 ? "yes" : "no")
            << "; at most 50 a second: " << (took >= 1800ms ? "yes" : "no") << '\n';
  std::filesystem::remove_all(directory);
}
