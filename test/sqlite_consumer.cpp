// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "flaky_queue.hpp"
#include "queue_client.hpp"
#include "sleep_for.hpp"
#include "sqlite_fixture.hpp"

#include <weir/consumer.hpp>
#include <weir/sqlite_queue.hpp>
#include <weir/test/for_each_seed.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using weir::error_code;
using weir::job_context;
using weir::test::simulation;
using weir_test::execute;
using weir_test::queue_client;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(sqlite_consumer)

namespace {

/// Jobs whose handlers write to the file of the queue, and two consumers, one of which has a bad
/// connection, so that leases run out under its jobs. \returns how many runs were in vain.
int run_sqlite_program(simulation& sim) {
  const weir_test::scratch_directory scratch;
  weir_test::other_connection file(scratch.file());
  file.run("CREATE TABLE parcels (job INTEGER)");
  weir::sqlite_queue queue(sim.get_executor(), scratch.file(), {.executor = sim.get_executor()});
  queue_client client(sim, queue);
  constexpr int jobs = 10;
  for (int i = 0; i < jobs; ++i) client.add({.kind = "ship", .max_attempts = 100, .keep = 24h});

  weir_test::flaky_queue way(queue);
  way.fail_with([&](const weir::any_queue_op&) {
    return sim.draw().chance(0.5) ? make_error_code(boost::system::errc::io_error) : error_code();
  });
  int runs = 0;
  int settled = 0;
  weir::job_handlers handlers;
  handlers.on("ship", [&](job_context& ctx) -> asio::awaitable<void> {
    ++runs;
    co_await sleep_for(100ms * sim.draw().between(0, 9));
    weir::sqlite_queue::effect ship = [id = ctx.key().id](sqlite3* db) {
      const int code = execute(db, "INSERT INTO parcels VALUES (" + std::to_string(id) + ")");
      return error_code(code, weir::sqlite_category());
    };
    auto ack = queue.async_ack_with(ctx.key(), "", std::move(ship), asio::as_tuple(use_awaitable));
    const auto [ec] = co_await std::move(ack);
    if (ec) throw boost::system::system_error(ec);
    ++settled;
    ctx.settled();
  });
  weir::worker_pool pool(sim.get_executor(), {.workers = 3, .max_per_user = 0});
  const weir::consumer_options options{
      .lease_for = 300ms, .retry = {.base = 100ms, .cap = 1s}, .seed = sim.seed()};
  std::optional<weir::consumer> good;
  std::optional<weir::consumer> bad;
  good.emplace(queue, pool, handlers, options);
  bad.emplace(way, pool, handlers, options);
  good->start();
  bad->start();
  for (int i = 0; i < 100 && client.stats().done != jobs; ++i) sim.run_for(1s);
  good.reset();
  bad.reset();
  sim.run();
  BOOST_TEST_REQUIRE(client.stats().done == static_cast<std::size_t>(jobs));
  BOOST_TEST_REQUIRE(file.number("SELECT count(*) FROM parcels") == jobs);
  BOOST_TEST_REQUIRE(file.number("SELECT count(DISTINCT job) FROM parcels") == jobs);
  BOOST_TEST_REQUIRE(settled == jobs);
  return runs - jobs;
}

}  // namespace

BOOST_AUTO_TEST_CASE(effect_in_the_file_of_the_queue_counts_once_however_often_a_job_runs) {
  int in_vain = 0;
  weir::test::for_each_seed(30, [&](simulation& sim) { in_vain += run_sqlite_program(sim); });
  BOOST_TEST(in_vain > 0);
}

BOOST_AUTO_TEST_CASE(jobs_of_a_file_run_on_threads_and_survive_the_restart) {
  const weir_test::scratch_directory scratch;
  asio::thread_pool threads(1);
  std::atomic<int> ran{0};
  for (int life = 0; life < 2; ++life) {
    weir::sqlite_queue queue(threads.get_executor(), scratch.file());
    weir::worker_pool pool({.workers = 2, .max_per_user = 0});
    weir::consumer c(queue, pool, {{"a", [&](job_context&) { ++ran; }}});
    c.start();
    for (int i = 0; i < 20; ++i) queue.async_enqueue({.kind = "a"}, asio::use_future).get();
    if (life == 1)
      while (ran < 40) std::this_thread::yield();
    c.async_stop(asio::use_future).get();
    BOOST_TEST(c.metrics().leased == c.metrics().ended());
    BOOST_TEST(c.metrics().queue_errors == 0U);
  }
  BOOST_TEST(ran == 40);
  threads.join();
}

BOOST_AUTO_TEST_SUITE_END()
