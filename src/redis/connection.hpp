// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_REDIS_CONNECTION_HPP
#define WEIR_SRC_REDIS_CONNECTION_HPP

#include "redis/address.hpp"

#include <weir/backoff.hpp>
#include <weir/clock.hpp>
#include <weir/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/strand.hpp>

#include <hiredis/async.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::redis {

/// Connections that the server owes an answer: for tests that stop the clock, and let it go on only
/// when nothing is on its way.
inline std::atomic<int> answers_awaited{0};

/// One connection to a server: hiredis' asynchronous context, its socket read and written by Asio.
///
/// The socket is hiredis' own, which closes it; the descriptor of Asio lets it go before that. What
/// is to be sent gathers in hiredis' buffer until `flush`, and so goes out together. It is written
/// here: hiredis writes with `write`, and a peer that has gone would kill the process with SIGPIPE.
///
/// When it is lost it stays so until somebody calls `open` again, which waits before it tries: a
/// while that grows, and that is drawn so that not everybody comes back at once.
///
/// Thread safety: on its strand.
class connection {
 public:
  using strand = boost::asio::strand<boost::asio::any_io_executor>;

  class user {
   public:
    /// What keeps the user and its connection there while something is pending.
    virtual std::shared_ptr<user> hold() = 0;

    /// The answer to a command of the greeting. An error ends the connection.
    virtual error_code on_greeting(std::size_t command, const redisReply& answer) = 0;
    virtual void on_up() = 0;

    /// `answer` is null if the connection was lost before it came.
    virtual void on_answer(void* request, const redisReply* answer) = 0;

    /// The connection, or an attempt to make one, has ended; after the last `on_answer`.
    virtual void on_down(error_code why) = 0;

   protected:
    ~user() = default;
  };

  using command = std::vector<std::string>;

  /// \param greeting is sent, after name and database, before the connection counts as up
  connection(strand ex, address to, duration connect_timeout, std::vector<command> greeting,
             user& who);
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  /// Makes a connection if there is none, and none is being made.
  void open();
  bool up() const noexcept { return state_ == state::up; }

  /// The server does what it is asked to: the next loss is the first again.
  void healthy() noexcept { backoff_.reset(); }

  /// Ends it, and tells the user that `why`. May be called from `on_answer`.
  void drop(error_code why);

  /// Ends it, and tells nobody.
  void close() noexcept;

  /// While it is up.
  void send(std::span<const std::string_view> words, void* request);
  void flush();

 private:
  enum class state : unsigned char { down, waiting, resolving, connecting, greeting, up };

  template <typename F>
  auto still(F f);
  void attempt();
  void begin(redisAsyncContext* made);
  void fail(error_code why);
  void tell_down();
  void greet();
  void on_connect(bool connected);
  void on_reply(void* request, const redisReply* reply);
  void on_greeting_reply(const redisReply& reply);
  void read_when_ready();
  void write_when_ready();
  void forget_context() noexcept;
  void await_answers(std::size_t count) noexcept;

  static connection* of(const redisAsyncContext* context) noexcept;

  const address to_;
  const duration connect_timeout_;
  std::vector<command> greeting_;  ///< all of it
  const std::size_t preamble_;     ///< how much of it is not the user's
  user& user_;

  state state_ = state::down;
  bool opened_ = false;   ///< before now
  bool silent_ = false;   ///< nobody is to be told of the end
  bool reading_ = false;  ///< waits until it can
  bool writing_ = false;
  std::uint64_t age_ = 0;  ///< what belongs to an earlier one has come too late
  std::size_t greeted_ = 0;
  std::size_t attempts_ = 0;
  std::size_t awaited_ = 0;
  time_point up_since_ = {};
  error_code why_ = {};
  redisAsyncContext* context_ = nullptr;
  backoff backoff_;
  std::minstd_rand random_;
  strand strand_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::posix::stream_descriptor socket_;
  steady_timer timer_;
};

}  // namespace weir::redis

#endif  // WEIR_SRC_REDIS_CONNECTION_HPP
