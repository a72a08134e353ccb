// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "server.hpp"

#include "close_gently.hpp"

#include <weir/with_timeout.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#if defined(__linux__)
#include <linux/filter.h>
#include <sys/socket.h>
#endif

namespace gateway {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::string_view too_many =
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Server: weir-gateway\r\n"
    "Connection: close\r\n"
    "Retry-After: 1\r\n"
    "X-Refused: connection\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 21\r\n\r\n"
    "too many connections\n";

constexpr std::size_t most_refusals = 64;
constexpr auto pause_time = std::chrono::milliseconds(100);

/// Lets no further handshake through to `acceptor`, where the system can do that. Closing a
/// listening socket resets what has been connected and not yet accepted; once nothing new arrives,
/// all that is left can be accepted first.
void stop_handshakes(tcp::acceptor& acceptor) {
#if defined(__linux__)
  sock_filter drop_all[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
  const sock_fprog program{1, drop_all};
  // Where it fails the worst is what would happen without it.
  static_cast<void>(::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_ATTACH_FILTER, &program,
                                 sizeof program));
#else
  static_cast<void>(acceptor);
#endif
}

/// Closes a connection that has its answer already.
asio::awaitable<void> see_off(tcp::socket socket, weir::duration within) {
  co_await close_gently(socket, within);
}

/// What goes wrong on one connection, such as no memory for it, ends that connection alone.
void complain(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::cerr << "gateway: a connection ended: " << e.what() << '\n';
  }
}

}  // namespace

server::server(asio::any_io_executor ex, weir::worker_pool& pool, weir::task_queue& queue,
               options o)
    : executor_(std::move(ex)),
      options_(std::move(o)),
      service_(pool, queue, options_),
      acceptor_(executor_, tcp::endpoint(asio::ip::make_address(options_.address), options_.port)),
      endpoint_(acceptor_.local_endpoint()),
      pause_(executor_),
      ended_(executor_) {
  if (options_.admin < 0) return;
  if (options_.admin > std::numeric_limits<std::uint16_t>::max())
    throw std::invalid_argument("--admin is not a port");
  // Without what only the queue knows: an administrator's server does not wait for a database.
  const weir::admin_options what{.pools = {&pool},
                                 .metrics = [this] { return service_.metrics_text({}); }};
  admin_.emplace(executor_, what,
                 weir::admin_server_options{.port = static_cast<std::uint16_t>(options_.admin)});
}

std::optional<tcp::endpoint> server::admin_endpoint() const {
  return admin_ ? std::optional(admin_->local_endpoint()) : std::nullopt;
}

void server::start() {
  service_.accepting = true;
  spawn(accept(), [] {});
  service_.jobs().start();
}

asio::awaitable<void> server::accept() {
  while (acceptor_.is_open()) {
    boost::system::error_code ec;
    tcp::socket socket(executor_);
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, ec));
    if (!ec) {
      admit(std::move(socket));
    } else if (ec != asio::error::connection_aborted && acceptor_.is_open()) {
      // Most likely out of descriptors: the connection stays in the backlog, and trying again at
      // once would spin.
      service_.accepting = false;
      pause_.expires_after(pause_time);
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
      service_.accepting = acceptor_.is_open();
    }
  }
}

asio::awaitable<void> server::stop() {
  stop_accepting();
  co_await service_.jobs().async_stop(asio::use_awaitable);
}

void server::stop_accepting() {
  service_.closing = true;
  service_.accepting = false;
  if (!acceptor_.is_open()) return;
  stop_handshakes(acceptor_);
  boost::system::error_code ec;
  acceptor_.non_blocking(true, ec);
  while (!ec) {
    tcp::socket socket(executor_);
    acceptor_.accept(socket, ec);
    if (!ec) admit(std::move(socket));
  }
  acceptor_.close(ec);  // whatever it says, nothing is accepted any more
  pause_.cancel();
}

asio::awaitable<void> server::close() {
  const weir::duration within = options_.limits.linger_time;
  if (admin_) admin_->stop();
  stop_accepting();
  for (const auto& s : open_sessions()) s->finish(within);
  co_await wait_for_ends(2 * within);
  for (const auto& s : open_sessions()) s->abort();
  co_await wait_for_ends(within);
  try {
    // What the pool has cut short is being given back. A task that is stuck is not waited for.
    co_await weir::with_timeout(service_.jobs().async_stop(asio::use_awaitable), within);
  } catch (const boost::system::system_error& e) {
    if (e.code() != weir::errc::deadline_exceeded) throw;
  }
}

asio::awaitable<void> server::wait_for_ends(weir::duration within) {
  const weir::time_point limit = weir::steady_clock::now() + within;
  while (routines_ > 0 && weir::steady_clock::now() < limit) {
    boost::system::error_code woken;
    ended_.expires_at(limit);
    co_await ended_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

void server::admit(tcp::socket socket) {
  if (sessions_.size() >= options_.limits.connections) return refuse(std::move(socket));
  auto s = std::make_shared<session>(std::move(socket), service_, options_.limits);
  session* const key = s.get();
  sessions_.emplace(key, s);
  ++service_.connections.accepted;
  service_.connections.open = sessions_.size();
  spawn(session::run(std::move(s)), [this, key] {
    sessions_.erase(key);
    service_.connections.open = sessions_.size();
  });
}

void server::refuse(tcp::socket socket) {
  ++service_.connections.refused;
  // Nothing has been written on this socket yet, so there is room for a line: no need to wait.
  boost::system::error_code ec;
  socket.non_blocking(true, ec);
  if (!ec) socket.write_some(asio::buffer(too_many), ec);
  if (ec) return;
  if (refusals_ < most_refusals) {
    ++refusals_;
    spawn(see_off(std::move(socket), options_.limits.linger_time), [this] { --refusals_; });
    return;
  }
  // Even those who are turned away may be too many to wait for. What they have sent is read, so
  // that the close is no reset as far as that goes.
  socket.shutdown(tcp::socket::shutdown_send, ec);
  std::array<char, 1024> unwanted;
  while (!ec) socket.read_some(asio::buffer(unwanted), ec);
}

void server::spawn(asio::awaitable<void> routine, std::function<void()> at_end) {
  ++routines_;
  asio::co_spawn(executor_, std::move(routine),
                 [this, at_end = std::move(at_end)](const std::exception_ptr& error) {
                   if (error) complain(error);
                   at_end();
                   --routines_;
                   ended_.cancel();
                 });
}

std::vector<std::shared_ptr<session>> server::open_sessions() const {
  std::vector<std::shared_ptr<session>> all;
  all.reserve(sessions_.size());
  for (const auto& [key, s] : sessions_) all.push_back(s);
  return all;
}

}  // namespace gateway
