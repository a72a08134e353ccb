// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "session.hpp"

#include "close_gently.hpp"
#include "hangup_watch.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

namespace gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

namespace {

/// What to tell a client whose request could not be read; nothing where it has left.
std::optional<answer> complaint_about(const boost::system::error_code& ec, bool too_late) {
  if (ec == asio::error::operation_aborted) {
    if (!too_late) return {};
    return refusal(http::status::request_timeout, "the request took too long to arrive");
  }
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow)
    return refusal(http::status::request_header_fields_too_large, "the header is too large");
  if (ec == http::error::body_limit)
    return refusal(http::status::payload_too_large, "the body is too large");
  if (ec == http::error::end_of_stream || ec == http::error::partial_message) return {};
  if (ec.category() == make_error_code(http::error::bad_method).category())
    return refusal(http::status::bad_request, ec.message());
  return {};
}

/// The time as a `Date` header has it, made once a second.
std::string_view http_date() {
  thread_local std::time_t made = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != made) {
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char buffer[sizeof "Thu, 01 Jan 1970 00:00:00 GMT"];
    text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts));
    made = now;
  }
  return text;
}

beast::string_view view(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

/// What an answer has to know of its request.
struct session::reply_to {
  std::string_view user;
  unsigned version = 11;
  bool keep_alive = false;
  bool head = false;
};

session::session(tcp::socket socket, service& s, const connection_limits& limits)
    : socket_(std::move(socket)),
      service_(s),
      limits_(limits),
      deadline_(socket_),
      buffer_(limits.header) {
  boost::system::error_code ignored;  // fails only where the client has gone: reading will tell
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
}

asio::awaitable<void> session::run(std::shared_ptr<session> self) {
  // Two statements: g++ 12 loses its place between two `co_await`s that `&&` joins in a condition.
  bool more = true;
  while (more) {
    more = co_await self->wait_for_request();
    if (more) more = co_await self->serve_one();
  }
  co_await close_gently(self->socket_, self->limits_.linger_time);
}

void session::finish(weir::duration within) {
  finishing_ = true;
  if (phase_ == phase::idle) {
    boost::system::error_code ignored;  // a socket that cannot be cancelled is closed already
    socket_.cancel(ignored);
  } else if (phase_ == phase::reading) {
    deadline_.shorten(within);
  }
}

void session::abort() {
  finishing_ = true;
  boost::system::error_code ignored;  // it is closed in any case
  socket_.close(ignored);
  hangup_.emit(asio::cancellation_type::terminal);
}

bool session::has_input() {
  boost::system::error_code ec;
  return buffer_.size() > 0 || socket_.available(ec) > 0;
}

asio::awaitable<bool> session::wait_for_request() {
  // Waits without a buffer: a connection that is idle holds as little memory as can be.
  phase_ = phase::idle;
  if (has_input()) co_return true;
  if (finishing_) co_return false;
  boost::system::error_code ec;
  deadline_.set(limits_.idle_time);
  co_await socket_.async_wait(tcp::socket::wait_read,
                              asio::redirect_error(asio::use_awaitable, ec));
  // A request that has come just as we were told to finish is still answered.
  co_return !ec || (finishing_ && has_input());
}

asio::awaitable<bool> session::serve_one() {
  phase_ = phase::reading;
  boost::system::error_code ec;
  http::request_parser<http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(limits_.header));
  parser.body_limit(limits_.body);
  deadline_.set(limits_.header_time);
  co_await http::async_read_header(socket_, buffer_, parser,
                                   asio::redirect_error(asio::use_awaitable, ec));
  if (!ec && !parser.is_done()) {
    deadline_.set(limits_.body_time);
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      const http::response<http::empty_body> go_on(http::status::continue_, 11);
      co_await http::async_write(socket_, go_on, asio::redirect_error(asio::use_awaitable, ec));
    }
    if (!ec)
      co_await http::async_read(socket_, buffer_, parser,
                                asio::redirect_error(asio::use_awaitable, ec));
  }
  phase_ = phase::answering;

  const std::string user(service::user_of(parser.get()));
  reply_to to{.user = user};
  if (ec) {
    // Where this request ends cannot be told any more, so it is the last on its connection.
    std::optional<answer> complaint = complaint_about(ec, deadline_.expired());
    if (complaint) co_await write(std::move(*complaint), to);
    co_return false;
  }
  to.version = parser.get().version();
  to.keep_alive = parser.get().keep_alive();
  to.head = parser.get().method() == http::verb::head;

  std::variant<answer, work_order, queue_call> routed = service_.route(parser.release());
  answer* const at_once = std::get_if<answer>(&routed);
  if (at_once != nullptr) co_return co_await write(std::move(*at_once), to);

  deadline_.clear();  // from here on that of the queue or of the pool holds
  answer result;
  if (auto* const call = std::get_if<queue_call>(&routed)) {
    result = co_await service_.ask_queue(std::move(*call));
    co_return co_await write(std::move(result), to);
  }
  {
    const hangup_watch watch(socket_, buffer_, hangup_);
    result = co_await service_.run(std::move(std::get<work_order>(routed)), hangup_.slot());
    if (watch.gone()) {
      service_.books.abandoned(user);
      co_return false;
    }
  }
  co_return co_await write(std::move(result), to);
}

asio::awaitable<bool> session::write(answer a, reply_to to) {
  const bool keep = to.keep_alive && !service_.closing && ++answered_ < limits_.requests;
  http::response<http::string_body> response(a.status, to.version, std::move(a.body));
  response.set(http::field::server, "weir-gateway");
  response.set(http::field::date, view(http_date()));
  response.set(http::field::content_type, view(a.content_type));
  if (a.retry_after) response.set(http::field::retry_after, std::to_string(a.retry_after->count()));
  if (a.upstream_status) response.set("X-Upstream-Status", std::to_string(*a.upstream_status));
  if (!a.location.empty()) response.set(http::field::location, a.location);
  if (!a.allow.empty()) response.set(http::field::allow, view(a.allow));
  response.keep_alive(keep);
  response.prepare_payload();
  if (to.head) response.body().clear();  // its length stays in the header

  // Entered before it is written, so that whoever has an answer finds it in the books.
  const auto status = static_cast<unsigned>(a.status);
  if (a.accounted) service_.books.answered(to.user, status);
  boost::system::error_code ec;
  deadline_.set(limits_.write_time);
  co_await http::async_write(socket_, response, asio::redirect_error(asio::use_awaitable, ec));
  if (ec && a.accounted) service_.books.undelivered(to.user, status);
  co_return keep && !ec;
}

}  // namespace gateway
