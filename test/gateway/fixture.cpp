// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "fixture.hpp"

#include "common/open_queue.hpp"

#include <weir/with_timeout.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <utility>

namespace gateway::test {

fixture::fixture() {
  std::signal(SIGPIPE, SIG_IGN);
  options.port = 0;
  options.pool.workers = 2;
  options.pool.task_timeout = 30s;
  options.limits.linger_time = 1s;
  options.jobs.queue = "memory:";
}

void fixture::run(program p) {
  server_.reset();  // those of the run before, where there was one
  queue_.reset();
  pool_.emplace(options.pool);
  io_.restart();
  queue_ = common::open_queue(io_.get_executor(),
                              {.text = options.jobs.queue, .capacity = options.jobs.capacity});
  server_.emplace(io_.get_executor(), *pool_, *queue_, options);
  server_->start();
  std::exception_ptr failure;
  asio::co_spawn(io_, run_to_end(p), [&](std::exception_ptr e) { failure = std::move(e); });
  io_.run_for(most_time);
  const bool ended = io_.stopped();
  BOOST_TEST(ended);
  if (failure) std::rethrow_exception(failure);

  const weir::pool_metrics m = pool_->metrics();
  BOOST_TEST(m.active == 0U);
  BOOST_TEST(m.queued == 0U);
  BOOST_TEST(m.users == 0U);
  BOOST_TEST(m.submitted == m.completed + m.failed + m.timed_out + m.cancelled);
  BOOST_TEST(server_->connections().open == 0U);
  const account& a = server_->books().total();
  BOOST_TEST(a.offered == a.ok + a.limited + a.unavailable + a.timed_out + a.other + a.gone);
}

asio::awaitable<void> fixture::run_to_end(program p) {
  std::exception_ptr failure;
  try {
    co_await p(*this);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await shut_down();
  if (failure) std::rethrow_exception(failure);
}

asio::awaitable<void> fixture::let_others_run() {
  // The pool's threads get the processor too, which a post in a loop would keep from them.
  asio::steady_timer timer(io_, 1ms);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> fixture::stop_accepting() {
  co_await server_->async_stop(asio::use_awaitable);
  // Closed when this returns; `shut_down` joins it.
  pool_->async_shutdown(weir::shutdown_options{.deadline = 10s},
                        [](const weir::error_code&, const weir::shutdown_report&) {});
}

asio::awaitable<void> fixture::shut_down(weir::duration deadline) {
  try {
    co_await weir::with_timeout(server_->async_stop(asio::use_awaitable),
                                std::max<weir::duration>(deadline, 1ms));
  } catch (const boost::system::system_error& e) {
    if (e.code() != weir::errc::deadline_exceeded) throw;  // jobs run that the pool will cut short
  }
  const weir::shutdown_options in_time{.deadline = deadline, .grace = 5s};
  const weir::shutdown_report report = co_await pool_->async_shutdown(in_time, asio::use_awaitable);
  BOOST_TEST(report.stuck.empty());
  co_await server_->async_close(asio::use_awaitable);
  queue_->close();
}

account fixture::told(std::string_view user) const {
  const auto& by_user = server_->books().by_user();
  const auto it = by_user.find(user);
  return it == by_user.end() ? account() : it->second;
}

asio::awaitable<void> client::connect() {
  co_await socket_.async_connect(gateway_, asio::use_awaitable);
}

asio::awaitable<void> client::send(std::string_view text) {
  co_await asio::async_write(socket_, asio::buffer(text), asio::use_awaitable);
}

asio::awaitable<response> client::receive() { return receive(false); }

asio::awaitable<response> client::receive_header() { return receive(true); }

asio::awaitable<response> client::receive(bool header_only) {
  http::response_parser<http::string_body> parser;
  parser.skip(header_only);
  co_await http::async_read(socket_, buffer_, parser, asio::use_awaitable);
  co_return parser.release();
}

asio::awaitable<bool> client::sees_close() {
  boost::system::error_code ec;
  std::array<char, 1> more;
  co_await socket_.async_read_some(asio::buffer(more),
                                   asio::redirect_error(asio::use_awaitable, ec));
  co_return ec == asio::error::eof&& buffer_.size() == 0;
}

void client::close() { socket_.close(); }

std::string text_of(std::string_view method, std::string_view target, std::string_view user,
                    std::string_view body, std::string_view fields) {
  std::string text(method);
  text.append(" ").append(target).append(" HTTP/1.1\r\nHost: gateway\r\n");
  if (!user.empty()) text.append("X-User: ").append(user).append("\r\n");
  text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  text.append(fields).append("\r\n").append(body);
  return text;
}

asio::awaitable<response> ask(fixture& f, std::string text) {
  return ask(client(f), std::move(text));
}

asio::awaitable<response> ask(client c, std::string text) {
  co_await c.connect();
  co_await c.send(text);
  co_return co_await c.receive();
}

}  // namespace gateway::test
