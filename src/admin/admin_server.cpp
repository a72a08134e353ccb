// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/admin.hpp>
#include <weir/detail/require.hpp>
#include <weir/error.hpp>
#include <weir/permit.hpp>
#include <weir/semaphore.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

namespace weir {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr auto admin_linger = std::chrono::seconds(1);
constexpr auto admin_pause = std::chrono::milliseconds(100);

/// What to tell a client whose request could not be read; empty: it has left, or was too slow.
std::string admin_complaint(const boost::system::error_code& ec) {
  const char* status = nullptr;
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow)
    status = "431 Request Header Fields Too Large";
  else if (ec == http::error::body_limit || ec == http::error::unexpected_body)
    status = "413 Payload Too Large";
  else if (ec != http::error::end_of_stream && ec != http::error::partial_message &&
           ec.category() == make_error_code(http::error::bad_method).category())
    status = "400 Bad Request";
  if (status == nullptr) return {};
  return std::string("HTTP/1.1 ") + status + "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
}

admin_options with_default_hosts(admin_options what, const asio::ip::address& address) {
  if (address.is_loopback() && what.hosts.empty())
    what.hosts = {"localhost", "127.0.0.1", "[::1]",
                  address.is_v6() ? '[' + address.to_string() + ']' : address.to_string()};
  return what;
}

}  // namespace

namespace detail {

/// Lives as long as the server or one of its coroutines.
class admin_server_state : public std::enable_shared_from_this<admin_server_state> {
 public:
  admin_server_state(const asio::any_io_executor& ex, admin_options what,
                     admin_server_options where, const asio::ip::address& address)
      : options_(std::move(where)),
        strand_(asio::make_strand(ex)),
        handler_(with_default_hosts(std::move(what), address)),
        places_(strand_,
                std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(options_.connections), 1)),
        acceptor_(strand_, tcp::endpoint(address, options_.port)),
        endpoint_(acceptor_.local_endpoint()) {}

  void start() {
    asio::co_spawn(strand_, accept(shared_from_this()), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }

  void stop() {
    handler_.stop();
    places_.close();
    asio::post(strand_, [self = shared_from_this()] {
      self->stopped_ = true;
      boost::system::error_code ignored;  // whatever it says, it is closed
      self->acceptor_.close(ignored);
      for (beast::tcp_stream* s : self->open_) s->socket().close(ignored);
    });
  }

  const tcp::endpoint& endpoint() const { return endpoint_; }

 private:
  static asio::awaitable<void> accept(std::shared_ptr<admin_server_state> self) {
    while (!self->stopped_) {
      boost::system::error_code ec;
      permit place =
          co_await self->places_.async_acquire(asio::redirect_error(asio::use_awaitable, ec));
      if (ec) co_return;
      tcp::socket socket(self->strand_);
      co_await self->acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, ec));
      if (self->stopped_) co_return;
      if (ec) {
        // Most likely out of descriptors: trying again at once would spin.
        steady_timer pause(self->strand_, admin_pause);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        continue;
      }
      // A connection that ends with an error has lost its client: there is nobody to tell.
      asio::co_spawn(self->strand_, serve(self, std::move(socket), std::move(place)),
                     [](const std::exception_ptr&) {});
    }
  }

  static asio::awaitable<void> serve(std::shared_ptr<admin_server_state> self, tcp::socket socket,
                                     permit place) {
    static_cast<void>(place);
    beast::tcp_stream stream(std::move(socket));
    const entry in_list(*self, stream);
    beast::flat_buffer buffer(self->options_.header_limit);
    bool more = !self->stopped_;
    while (more) {
      http::request_parser<http::empty_body> parser;
      parser.header_limit(static_cast<std::uint32_t>(self->options_.header_limit));
      boost::system::error_code ec;
      stream.expires_after(self->options_.read_time);
      co_await http::async_read(stream, buffer, parser,
                                asio::redirect_error(asio::use_awaitable, ec));
      stream.expires_after(admin_linger);
      if (ec) {
        const std::string complaint = admin_complaint(ec);
        if (complaint.empty()) co_return;
        co_await asio::async_write(stream, asio::buffer(complaint), asio::use_awaitable);
        break;
      }
      stream.expires_never();  // the handler has limits of its own
      more = co_await self->handler_.handle(stream, parser.get());
    }
    // What the client still sends is read for a while: a reset could overtake the answer.
    boost::system::error_code ec;
    stream.socket().shutdown(tcp::socket::shutdown_send, ec);
    stream.expires_after(admin_linger);
    std::array<char, 1024> unwanted;
    while (!ec)
      co_await stream.async_read_some(asio::buffer(unwanted),
                                      asio::redirect_error(asio::use_awaitable, ec));
  }

  struct entry {
    entry(admin_server_state& s, beast::tcp_stream& stream) : state(s), key(&stream) {
      state.open_.insert(key);
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() { state.open_.erase(key); }
    admin_server_state& state;
    beast::tcp_stream* key;
  };

  const admin_server_options options_;
  const asio::strand<asio::any_io_executor> strand_;
  admin_handler handler_;
  semaphore places_;
  tcp::acceptor acceptor_;
  const tcp::endpoint endpoint_;
  std::set<beast::tcp_stream*> open_;  // on the strand, as the next
  bool stopped_ = false;
};

}  // namespace detail

admin_server::admin_server(const asio::any_io_executor& ex, admin_options what,
                           admin_server_options where) {
  const asio::ip::address address = asio::ip::make_address(where.address);
  detail::require(address.is_loopback() || what.authorize, "admin_server");
  state_ =
      std::make_shared<detail::admin_server_state>(ex, std::move(what), std::move(where), address);
  state_->start();
}

admin_server::~admin_server() { stop(); }

tcp::endpoint admin_server::local_endpoint() const { return state_->endpoint(); }

void admin_server::stop() { state_->stop(); }

}  // namespace weir
