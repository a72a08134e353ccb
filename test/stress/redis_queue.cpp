// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "../child_program.hpp"
#include "../queue_crowd.hpp"
#include "../redis_fixture.hpp"

#include <weir/redis_queue.hpp>
#include <weir/test/queue_conformance.hpp>
#include <weir/test/random.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using weir::job_id;
using weir_test::child_program;
using weir_test::queue_of_child;
using weir_test::redis_server;
using weir_test::say;

namespace {

constexpr auto tuple = asio::as_tuple(use_awaitable);

void fill(const std::string& url, int jobs, int max_attempts) {
  asio::thread_pool threads(1);
  {
    weir::redis_queue queue(threads.get_executor(), url);
    const std::vector<weir::job_request> batch(
        static_cast<std::size_t>(jobs),
        weir::job_request{.kind = "work", .max_attempts = max_attempts});
    queue.async_enqueue(batch, asio::use_future).get();
  }
  threads.join();
}

/// Lets others go first, for a time that is drawn.
void dawdle(std::uint64_t spins) {
  while (spins-- != 0) sched_yield();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(redis_queue_process, *boost::unit_test::disabled())

// What runs in a process of its own, started by a case below.
/// Takes jobs, says which, and acknowledges them, until there are none.
BOOST_AUTO_TEST_CASE(work) {
  asio::io_context context(1);
  weir::redis_queue queue(context.get_executor(), queue_of_child());
  int workers = 4;
  const auto worker = [&]() -> asio::awaitable<void> {
    for (;;) {
      const auto leases = co_await queue.async_lease({.max = 7, .lease_for = 1h}, use_awaitable);
      if (leases.empty()) break;
      for (const weir::lease& l : leases) {
        co_await queue.async_ack(l.key, use_awaitable);
        say(l.key.id);
      }
    }
    if (--workers == 0) queue.close();
  };
  for (int i = 0; i < 4; ++i) asio::co_spawn(context, worker, asio::detached);
  context.run();
}

/// Takes a job that kills it.
BOOST_AUTO_TEST_CASE(die) {
  asio::thread_pool threads(1);
  {
    weir::redis_queue queue(threads.get_executor(), queue_of_child());
    const auto leases = queue.async_lease({.lease_for = 1ms}, asio::use_future).get();
    if (!leases.empty()) raise(SIGKILL);
  }
  threads.join();
}

/// Adds jobs, says which were accepted, and runs them, for ever.
BOOST_AUTO_TEST_CASE(serve) {
  asio::io_context context(1);
  weir::redis_queue queue(context.get_executor(), queue_of_child());
  const auto add = [&]() -> asio::awaitable<void> {
    for (;;) {
      const auto [ec, e] = co_await queue.async_enqueue({.kind = "work", .keep = 1h}, tuple);
      if (ec) std::abort();
      say(e.id);
    }
  };
  const auto work = [&]() -> asio::awaitable<void> {
    for (;;) {
      const auto leases = co_await queue.async_lease({.wait = 1h, .lease_for = 1s}, use_awaitable);
      for (const weir::lease& l : leases) co_await queue.async_ack(l.key, tuple);
    }
  };
  for (int i = 0; i < 4; ++i) asio::co_spawn(context, add, asio::detached);
  for (int i = 0; i < 3; ++i) asio::co_spawn(context, work, asio::detached);
  context.run();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(redis_queue_stress)

BOOST_AUTO_TEST_CASE(every_promise_holds_on_the_clock_of_the_server) {
  // All at once, each on a queue of its own: what takes time is waiting.
  redis_server server;
  const auto all = weir::test::queue_cases();
  std::vector<weir::test::queue_case> cases(all.begin(), all.end());
  std::map<std::string_view, std::string> broken;
  // Of a promise that is not kept the machine may have been the cause, where it is too busy for
  // the unit of time; so it has to fail with a long one too.
  for (const weir::duration unit : {150ms, 1500ms}) {
    broken.clear();
    asio::thread_pool threads(2);
    std::deque<weir::redis_queue> queues;
    std::vector<std::future<void>> ended;
    for (const weir::test::queue_case& c : cases) {
      queues.emplace_back(threads.get_executor(), server.url(),
                          weir::redis_queue_options{.name = std::string(c.name) + '/' +
                                                            std::to_string(unit.count())});
      ended.push_back(
          asio::co_spawn(asio::make_strand(threads), c.run(queues.back(), unit), asio::use_future));
    }
    for (std::size_t i = 0; i < cases.size(); ++i) try {
        ended[i].get();
      } catch (const std::exception& e) {
        broken.emplace(cases[i].name, e.what());
        BOOST_TEST_MESSAGE(cases[i].name << ": " << e.what());
      }
    std::erase_if(cases, [&](const auto& c) { return !broken.contains(c.name); });
    queues.clear();
    threads.join();
  }
  for (const auto& [name, why] : broken) BOOST_ERROR(name << ": " << why);
}

BOOST_AUTO_TEST_CASE(eight_processes_claim_each_of_ten_thousand_jobs_once) {
  constexpr std::size_t jobs = 10'000;
  redis_server server;
  fill(server.url(), jobs, 20);
  std::vector<child_program> workers;
  for (int i = 0; i < 8; ++i) workers.emplace_back("redis_queue_process/work", server.url());
  std::map<job_id, int> runs;
  std::vector<std::future<std::vector<job_id>>> said;
  for (child_program& c : workers)
    said.push_back(std::async(std::launch::async, [&c] {
      std::vector<job_id> ids;
      while (const job_id id = c.read()) ids.push_back(id);
      return ids;
    }));
  for (auto& s : said)
    for (const job_id id : s.get()) ++runs[id];
  for (child_program& c : workers) BOOST_TEST(c.wait() == 0);
  BOOST_TEST(runs.size() == jobs);
  BOOST_TEST(std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r.second == 1; }));
  BOOST_TEST(server.run({"GET", "weir:{default}:tokens"}) == std::to_string(jobs));
  BOOST_TEST(server.run({"XLEN", "weir:{default}:leases"}) == "0");
}

BOOST_AUTO_TEST_CASE(job_that_kills_its_process_is_dead_after_exactly_its_attempts) {
  redis_server server;
  fill(server.url(), 1, 3);
  for (int attempt = 1; attempt <= 3;) {
    const int status = child_program("redis_queue_process/die", server.url()).wait();
    if (status == 0) continue;  // the lease, of a millisecond, had not run out
    BOOST_TEST(WIFSIGNALED(status));
    BOOST_TEST(WTERMSIG(status) == SIGKILL);
    ++attempt;
  }
  while (server.run({"ZCARD", "weir:{default}:dead"}) == "0")
    BOOST_TEST_REQUIRE(child_program("redis_queue_process/die", server.url()).wait() == 0);
  BOOST_TEST(server.run({"HGET", "weir:{default}:job:1", "attempt"}) == "3");
  BOOST_TEST(server.run({"HGET", "weir:{default}:job:1", "state"}) == "7");
}

BOOST_AUTO_TEST_CASE(killed_at_any_moment_what_was_accepted_is_done_or_pending) {
  // The process, the server, or both; the server writes each change to its file before it answers.
  redis_server server({"--appendonly", "yes", "--appendfsync", "always", "--save", ""});
  std::set<job_id> accepted;
  weir::test::random draw(4711);
  constexpr int rounds = 25;
  for (int round = 0; round < rounds; ++round) {
    child_program service("redis_queue_process/serve", server.url());
    for (auto left = 1 + draw.below(20); left != 0; --left)
      if (const job_id id = service.read(); id != 0) accepted.insert(id);
    dawdle(draw.below(2000));
    const auto who = draw.below(3);
    if (who != 0) {
      server.kill();
      server.start();
    }
    if (who == 1) {
      // The service lives on, and goes on.
      const job_id id = service.read();
      BOOST_TEST_REQUIRE(id != 0);
      accepted.insert(id);
    }
    service.kill();
    BOOST_TEST(WIFSIGNALED(service.wait()));
    while (const job_id id = service.read()) accepted.insert(id);
  }
  BOOST_TEST(accepted.size() >= std::size_t{rounds});
  std::size_t lost = 0;
  for (const job_id id : accepted)
    if (server.run({"EXISTS", "weir:{default}:job:" + std::to_string(id)}) != "1") ++lost;
  BOOST_TEST(lost == 0U);
  // What is pending can be had, and then all is done, each once.
  asio::thread_pool threads(1);
  {
    weir::redis_queue queue(threads.get_executor(), server.url());
    weir::queue_stats s;
    const auto drain = [&]() -> asio::awaitable<void> {
      // Until none is left, and not until none has come for a while: the machine may be busy.
      do {
        const auto leases =
            co_await queue.async_lease({.max = 1000, .wait = 2s, .lease_for = 1h}, use_awaitable);
        for (const weir::lease& l : leases) co_await queue.async_ack(l.key, use_awaitable);
        s = co_await queue.async_stats(use_awaitable);
      } while (s.ready + s.scheduled + s.leased != 0);
    };
    asio::co_spawn(threads, drain, asio::use_future).get();
    BOOST_TEST(s.dead == 0U);
    // More than were told of may have been accepted, but none may be there twice.
    BOOST_TEST(s.done >= accepted.size());
    BOOST_TEST(s.done <= std::stoul(server.run({"GET", "weir:{default}:ids"})));
  }
  threads.join();
}

BOOST_AUTO_TEST_CASE(threads_and_queues_on_one_server_lose_nothing_while_connections_die) {
  redis_server server;
  asio::thread_pool threads(4);
  // Whose lease ends while there is no connection is told so.
  weir_test::queue_crowd crowd(100, weir::redis_errc::unreachable);
  {
    std::array<weir::redis_queue, 2> queues{
        weir::redis_queue(threads.get_executor(), server.url()),
        weir::redis_queue(threads.get_executor(), server.url())};
    crowd.start(threads, queues[0], queues[1]);
    for (const char* type : {"normal", "pubsub"})
      for (int i = 0; i < 10; ++i) {
        server.run({"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
        dawdle(500);
      }
    crowd.wait();
  }
  threads.join();
  BOOST_TEST(crowd.done() == crowd.all());
  BOOST_TEST(server.run({"GET", "weir:{default}:ids"}) == std::to_string(crowd.all()));
  BOOST_TEST(server.run({"XLEN", "weir:{default}:leases"}) == "0");
}

BOOST_AUTO_TEST_SUITE_END()
