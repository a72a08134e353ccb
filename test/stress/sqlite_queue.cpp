// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "../child_program.hpp"
#include "../queue_crowd.hpp"
#include "../sqlite_fixture.hpp"

#include <weir/sqlite_queue.hpp>
#include <weir/test/random.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using weir::job_id;
using weir_test::child_program;
using weir_test::execute;
using weir_test::other_connection;
using weir_test::queue_of_child;
using weir_test::say;
using weir_test::scratch_directory;

namespace {

weir::sqlite_queue::effect note(const char* table, job_id id) {
  return [=](sqlite3* db) {
    return weir::error_code(
        execute(db, std::string("INSERT INTO ") + table + " VALUES (" + std::to_string(id) + ")"),
        weir::sqlite_category());
  };
}

void fill_file(const std::string& file, int jobs, int max_attempts) {
  asio::thread_pool threads(1);
  weir::sqlite_queue queue(threads.get_executor(), file);
  std::vector<weir::job_request> batch(
      static_cast<std::size_t>(jobs),
      weir::job_request{.kind = "work", .max_attempts = max_attempts});
  queue.async_enqueue(batch, asio::use_future).get();
  threads.join();
}

}  // namespace

// What runs in a process of its own, started by a case below.
BOOST_AUTO_TEST_SUITE(sqlite_queue_process, *boost::unit_test::disabled())

/// Takes jobs, and notes each in the transaction that acknowledges it, until there are none.
BOOST_AUTO_TEST_CASE(work) {
  asio::io_context context(1);
  weir::sqlite_queue queue(context.get_executor(), queue_of_child(), {.busy_timeout = 60s});
  const auto worker = [&]() -> asio::awaitable<void> {
    for (;;) {
      const auto leases = co_await queue.async_lease({.max = 7, .lease_for = 1h}, use_awaitable);
      if (leases.empty()) co_return;
      for (const weir::lease& l : leases) {
        auto effect = note("runs", l.key.id);
        co_await queue.async_ack_with(l.key, "", std::move(effect), use_awaitable);
        // Leased by nobody else before.
        if (l.key.token != 1) std::abort();
      }
    }
  };
  for (int i = 0; i < 4; ++i) asio::co_spawn(context, worker, asio::detached);
  context.run();
}

/// Takes a job that kills it.
BOOST_AUTO_TEST_CASE(die) {
  asio::thread_pool threads(1);
  weir::sqlite_queue queue(threads.get_executor(), queue_of_child());
  const auto leases = queue.async_lease({.lease_for = 1ms}, asio::use_future).get();
  if (!leases.empty()) raise(SIGKILL);
}

/// Adds jobs, says which were accepted, and runs them, for ever.
BOOST_AUTO_TEST_CASE(serve) {
  asio::io_context context(1);
  weir::sqlite_queue queue(context.get_executor(), queue_of_child());
  const auto add = [&]() -> asio::awaitable<void> {
    for (;;) {
      const weir::enqueued e = co_await queue.async_enqueue({.kind = "work"}, use_awaitable);
      say(e.id);
    }
  };
  const auto work = [&]() -> asio::awaitable<void> {
    for (;;) {
      const auto leases = co_await queue.async_lease({.wait = 1h, .lease_for = 1h}, use_awaitable);
      for (const weir::lease& l : leases) {
        auto effect = note("runs", l.key.id);
        co_await queue.async_ack_with(l.key, "", std::move(effect), use_awaitable);
      }
    }
  };
  for (int i = 0; i < 4; ++i) asio::co_spawn(context, add, asio::detached);
  for (int i = 0; i < 3; ++i) asio::co_spawn(context, work, asio::detached);
  context.run();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sqlite_queue_stress)

BOOST_AUTO_TEST_CASE(eight_processes_run_each_job_once) {
  constexpr int jobs = 2000;
  const scratch_directory dir;
  fill_file(dir.file(), jobs, 20);
  other_connection(dir.file()).run("CREATE TABLE runs (job INTEGER)");
  std::vector<child_program> workers;
  for (int i = 0; i < 8; ++i) workers.emplace_back("sqlite_queue_process/work", dir.file());
  for (child_program& c : workers) BOOST_TEST(c.wait() == 0);
  other_connection db(dir.file());
  BOOST_TEST(db.number("SELECT count(*) FROM runs") == jobs);
  BOOST_TEST(db.number("SELECT count(DISTINCT job) FROM runs") == jobs);
  BOOST_TEST(db.number("SELECT count(*) FROM weir_jobs") == 0);
  BOOST_TEST(db.counts_are_right());
}

