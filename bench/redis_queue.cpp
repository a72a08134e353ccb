// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Measures the queue on a Redis server, or a loop that sends the server the same commands with
// nothing around it, and prints `result NAME VALUE UNIT`. `bench/run` starts the server, and runs
// this for each side in turn.

#include "measure.hpp"

#include "redis/codec.hpp"
#include "redis/scripts.hpp"

#include <weir/redis_queue.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <hiredis/hiredis.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace bench {

namespace {

constexpr int callers = 64;
const std::string payload(100, 'x');

int rounds(const arguments& args) { return args.number("jobs", 20'000) / callers; }

void report(const char* name, clock::time_point start, int jobs) {
  const std::chrono::duration<double, std::micro> took = clock::now() - start;
  result(name, took.count() / jobs, "us");
}

// ---- weir: callers each of whom waits for one answer before the next request.

/// Runs `one`, a coroutine, so many times, for so many callers at once, on a queue of its own.
template <typename F>
clock::time_point for_each_of(const arguments& args, int times, int at_once, F one) {
  asio::io_context context(1);
  weir::redis_queue queue(context.get_executor(), "unix://" + args.text("socket"),
                          {.name = "weir"});
  int left = at_once;
  std::exception_ptr failed;
  const auto caller = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < times; ++i) co_await one(queue);
  };
  const auto start = clock::now();
  for (int i = 0; i < at_once; ++i)
    asio::co_spawn(context, caller, [&](const std::exception_ptr& e) {
      failed = e ? e : failed;
      if (--left == 0) queue.close();
    });
  context.run();
  if (failed) std::rethrow_exception(failed);
  return start;
}

void jobs(const arguments& args) {
  const auto one = [](weir::task_queue& queue) -> asio::awaitable<void> {
    co_await queue.async_enqueue({.kind = "mail", .payload = payload}, asio::use_awaitable);
    const auto leases = co_await queue.async_lease({.lease_for = 1h}, asio::use_awaitable);
    co_await queue.async_ack(leases.at(0).key, asio::use_awaitable);
  };
  const auto start = for_each_of(args, rounds(args), callers, one);
  report("jobs_redis", start, rounds(args) * callers);
}

// ---- hiredis: the commands of all callers are sent at once, and then all answers are read.

class pipelined {
 public:
  explicit pipelined(const std::string& socket)
      : connection_(redisConnectUnix(socket.c_str()), redisFree) {
    if (!connection_ || connection_->err != 0) throw std::runtime_error("no server at " + socket);
    for (std::size_t i = 0; i < digests_.size(); ++i) {
      const auto text = weir::redis::text_of(static_cast<weir::redis::script>(i));
      redisAppendCommand(connection_.get(), "SCRIPT LOAD %b", text.data(), text.size());
      digests_[i] = answer()->str;
    }
  }

  template <typename Request, typename... More>
  void send(weir::redis::script s, int caller, const Request& request, More... more) {
    words_.clear();
    words_.add("EVALSHA");
    words_.add(digests_[static_cast<std::size_t>(s)]);
    words_.add("1");
    words_.add("weir:{peer}:");
    words_.add("");  // the server's own time
    words_.add("peer");
    words_.add(std::int64_t{caller});
    words_.add(++number_);
    words_.add("73000");
    write(words_, request, more...);
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string_view word : words_.all()) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    redisAppendCommandArgv(connection_.get(), static_cast<int>(texts.size()), texts.data(),
                           sizes.data());
  }

  std::unique_ptr<redisReply, void (*)(redisReply*)> answer() {
    void* reply = nullptr;
    if (redisGetReply(connection_.get(), &reply) != REDIS_OK)
      throw std::runtime_error(connection_->errstr);
    std::unique_ptr<redisReply, void (*)(redisReply*)> owned(
        static_cast<redisReply*>(reply), [](redisReply* r) { freeReplyObject(r); });
    if (owned->type == REDIS_REPLY_ERROR) throw std::runtime_error(owned->str);
    return owned;
  }

 private:
  std::unique_ptr<redisContext, void (*)(redisContext*)> connection_;
  std::array<std::string, weir::redis::script_count> digests_;
  weir::redis::words words_;
  std::int64_t number_ = 0;
};

void jobs_pipelined(const arguments& args) {
  pipelined server(args.text("socket"));
  weir::enqueue_request job;
  job.jobs.push_back({.job = {.kind = "mail", .payload = payload, .max_attempts = 20}});
  const weir::lease_request lease{.max = 1, .lease_for = 1h};
  std::vector<weir::lease_key> leased;
  const auto start = clock::now();
  for (int round = 0; round < rounds(args); ++round) {
    for (int i = 0; i < callers; ++i) server.send(weir::redis::script::enqueue, i, job);
    for (int i = 0; i < callers; ++i) server.answer();
    for (int i = 0; i < callers; ++i) server.send(weir::redis::script::lease, i, lease, false);
    leased.clear();
    for (int i = 0; i < callers; ++i) {
      weir::redis::lease_answer a;
      if (!read(*server.answer(), a) || a.leases.size() != 1)
        throw std::runtime_error("no job was leased");
      leased.push_back(a.leases[0].key);
    }
    for (int i = 0; i < callers; ++i)
      server.send(weir::redis::script::settle, i,
                  weir::settle_request{.key = leased[static_cast<std::size_t>(i)]});
    for (int i = 0; i < callers; ++i) server.answer();
  }
  report("jobs_redis", start, rounds(args) * callers);
}

// ---- weir, before a backlog.

void empty_server(const std::string& socket) {
  const std::unique_ptr<redisContext, void (*)(redisContext*)> server(
      redisConnectUnix(socket.c_str()), redisFree);
  if (!server || server->err != 0) throw std::runtime_error("no server at " + socket);
  freeReplyObject(redisCommand(server.get(), "FLUSHALL"));
}

void lease_of_backlog(const arguments& args) {
  constexpr int part = 1000;
  const int each = args.number("leases", 6'400) / callers;
  const int backlog = args.text("kind") == "full" ? args.number("backlog", 1'000'000) : 0;
  empty_server(args.text("socket"));
  const std::vector<weir::job_request> many(part, {.kind = "mail", .payload = payload});
  const auto fill = [&many](weir::task_queue& queue) -> asio::awaitable<void> {
    co_await queue.async_enqueue(std::span(many), asio::use_awaitable);
  };
  for_each_of(args, (backlog + each * callers) / part + 1, 1, fill);
  const auto lease = [](weir::task_queue& queue) -> asio::awaitable<void> {
    const auto leases = co_await queue.async_lease({.lease_for = 1h}, asio::use_awaitable);
    if (leases.empty()) throw std::runtime_error("no job was leased");
  };
  const auto start = for_each_of(args, each, callers, lease);
  report("jobs_redis_backlog", start, each * callers);
}

const scenario_table scenarios = {
    {{"weir", "jobs_redis"}, jobs},
    {{"hiredis", "jobs_redis"}, jobs_pipelined},
    {{"weir", "jobs_redis_backlog"}, lease_of_backlog},
};

}  // namespace

}  // namespace bench

int main(int argc, char** argv) { return bench::main_of(bench::scenarios, argc, argv); }
