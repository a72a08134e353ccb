// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "redis/connection.hpp"

#include "redis/error.hpp"

#include <weir/detail/split_mix.hpp>
#include <weir/redis_queue.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>

#include <hiredis/sds.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

namespace weir::redis {

namespace asio = boost::asio;

namespace {

constexpr backoff_options between_attempts{.base = std::chrono::milliseconds(50),
                                           .cap = std::chrono::seconds(2)};

std::vector<connection::command> greeting_of(const address& to,
                                             std::vector<connection::command> more) {
  std::vector<connection::command> all;
  if (!to.user.empty())
    all.push_back({"AUTH", to.user, to.password});
  else if (!to.password.empty())
    all.push_back({"AUTH", to.password});
  if (!to.database.empty()) all.push_back({"SELECT", to.database});
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

error_code error_of(const redisAsyncContext& context, int system_error) {
  if (context.err == REDIS_ERR_IO && system_error != 0)
    return {system_error, boost::system::system_category()};
  return redis_errc::unreachable;
}

}  // namespace

connection::connection(strand ex, address to, duration connect_timeout,
                       std::vector<command> greeting, user& who)
    : to_(std::move(to)),
      connect_timeout_(connect_timeout),
      greeting_(greeting_of(to_, std::move(greeting))),
      preamble_(greeting_of(to_, {}).size()),
      user_(who),
      backoff_(between_attempts),
      random_(detail::own_seed()),
      strand_(std::move(ex)),
      resolver_(strand_),
      socket_(strand_),
      timer_(strand_) {}

connection::~connection() { close(); }

connection* connection::of(const redisAsyncContext* context) noexcept {
  return static_cast<connection*>(context->data);
}

/// A handler that does nothing if what it belongs to has ended meanwhile.
template <typename F>
auto connection::still(F f) {
  return [this, held = user_.hold(), age = age_, f = std::move(f)](const error_code& ec,
                                                                   auto&&... result) mutable {
    if (age == age_) f(ec, std::forward<decltype(result)>(result)...);
  };
}

void connection::await_answers(std::size_t count) noexcept {
  if ((count == 0) != (awaited_ == 0)) answers_awaited += count == 0 ? -1 : 1;
  awaited_ = count;
}

void connection::open() {
  if (state_ != state::down) return;
  state_ = state::waiting;
  silent_ = false;
  why_ = {};
  // Also the first time after a loss: everybody else has lost it too.
  timer_.expires_after(std::exchange(opened_, true) ? backoff_.next(random_) : duration::zero());
  timer_.async_wait(still([this](const error_code& ec) {
    if (!ec) attempt();
  }));
}

void connection::attempt() {
  timer_.expires_after(connect_timeout_);
  timer_.async_wait(still([this](const error_code& ec) {
    if (!ec && state_ != state::up) drop(asio::error::timed_out);
  }));
  state_ = state::resolving;
  await_answers(1);
  if (!to_.path.empty()) return begin(redisAsyncConnectUnix(to_.path.c_str()));
  int port = 0;
  std::from_chars(to_.port.data(), to_.port.data() + to_.port.size(), port);
  error_code is_name;
  asio::ip::make_address(to_.host, is_name);
  if (!is_name) return begin(redisAsyncConnect(to_.host.c_str(), port));
  // Not by hiredis, which would block for it.
  resolver_.async_resolve(
      to_.host, to_.port,
      still([this, port](const error_code& ec, const asio::ip::tcp::resolver::results_type& found) {
        if (ec) return drop(ec);
        // The next one each time, so that one which is dead does not stand before the others.
        const auto at =
            std::next(found.begin(), static_cast<std::ptrdiff_t>(attempts_++ % found.size()));
        begin(redisAsyncConnect(at->endpoint().address().to_string().c_str(), port));
      }));
}

void connection::begin(redisAsyncContext* made) {
  if (!made) return drop(make_error_code(boost::system::errc::not_enough_memory));
  if (made->err != 0) {
    const error_code why = error_of(*made, errno);
    redisAsyncFree(made);
    return drop(why);
  }
  context_ = made;
  made->data = this;
  made->ev.data = this;
  made->ev.addRead = [](void* self) { static_cast<connection*>(self)->read_when_ready(); };
  made->ev.addWrite = [](void* self) {
    // Later on `flush` writes.
    if (auto* c = static_cast<connection*>(self); c->state_ == state::connecting)
      c->write_when_ready();
  };
  made->ev.cleanup = [](void* self) { static_cast<connection*>(self)->forget_context(); };
  error_code failed;
  socket_.assign(made->c.fd, failed);
  if (failed) return drop(failed);
  state_ = state::connecting;
  redisAsyncSetConnectCallback(made, [](const redisAsyncContext* context, int status) {
    of(context)->on_connect(status == REDIS_OK);
  });
}

void connection::on_connect(bool connected) {
  if (!connected) {
    why_ = error_of(*context_, errno);
    return;  // hiredis frees it
  }
  state_ = state::greeting;
  if (to_.path.empty()) {
    const int on = 1;
    setsockopt(context_->c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    redisEnableKeepAlive(&context_->c);
  }
  greeted_ = 0;
}

void connection::greet() {
  if (greeted_ == greeting_.size()) {
    state_ = state::up;
    up_since_ = steady_clock::now();
    timer_.cancel();
    await_answers(awaited_ - 1);  // the connection itself
    user_.on_up();
    return;
  }
  const command& next = greeting_[greeted_];
  const std::vector<std::string_view> words(next.begin(), next.end());
  send(words, nullptr);
  flush();
}

void connection::on_greeting_reply(const redisReply& reply) {
  error_code failed;
  if (reply.type == REDIS_REPLY_ERROR)
    failed = redis::error_of({reply.str, reply.len});
  else if (greeted_ >= preamble_)
    failed = user_.on_greeting(greeted_ - preamble_, reply);
  if (failed) return drop(failed);
  ++greeted_;
  greet();
}

void connection::send(std::span<const std::string_view> words, void* request) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  texts.reserve(words.size());
  sizes.reserve(words.size());
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const auto callback = [](redisAsyncContext* context, void* reply, void* what) {
    of(context)->on_reply(what, static_cast<const redisReply*>(reply));
  };
  const int sent = redisAsyncCommandArgv(
      context_, callback, request, static_cast<int>(words.size()), texts.data(), sizes.data());
  if (sent == REDIS_OK)
    await_answers(awaited_ + 1);
  else
    user_.on_answer(request, nullptr);
}

void connection::on_reply(void* request, const redisReply* reply) {
  if (awaited_ != 0) await_answers(awaited_ - 1);
  if (state_ == state::up)
    user_.on_answer(request, reply);
  else if (state_ == state::greeting && reply)
    on_greeting_reply(*reply);
}

void connection::flush() {
  while (context_ && !writing_ && sdslen(context_->c.obuf) != 0) {
    redisContext& c = context_->c;
    const std::size_t size = sdslen(c.obuf);
    const ssize_t n = ::send(c.fd, c.obuf, size, MSG_NOSIGNAL);
    if (n > 0) {
      const std::size_t rest = size - static_cast<std::size_t>(n);
      std::memmove(c.obuf, c.obuf + n, rest);
      c.obuf[rest] = '\0';
      sdssetlen(c.obuf, rest);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return write_when_ready();
    } else if (errno != EINTR) {
      // hiredis may not be done with it yet, so it may still be there.
      return drop({errno, boost::system::system_category()});
    }
  }
}

void connection::read_when_ready() {
  if (std::exchange(reading_, true)) return;
  socket_.async_wait(asio::posix::stream_descriptor::wait_read, still([this](const error_code&) {
                       reading_ = false;
                       redisAsyncHandleRead(context_);
                     }));
}

void connection::write_when_ready() {
  if (std::exchange(writing_, true)) return;
  socket_.async_wait(asio::posix::stream_descriptor::wait_write, still([this](const error_code&) {
                       writing_ = false;
                       if (state_ != state::connecting) return flush();
                       redisAsyncHandleWrite(context_);
                       // Only now: in `on_connect` hiredis would not survive it if that failed.
                       if (state_ == state::greeting) greet();
                     }));
}

void connection::forget_context() noexcept {
  socket_.release();
  context_ = nullptr;
  tell_down();
}

void connection::tell_down() {
  reading_ = writing_ = false;
  ++age_;
  timer_.cancel();
  if (state_ == state::up && steady_clock::now() - up_since_ > between_attempts.cap) healthy();
  state_ = state::down;
  await_answers(0);
  if (!silent_) user_.on_down(why_ ? why_ : redis_errc::unreachable);
}

void connection::drop(error_code why) {
  if (state_ == state::down) return;
  why_ = why;
  if (context_)
    redisAsyncFree(context_);  // calls back, now or when hiredis is done with it
  else
    tell_down();
}

void connection::close() noexcept {
  silent_ = true;
  resolver_.cancel();
  drop({});
}

}  // namespace weir::redis