BOOST_AUTO_TEST_CASE(job_that_kills_its_process_is_dead_after_exactly_its_attempts) {
  const scratch_directory dir;
  fill_file(dir.file(), 1, 3);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const int status = child_program("sqlite_queue_process/die", dir.file()).wait();
    BOOST_TEST(WIFSIGNALED(status));
    BOOST_TEST(WTERMSIG(status) == SIGKILL);
  }
  BOOST_TEST(child_program("sqlite_queue_process/die", dir.file()).wait() ==
             0);  // there is no job any more
  other_connection db(dir.file());
  BOOST_TEST(db.number("SELECT attempt FROM weir_jobs WHERE state = 7") == 3);
}

BOOST_AUTO_TEST_CASE(killed_at_any_moment_what_was_accepted_is_done_or_pending) {
  const scratch_directory dir;
  other_connection db(dir.file());
  db.run("CREATE TABLE runs (job INTEGER)");
  db.run("CREATE INDEX runs_by_job ON runs (job)");  // a busy machine lets them run for long
  std::set<job_id> accepted;
  weir::test::random draw(4711);
  constexpr int rounds = 50;
  for (int round = 0; round < rounds; ++round) {
    child_program server("sqlite_queue_process/serve", dir.file());
    // Not after a time but after so many jobs, and then somewhere in what follows.
    for (auto left = 1 + draw.below(20); left != 0; --left)
      if (const job_id id = server.read(); id != 0) accepted.insert(id);
    for (auto spins = draw.below(2000); spins != 0; --spins) std::this_thread::yield();
    server.kill();
    BOOST_TEST(WIFSIGNALED(server.wait()));
    while (const job_id id = server.read()) accepted.insert(id);
  }
  BOOST_TEST(accepted.size() >= rounds);
  for (const job_id id : accepted) {
    const std::string job = std::to_string(id);
    const auto done = db.number("SELECT count(*) FROM runs WHERE job = " + job);
    const auto pending = db.number("SELECT count(*) FROM weir_jobs WHERE id = " + job);
    BOOST_TEST_REQUIRE(done + pending == 1);
  }
  BOOST_TEST(db.number("SELECT count(*) FROM runs") ==
             db.number("SELECT count(DISTINCT job) FROM runs"));
  BOOST_TEST(db.counts_are_right());
  // Nothing but what the killed ones held is left to wait for.
  asio::thread_pool threads(1);
  weir::sqlite_queue queue(threads.get_executor(), dir.file(), {.boot_id = "the next start"});
  const auto held = db.number("SELECT count(*) FROM weir_jobs");
  const auto all = static_cast<int>(held) + 1;
  const auto leases = queue.async_lease({.max = all, .lease_for = 1h}, asio::use_future).get();
  BOOST_TEST(static_cast<std::int64_t>(leases.size()) == held);
  threads.join();
}

BOOST_AUTO_TEST_CASE(threads_and_queues_on_one_file_meet_no_busy_and_lose_nothing) {
  const scratch_directory dir;
  asio::thread_pool threads(4);
  weir_test::queue_crowd crowd(60);
  {
    std::array<weir::sqlite_queue, 2> queues{
        weir::sqlite_queue(threads.get_executor(), dir.file(), {.busy_timeout = 60s}),
        weir::sqlite_queue(threads.get_executor(), dir.file(), {.busy_timeout = 60s})};
    crowd.start(threads, queues[0], queues[1]);
    crowd.wait();
  }
  threads.join();
  BOOST_TEST(crowd.done() == crowd.all());
  other_connection db(dir.file());
  BOOST_TEST(db.number("SELECT count(*) FROM weir_jobs") == 0);
  BOOST_TEST(db.counts_are_right());
}

BOOST_AUTO_TEST_SUITE_END()
