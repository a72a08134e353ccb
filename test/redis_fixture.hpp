// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_REDIS_FIXTURE_HPP
#define WEIR_TEST_REDIS_FIXTURE_HPP

#include "redis/connection.hpp"
#include "scratch_directory.hpp"

#include <weir/test/bell.hpp>
#include <weir/test/driver.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <hiredis/hiredis.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

extern char** environ;

namespace weir_test {

/// A server of our own, on a Unix socket in a directory that goes away.
class redis_server {
 public:
  explicit redis_server(std::vector<std::string> options = {"--save", "", "--appendonly", "no"})
      : options_(std::move(options)) {
    start();
  }
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;
  ~redis_server() { kill(); }

  std::string socket() const { return directory_.file("s"); }
  std::string url() const { return "unix://" + socket(); }
  std::string directory() const { return directory_.path().string(); }

  /// Returns when it takes connections, its file read.
  void start() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    // It goes with the thread that starts it, also if this program is killed.
    std::vector<std::string> words{"setpriv", "--pdeathsig", "KILL", "redis-server"};
    for (const std::string& word :
         {std::string("--port"), std::string("0"), std::string("--unixsocket"), socket(),
          std::string("--dir"), directory(), std::string("--daemonize"), std::string("no")})
      words.push_back(word);
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> arguments;
    for (std::string& w : words) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    const int failed = posix_spawnp(&pid_, "setpriv", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
    if (failed != 0) {
      pid_ = 0;
      throw std::system_error(failed, std::generic_category(),
                              "setpriv, which is to start a server");
    }
    std::string said;
    std::array<char, 4096> part{};
    while (said.find("eady to accept connections at") == std::string::npos) {
      const ssize_t n = ::read(out_, part.data(), part.size());
      if (n <= 0)
        throw std::runtime_error("these tests need redis-server, which is missing or has ended: " +
                                 said);
      said.append(part.data(), static_cast<std::size_t>(n));
    }
    control_.reset(redisConnectUnix(socket().c_str()));
    if (!control_ || control_->err != 0) throw std::runtime_error("redis-server does not answer");
  }

  /// As a power cut does, for the process.
  void kill() {
    control_.reset();
    if (out_ >= 0) close(std::exchange(out_, -1));
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
    pid_ = 0;
  }

  /// Runs a command. \returns what it says: a text, a number or an error; of an array the first.
  std::string run(const std::vector<std::string>& command) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : command) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    std::unique_ptr<redisReply, void (*)(redisReply*)> reply(
        static_cast<redisReply*>(redisCommandArgv(control_.get(), static_cast<int>(texts.size()),
                                                  texts.data(), sizes.data())),
        [](redisReply* r) { freeReplyObject(r); });
    if (!reply) throw std::runtime_error(std::string("redis-server: ") + control_->errstr);
    const redisReply* r = reply.get();
    while (r->type == REDIS_REPLY_ARRAY && r->elements != 0) r = r->element[0];
    return r->type == REDIS_REPLY_INTEGER ? std::to_string(r->integer)
           : r->str                       ? std::string(r->str, r->len)
                                          : std::string();
  }

 private:
  std::vector<std::string> options_;
  scratch_directory directory_;
  pid_t pid_ = 0;
  int out_ = -1;
  std::unique_ptr<redisContext, void (*)(redisContext*)> control_{nullptr, redisFree};
};

/// One for all cases, each of which uses a queue of its own.
inline redis_server& shared_server() {
  static redis_server server;
  return server;
}

/// Virtual time for a program that talks to a server: the clock stands while an answer is on its
/// way.
///
/// The server has no part in it: while the clock is paused, scripts are told the time.
class served_time final : public weir::test::driver {
 public:
  explicit served_time(redis_server* server = &shared_server())
      : driver(std::chrono::steady_clock::now()), server_(server) {
    context_.emplace(1);
    bell_.emplace(*context_);
  }
  ~served_time() {
    bell_.reset();
    context_.reset();
  }

  boost::asio::io_context& context() noexcept { return *context_; }
  boost::asio::io_context::executor_type get_executor() noexcept {
    return context_->get_executor();
  }

  /// How long a silence of the server is, in real time, before the clock goes on: for tests in
  /// which it does not answer. Zero: that is an error.
  std::chrono::milliseconds silence{0};

  /// Destroys it, and all that is in it.
  void destroy_context() {
    bell_.reset();
    context_.reset();
  }

