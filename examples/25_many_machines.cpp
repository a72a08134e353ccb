// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// One queue in a Redis server, and three processes that work on it, as three machines would. You
// will see all jobs done, each by one of them; which does how many is different each time. One job
// kills the first process that runs it. That process says nothing any more, so its lease runs out,
// and another process runs the job again. The program starts a redis-server of its own, and has
// nothing to show where there is none.

// expect: ^a machine was killed in the middle of a job$
// expect: ^jobs done: 30 of 30$
// expect: ^at the second attempt: 1$
// expect: ^machine [abc]: [0-9]+ jobs$

#include <weir/redis_queue.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;

extern char** environ;

namespace {

/// Starts a program; 0 if there is none of that name.
pid_t start(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  return posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0 ? pid
                                                                                            : 0;
}

/// What each machine does, until there has been nothing to do for a second.
asio::awaitable<void> work(weir::redis_queue& queue, std::string name) {
  for (;;) {
    const auto leases = co_await queue.async_lease({.wait = 1s, .lease_for = 300ms}, use_awaitable);
    if (leases.empty()) break;
    const weir::lease& l = leases.front();
    weir::steady_timer effort(co_await asio::this_coro::executor, 5ms);
    co_await effort.async_wait(use_awaitable);
    if (l.job.payload == "fatal" && l.job.attempt == 1) raise(SIGKILL);
    const std::string result = name + std::to_string(l.job.attempt);
    co_await queue.async_ack(l.key, result, use_awaitable);
  }
  queue.close();
}

asio::awaitable<void> manage(weir::redis_queue& queue, std::string url) {
  // The server has only just been started: the request waits until it is there.
  std::vector<weir::job_id> ids;
  for (int i = 0; i < 30; ++i) {
    const weir::job_request request{
        .kind = "photo", .payload = i == 20 ? "fatal" : "harmless", .keep = 1h};
    const auto added = co_await queue.async_enqueue(request, use_awaitable);
    ids.push_back(added.id);
  }
  std::vector<pid_t> machines;
  for (const char* name : {"a", "b", "c"}) machines.push_back(start({"/proc/self/exe", url, name}));
  for (const pid_t machine : machines) {
    int status = 0;
    waitpid(machine, &status, 0);
    if (WIFSIGNALED(status)) std::puts("a machine was killed in the middle of a job");
  }
  std::map<char, int> by;  // which machine; or which attempt
  for (const weir::job_id id : ids) {
    const auto found = co_await queue.async_find(id, use_awaitable);
    for (const char c : found->result) ++by[c];
  }
  const weir::queue_stats stats = co_await queue.async_stats(use_awaitable);
  std::printf("jobs done: %zu of %zu\n", stats.done, ids.size());
  std::printf("at the second attempt: %d\n", by['2']);
  for (const char name : {'a', 'b', 'c'}) std::printf("machine %c: %d jobs\n", name, by[name]);
  queue.close();
}

}  // namespace

int main(int argc, char** argv) {
  asio::io_context context(1);
  if (argc == 3) {
    weir::redis_queue queue(context.get_executor(), argv[1]);
    asio::co_spawn(context, work(queue, argv[2]), asio::detached);
    context.run();
    return 0;
  }
  std::string directory = (std::filesystem::temp_directory_path() / "weir_example_XXXXXX").string();
  if (!mkdtemp(directory.data())) return 1;
  const pid_t server = start({"redis-server", "--port", "0", "--unixsocket", directory + "/socket",
                              "--dir", directory, "--logfile", "log", "--save", ""});
  if (server == 0) {
    std::puts("there is no redis-server here, so there is nothing to show");
  } else {
    weir::redis_queue queue(context.get_executor(), "unix://" + directory + "/socket");
    asio::co_spawn(context, manage(queue, "unix://" + directory + "/socket"), asio::detached);
    context.run();
    kill(server, SIGTERM);
    waitpid(server, nullptr, 0);
  }
  std::filesystem::remove_all(directory);
}