 private:
  std::size_t run_ready() override {
    std::size_t handlers = 0;
    for (bool heard_all = false;;) {
      std::size_t ran = bell_->poll();
      if (ran == 0 && next_event_ && *next_event_ <= now()) ran = look_again();
      if (ran == 0 && weir::redis::answers_awaited > 0) {
        const bool may_be_silent = silence.count() != 0;
        ran = context_->run_one_for(may_be_silent ? silence : std::chrono::seconds(20));
        if (ran == 0 && !may_be_silent) throw std::runtime_error("an answer does not come");
      }
      if (ran == 0 && !heard_all) {
        // What it had to say before this answer is here after it.
        if (server_) server_->run({"PING"});
        heard_all = true;
        continue;
      }
      if (ran == 0) return handlers;
      heard_all = false;
      handlers += ran;
    }
  }
  std::size_t look_again() override {
    next_event_.reset();
    return bell_->ring();
  }
  boost::asio::any_io_executor base() override { return get_executor(); }
  bool work_left() const override { return !alive().empty(); }

  redis_server* server_;
  std::optional<boost::asio::io_context> context_;
  std::optional<weir::test::bell> bell_;
};

/// What is between a queue and its server, and may fail. On the loopback interface.
class redis_proxy {
 public:
  redis_proxy(boost::asio::io_context& context, std::string socket)
      : context_(context),
        acceptor_(context, {boost::asio::ip::address_v4::loopback(), 0}),
        socket_(std::move(socket)) {
    accept();
  }

  bool to_server = true;    ///< what the queue sends gets there
  bool from_server = true;  ///< and what is answered comes back
  int connections = 0;      ///< made so far

  std::string url() const {
    return "redis://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

  /// Ends all connections.
  void cut() {
    for (const auto& p : pairs_) p->close();
    pairs_.clear();
  }
  void stop() {
    cut();
    acceptor_.close();
  }

 private:
  struct pair {
    explicit pair(boost::asio::io_context& context) : client(context), server(context) {}
    void close() {
      client.close();
      server.close();
    }
    boost::asio::ip::tcp::socket client;
    boost::asio::local::stream_protocol::socket server;
  };

  void accept() {
    auto made = std::make_shared<pair>(context_);
    acceptor_.async_accept(made->client, [this, made](const weir::error_code& ec) {
      if (ec) return;
      ++connections;
      weir::error_code failed;
      if (made->server.connect(boost::asio::local::stream_protocol::endpoint(socket_), failed)) {
        made->close();
      } else {
        pairs_.push_back(made);
        forward(made, made->client, made->server, to_server);
        forward(made, made->server, made->client, from_server);
      }
      accept();
    });
  }

  template <typename From, typename To>
  void forward(const std::shared_ptr<pair>& both, From& from, To& to, const bool& passes) {
    const auto bytes = std::make_shared<std::array<char, 65536>>();
    from.async_read_some(
        boost::asio::buffer(*bytes),
        [this, both, bytes, &from, &to, &passes](const weir::error_code& ec, std::size_t n) {
          weir::error_code failed = ec;
          if (!failed && passes)
            boost::asio::write(to, boost::asio::buffer(bytes->data(), n), failed);
          if (failed) return both->close();
          forward(both, from, to, passes);
        });
  }

  boost::asio::io_context& context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::string socket_;
  std::vector<std::shared_ptr<pair>> pairs_;
};

/// A server that gives the same answer to everything.
class stubborn_server {
 public:
  /// \param hangs_up after each answer
  stubborn_server(boost::asio::io_context& context, std::string answer, bool hangs_up = false)
      : path_(shared_server().directory() + "/stubborn"),
        acceptor_(context, fresh(path_)),
        answer_(std::move(answer)),
        hangs_up_(hangs_up) {
    accept();
  }
  std::string url() const { return "unix://" + path_; }
  int asked = 0;

 private:
  using protocol = boost::asio::local::stream_protocol;

  static protocol::endpoint fresh(const std::string& path) {
    std::filesystem::remove(path);
    return {path};
  }
  void accept() {
    acceptor_.async_accept([this](const weir::error_code& ec, protocol::socket made) {
      if (ec) return;
      answer(std::make_shared<protocol::socket>(std::move(made)));
      accept();
    });
  }
  void answer(const std::shared_ptr<protocol::socket>& to) {
    const auto bytes = std::make_shared<std::array<char, 65536>>();
    to->async_read_some(boost::asio::buffer(*bytes),
                        [this, to, bytes](const weir::error_code& ec, std::size_t) {
                          if (ec) return;
                          ++asked;
                          weir::error_code failed;
                          boost::asio::write(*to, boost::asio::buffer(answer_), failed);
                          if (!hangs_up_) answer(to);
                        });
  }

  std::string path_;
  protocol::acceptor acceptor_;
  std::string answer_;
  bool hangs_up_;
};

}  // namespace weir_test

#endif  // WEIR_TEST_REDIS_FIXTURE_HPP
