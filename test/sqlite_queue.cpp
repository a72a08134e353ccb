// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "queue_client.hpp"
#include "queue_program.hpp"
#include "sleep_for.hpp"
#include "sqlite/schema.hpp"
#include "sqlite_fixture.hpp"

#include <weir/sqlite_queue.hpp>
#include <weir/test/boost_test.hpp>
#include <weir/test/queue_conformance.hpp>
#include <weir/test/wall_clock_step.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::system_error;
using weir::enqueued;
using weir::errc;
using weir::error_code;
using weir::job_id;
using weir::lease;
using weir::test::simulation;
using weir_test::answer;
using weir_test::execute;
using weir_test::other_connection;
using weir_test::queue_client;
using weir_test::scratch_directory;

BOOST_AUTO_TEST_SUITE(sqlite_queue)

namespace {

bool is(const error_code& ec, int sqlite_code) {
  return ec.category() == weir::sqlite_category() && (ec.value() & 0xff) == sqlite_code;
}

/// A queue in a file of its own, on virtual time, asked by plain calls.
struct fixture {
  scratch_directory dir;
  weir::test::virtual_time time;
  std::unique_ptr<weir::sqlite_queue> queue;
  std::unique_ptr<queue_client> client;

  fixture() { open(); }

  void open(weir::sqlite_queue_options options = {}) {
    client.reset();
    close();
    options.executor = time.get_executor();
    queue = std::make_unique<weir::sqlite_queue>(time.get_executor(), dir.file(), options);
    client = std::make_unique<queue_client>(time, *queue);
  }
  void close() {
    queue.reset();
    time.settle();  // the executor closes the file
  }

  error_code ack_with(weir::lease_key key, weir::sqlite_queue::effect with) {
    return client->tell(
        [&](auto h) { queue->async_ack_with(key, "", std::move(with), std::move(h)); });
  }
  error_code enqueue_with(const weir::job_request& r, weir::sqlite_queue::effect with) {
    client->ask<enqueued>(
        [&](auto h) { queue->async_enqueue_with(r, std::move(with), std::move(h)); });
    return client->error;
  }
  /// Runs something on the queue's own connection, in a transaction.
  void on_connection(const std::function<void(sqlite3*)>& f) {
    BOOST_TEST_REQUIRE(is(enqueue_with({.kind = "none"},
                                       [&](sqlite3* db) {
                                         f(db);
                                         return error_code(SQLITE_ABORT, weir::sqlite_category());
                                       }),
                          SQLITE_ABORT));
  }
};

/// What opening `path` is refused with.
error_code refusal(const std::string& path, std::string_view word) {
  asio::io_context context;
  try {
    weir::sqlite_queue(context.get_executor(), path);
  } catch (const system_error& e) {
    BOOST_TEST(std::string_view(e.what()).find(path) != std::string_view::npos, e.what());
    BOOST_TEST(std::string_view(e.what()).find(word) != std::string_view::npos, e.what());
    return e.code();
  }
  return {};
}

void write_bytes(const std::string& path, std::streamoff at, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file << bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(keeps_every_promise_of_a_queue) {
  for (const weir::test::queue_case& c : weir::test::queue_cases()) BOOST_TEST_CONTEXT(c.name) {
      const scratch_directory dir;
      {
        weir::test::virtual_time time;
        weir::sqlite_queue queue(time.get_executor(), dir.file(),
                                 {.executor = time.get_executor()});
        time.spawn(std::string(c.name), c.run(queue, 1s));
        BOOST_CHECK_NO_THROW(time.run());
      }
      BOOST_TEST(other_connection(dir.file()).counts_are_right());
    }
}

// ---- One transaction for many

BOOST_FIXTURE_TEST_CASE(requests_that_come_together_share_a_transaction, fixture) {
  static int commits;
  on_connection([](sqlite3* db) {
    sqlite3_trace_v2(
        db, SQLITE_TRACE_STMT,
        [](unsigned, void*, void*, void* sql) {
          if (std::string_view(static_cast<const char*>(sql)) == "COMMIT") ++commits;
          return 0;
        },
        nullptr);
  });
  commits = 0;
  std::array<answer<enqueued>, 100> added;
  for (auto& a : added) queue->async_enqueue({.kind = "a"}, a.handler());
  time.settle();
  for (auto& a : added) BOOST_TEST_REQUIRE((a.code && !*a.code));
  BOOST_TEST(commits == 1);
}

BOOST_FIXTURE_TEST_CASE(one_that_fails_does_not_fail_its_neighbours, fixture) {
  const error_code own(7, boost::system::generic_category());
  const std::array<weir::sqlite_queue::effect, 5> effects{
      [&](sqlite3*) { return own; }, [&](sqlite3*) -> error_code { throw system_error(own); },
      [](sqlite3*) -> error_code { throw std::runtime_error("no code"); },
      // Those that try to end the transaction of all.
      [](sqlite3* db) { return execute(db, "COMMIT"), error_code(); },
      [](sqlite3* db) { return execute(db, "ROLLBACK"), error_code(); }};
  const std::array<std::function<bool(error_code)>, 5> expected{
      [&](error_code ec) { return ec == own; }, [&](error_code ec) { return ec == own; },
      [](error_code ec) { return is(ec, SQLITE_ABORT); },
      [](error_code ec) { return is(ec, SQLITE_ABORT); },
      [](error_code ec) { return is(ec, SQLITE_ABORT); }};
  std::size_t jobs = 0;
  for (std::size_t i = 0; i != effects.size(); ++i) {
    answer<enqueued> before;
    answer<enqueued> guilty;
    answer<enqueued> after;
    queue->async_enqueue({.kind = "a"}, before.handler());
    queue->async_enqueue_with({.kind = "guilty"}, effects[i], guilty.handler());
    queue->async_enqueue({.kind = "b"}, after.handler());
    time.settle();
    jobs += 2;
    BOOST_TEST(!*before.code);
    BOOST_TEST(expected[i](*guilty.code), *guilty.code);
    BOOST_TEST(guilty.value.id == 0);
    BOOST_TEST(!*after.code);
    BOOST_TEST(client->stats().ready == jobs);
  }
  BOOST_TEST(other_connection(dir.file()).counts_are_right());
}

// ---- The file

BOOST_FIXTURE_TEST_CASE(what_was_accepted_is_there_after_opening_again, fixture) {
  const job_id a = client->add({.kind = "a", .payload = "p", .unique_key = "k"}).id;
  client->add({.kind = "b", .delay = 1h});
  const job_id done = client->add({.kind = "c", .priority = 1, .keep = 1h}).id;
  const lease l = client->take().at(0);
  BOOST_TEST(l.key.id == done);
  BOOST_TEST(!client->ack(l.key));
  const lease held = client->take({.lease_for = 10s}).at(0);
  BOOST_TEST(held.key.id == a);
  open();
  const auto s = client->stats();
  BOOST_TEST(s.leased == 1U);
  BOOST_TEST(s.scheduled == 1U);
  BOOST_TEST(s.done == 1U);
  BOOST_TEST(client->take().empty());  // a lease outlives the process that has it
  BOOST_TEST(client->add({.kind = "a", .unique_key = "k"}).duplicate);
  BOOST_TEST(!client->ack(held.key));
  // Ids are not given twice, though the table may be empty.
  const job_id next = client->add({.kind = "a"}).id;
  BOOST_TEST(client->cancel(next));
  open();
  BOOST_TEST(client->add({.kind = "a"}).id > next);
}

BOOST_FIXTURE_TEST_CASE(leases_of_before_the_machine_was_started_have_run_out, fixture) {
  open({.boot_id = "first"});
  client->add({.kind = "a", .max_attempts = 2});
  const lease first = client->take({.lease_for = 24h}).at(0);
  open({.boot_id = "first"});
  BOOST_TEST(client->take().empty());
  open({.boot_id = "second"});
  const auto second = client->take({.lease_for = 24h});
  BOOST_TEST_REQUIRE(second.size() == 1U);
  BOOST_TEST(second[0].job.attempt == 2);
  BOOST_TEST((client->ack(first.key) == errc::lease_lost));
  open({.boot_id = "third"});
  BOOST_TEST(client->take().empty());
  BOOST_TEST(client->stats().dead == 1U);
}

BOOST_FIXTURE_TEST_CASE(time_of_day_that_steps_by_an_hour_does_not_touch_leases, fixture) {
  for (const weir::duration step : {weir::duration(1h), weir::duration(-1h)}) {
    client->add({.kind = "a"});
    const lease l = client->take({.lease_for = 10s}).at(0);
    const weir::test::wall_clock_step stepped(step);
    open();
    time.advance(9s);
    BOOST_TEST(client->take().empty());
    time.advance(2s);
    const auto again = client->take();
    BOOST_TEST_REQUIRE(again.size() == 1U);
    BOOST_TEST(!client->ack(again[0].key));
  }
}

BOOST_FIXTURE_TEST_CASE(tables_of_the_program_and_of_the_queue_leave_each_other_alone, fixture) {
  close();
  {
    other_connection program(dir.file("both.db"));
    program.run(
        "CREATE TABLE jobs (x); INSERT INTO jobs VALUES (1);"
        "PRAGMA user_version = 7; PRAGMA application_id = 99");
  }
  asio::io_context context;
  weir::sqlite_queue(context.get_executor(), dir.file("both.db"));
  other_connection program(dir.file("both.db"));
  BOOST_TEST(program.number("SELECT count(*) FROM jobs") == 1);
  BOOST_TEST(program.number("PRAGMA user_version") == 7);
  BOOST_TEST(program.number("PRAGMA application_id") == 99);
}

BOOST_FIXTURE_TEST_CASE(file_that_is_no_queue_is_refused_with_what_is_wrong, fixture) {
  const auto name = [&](const char* file) { return dir.file(file); };
  std::ofstream(name("text")) << std::string(4096, 'x');
  BOOST_TEST(is(refusal(name("text"), "not a database"), SQLITE_NOTADB));
  BOOST_TEST(is(refusal(name("no/such/file"), "open"), SQLITE_CANTOPEN));
  other_connection(name("foreign")).run("CREATE TABLE weir_jobs (x)");
  BOOST_TEST(is(refusal(name("foreign"), "not of weir"), SQLITE_SCHEMA));
  close();
  other_connection(dir.file()).run("UPDATE weir_meta SET value = 99 WHERE name = 'version'");
  BOOST_TEST(is(refusal(dir.file(), "version 99"), SQLITE_SCHEMA));
}

BOOST_FIXTURE_TEST_CASE(torn_file_is_refused_when_it_is_opened, fixture) {
  const std::string payload(3000, 'x');
  for (int i = 0; i < 50; ++i) client->add({.kind = "a", .payload = payload});
  close();
  other_connection(dir.file()).run("PRAGMA wal_checkpoint(TRUNCATE)");
  const auto size = std::filesystem::file_size(dir.file());
  for (const bool cut : {true, false}) {
    const std::string torn = dir.file(cut ? "cut.db" : "overwritten.db");
    std::filesystem::copy_file(dir.file(), torn);
    if (cut)
      std::filesystem::resize_file(torn, size / 2);
    else
      write_bytes(torn, static_cast<std::streamoff>(size / 2), std::string(5000, '\xa5'));
    BOOST_TEST(is(refusal(torn, ""), SQLITE_CORRUPT));
  }
}

BOOST_FIXTURE_TEST_CASE(file_that_can_only_be_read_is_refused, fixture) {
  client->add({.kind = "a"});
  close();
  BOOST_TEST(is(refusal("file:" + dir.file() + "?mode=ro", "only be read"), SQLITE_READONLY));
}

BOOST_FIXTURE_TEST_CASE(older_tables_are_brought_up_and_jobs_stay, fixture) {
  const job_id id = client->add({.kind = "a", .payload = "p"}).id;
  close();
  std::vector<const char*> steps(weir::sqlite::schema_steps().begin(),
                                 weir::sqlite::schema_steps().end());
  const auto versions = steps.size();
  weir::sqlite::database db(dir.file(), 1s);
  // One step fails: the file stays as it was.
  steps.push_back("ALTER TABLE weir_jobs ADD COLUMN colour TEXT");
  steps.push_back("CREATE TABLE weir_jobs (x)");
  BOOST_CHECK_THROW(weir::sqlite::migrate(db, steps), system_error);
  other_connection other(dir.file());
  const auto version = [&] {
    return static_cast<std::size_t>(
        other.number("SELECT value FROM weir_meta WHERE name = 'version'"));
  };
  BOOST_TEST(version() == versions);
  BOOST_TEST(other.number("SELECT count(*) FROM pragma_table_info('weir_jobs')"
                          " WHERE name = 'colour'") == 0);
  steps.pop_back();
  weir::sqlite::migrate(db, steps);
  weir::sqlite::migrate(db, steps);
  BOOST_TEST(version() == versions + 1);
  BOOST_TEST(other.number("SELECT count(colour IS NULL) FROM weir_jobs WHERE id = " +
                          std::to_string(id)) == 1);
}

BOOST_FIXTURE_TEST_CASE(tables_of_the_first_version_serve_the_jobs_in_them, fixture) {
  close();
  std::filesystem::remove(dir.file());
  {
    weir::sqlite::database db(dir.file(), 1s);
    weir::sqlite::migrate(db, weir::sqlite::schema_steps().first(1));
    db.run(
        "INSERT INTO weir_jobs (state, at, max_attempts, priority, run_at, keep, unique_for, kind,"
        " user, unique_key, headers, payload) VALUES (4, 1, 2, 0, 1, 0, 0, 'a', '', '', x'', x'')");
    db.run("UPDATE weir_counts SET jobs = 1 WHERE state = 4");
  }
  open();
  const auto leases = client->take();
  BOOST_TEST_REQUIRE(leases.size() == 1U);
  BOOST_TEST(!client->ack(leases.at(0).key));
  BOOST_TEST(other_connection(dir.file()).counts_are_right());
}

// ---- Limits

BOOST_FIXTURE_TEST_CASE(capacity_bounds_jobs_in_every_state, fixture) {
  open({.capacity = 3});
  weir_test::check_capacity_of_three(time, *queue);
  BOOST_TEST(other_connection(dir.file()).counts_are_right());
}

BOOST_FIXTURE_TEST_CASE(requests_that_wait_are_bounded_but_for_those_that_make_room, fixture) {
  constexpr std::size_t inbox = 10'000;
  client->add({.kind = "a"});
  const lease mine = client->take().at(0);
  // Nobody works meanwhile: the clock and all that runs on it stand still.
  std::size_t accepted = 0;
  std::size_t refused = 0;
  const auto count = [&](error_code ec, const enqueued&) {
    ++(ec ? refused : accepted);
    if (ec) BOOST_TEST((ec == errc::queue_full));
  };
  for (std::size_t i = 0; i != inbox + 2; ++i) queue->async_enqueue({.kind = "b"}, count);
  std::optional<error_code> acked;
  queue->async_ack(mine.key, [&](error_code ec) { acked = ec; });
  time.settle();
  BOOST_TEST(accepted == inbox);
  BOOST_TEST(refused == 2U);
  BOOST_TEST((acked && !*acked));
  BOOST_TEST(client->stats().ready == inbox);
}

// ---- Faults of the store

BOOST_FIXTURE_TEST_CASE(full_disk_is_reported_as_such_and_nothing_unstored_is_accepted, fixture) {
  const auto limit = [&](const char* pages) {
    on_connection(
        [&](sqlite3* db) { execute(db, "PRAGMA max_page_count = " + std::string(pages)); });
  };
  client->add({.kind = "small"});
  limit("60");
  const std::string payload(10'000, 'x');
  std::size_t accepted = 1;
  std::size_t refused = 0;
  for (int round = 0; round < 10; ++round) {
    std::array<answer<enqueued>, 4> added;
    for (auto& a : added) queue->async_enqueue({.kind = "a", .payload = payload}, a.handler());
    time.settle();
    for (auto& a : added) {
      if (*a.code) {
        BOOST_TEST(is(*a.code, SQLITE_FULL), *a.code);  // and not what ROLLBACK says
        ++refused;
      } else {
        ++accepted;
      }
    }
  }
  BOOST_TEST(refused > 0U);
  BOOST_TEST(accepted > 1U);
  BOOST_TEST(client->stats().ready == accepted);
  BOOST_TEST(other_connection(dir.file()).counts_are_right());
  // What ends jobs makes room, and with it the queue goes on.
  for (const lease& l : client->take({.max = 3})) BOOST_TEST(!client->ack(l.key));
  limit("1000000");
  client->add({.kind = "a", .payload = payload});
  BOOST_TEST(!client->error);
}

BOOST_FIXTURE_TEST_CASE(damage_that_comes_later_is_reported_and_not_swallowed, fixture) {
  const std::string payload(3000, 'x');
  for (int i = 0; i < 50; ++i) client->add({.kind = "a", .payload = payload});
  open();
  other_connection(dir.file()).run("PRAGMA wal_checkpoint(TRUNCATE)");
  const auto size = std::filesystem::file_size(dir.file());
  open({.check = false});
  write_bytes(dir.file(), 8192, std::string(size - 8192, '\xa5'));
  bool reported = false;
  for (int i = 0; i < 60 && !reported; ++i) {
    client->take();
    reported = client->error.failed();
  }
  BOOST_TEST(is(client->error, SQLITE_CORRUPT), client->error);
}

BOOST_FIXTURE_TEST_CASE(record_that_cannot_be_read_is_quarantined_and_blocks_nobody, fixture) {
  const job_id before = client->add({.kind = "a"}).id;
  const job_id bad = client->add({.kind = "a", .priority = 5, .unique_key = "k"}).id;
  const job_id after = client->add({.kind = "a"}).id;
  other_connection(dir.file())
      .run("UPDATE weir_jobs SET headers = x'ffffffff00' WHERE id = " + std::to_string(bad));
  const auto got = client->take({.max = 2});
  BOOST_TEST_REQUIRE(got.size() == 2U);
  BOOST_TEST(got[0].key.id == before);
  BOOST_TEST(got[1].key.id == after);
  const auto dead = client->dead();
  BOOST_TEST_REQUIRE(dead.size() == 1U);
  BOOST_TEST(dead[0].job.id == bad);
  BOOST_TEST(dead[0].reason == "it cannot be read");
  BOOST_TEST(!client->add({.kind = "a", .unique_key = "k"}).duplicate);
  BOOST_TEST(other_connection(dir.file()).counts_are_right());
}

BOOST_FIXTURE_TEST_CASE(unreadable_lease_does_not_keep_others_from_being_recovered, fixture) {
  std::array<job_id, 3> ids{};
  for (job_id& id : ids) id = client->add({.kind = "a"}).id;
  BOOST_TEST(client->take({.max = 3, .lease_for = 1s}).size() == 3U);
  other_connection(dir.file())
      .run("UPDATE weir_jobs SET headers = x'01', kind = char(0) WHERE id = " +
           std::to_string(ids[0]));
  time.advance(2s);
  BOOST_TEST(client->take({.max = 3}).size() == 2U);
  BOOST_TEST(client->dead().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(busy_is_waited_for_and_then_reported, fixture) {
  open({.busy_timeout = 1ms});
  client->add({.kind = "a"});
  other_connection other(dir.file());
  other.run("BEGIN IMMEDIATE");
  client->add({.kind = "a"});
  BOOST_TEST(is(client->error, SQLITE_BUSY), client->error);
  client->take();
  BOOST_TEST(is(client->error, SQLITE_BUSY), client->error);
  BOOST_TEST(client->stats().ready == 1U);  // to read needs no turn
  other.run("COMMIT");
  BOOST_TEST(client->take().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(log_is_bounded_once_a_long_reader_is_gone, fixture) {
  const auto log_size = [&] { return std::filesystem::file_size(dir.file() + "-wal"); };
  const std::string payload(20'000, 'x');
  const auto busy = [&] {
    for (int round = 0; round < 25; ++round) {
      std::vector<answer<enqueued>> added(40);
      for (auto& a : added) queue->async_enqueue({.kind = "a", .payload = payload}, a.handler());
      time.settle();
      for (const lease& l : client->take({.max = 40})) client->cancel(l.key.id);
    }
  };
  other_connection reader(dir.file());
  reader.run("BEGIN; SELECT count(*) FROM weir_jobs");
  busy();
  const auto under_reader = log_size();
  BOOST_TEST(under_reader > 16'000'000U);
  reader.run("COMMIT");
  busy();
  BOOST_TEST(log_size() <= 10'000'000U);
}

BOOST_FIXTURE_TEST_CASE(no_statement_looks_at_more_jobs_than_it_needs, fixture) {
  const auto plans = [](sqlite3* db) {
    int seen = 0;
    std::vector<std::string> texts;
    for (sqlite3_stmt* s = sqlite3_next_stmt(db, nullptr); s; s = sqlite3_next_stmt(db, s))
      texts.emplace_back(sqlite3_sql(s));
    for (const std::string& text : texts) {
      sqlite3_stmt* plan = nullptr;
      if (text.find("weir_") == std::string::npos) continue;
      BOOST_TEST_REQUIRE(sqlite3_prepare_v2(db, ("EXPLAIN QUERY PLAN " + text).c_str(), -1, &plan,
                                            nullptr) == SQLITE_OK);
      while (sqlite3_step(plan) == SQLITE_ROW) {
        const std::string step = reinterpret_cast<const char*>(sqlite3_column_text(plan, 3));
        const bool reads_all = step.find("SCAN weir_jobs") == 0 || step.find("SCAN weir_keys") == 0;
        const bool sorts = step.find("TEMP B-TREE") != std::string::npos;
        BOOST_TEST((!reads_all && !sorts), text << ": " << step);
        ++seen;
      }
      sqlite3_finalize(plan);
    }
    BOOST_TEST(seen > 20);
  };
  on_connection(plans);
}

// ---- In the transaction of the program

BOOST_FIXTURE_TEST_CASE(job_and_what_the_program_writes_are_there_both_or_neither, fixture) {
  other_connection(dir.file()).run("CREATE TABLE orders (id INTEGER)");
  const auto order = [](sqlite3* db) {
    return error_code(execute(db, "INSERT INTO orders VALUES (1)"), weir::sqlite_category());
  };
  BOOST_TEST(!enqueue_with({.kind = "ship"}, order));
  const auto fail = [&](sqlite3* db) -> error_code {
    if (order(db)) return error_code(SQLITE_ERROR, weir::sqlite_category());
    throw system_error(errc::invalid_argument);
  };
  BOOST_TEST((enqueue_with({.kind = "ship"}, fail) == errc::invalid_argument));
  other_connection other(dir.file());
  BOOST_TEST(other.number("SELECT count(*) FROM orders") == 1);
  BOOST_TEST(client->stats().ready == 1U);
  BOOST_TEST(other.counts_are_right());
}

BOOST_FIXTURE_TEST_CASE(effect_of_a_job_that_runs_twice_counts_once, fixture) {
  other_connection(dir.file()).run("CREATE TABLE effects (job INTEGER)");
  client->add({.kind = "a"});
  const auto effect = [](sqlite3* db) {
    return error_code(execute(db, "INSERT INTO effects VALUES (1)"), weir::sqlite_category());
  };
  const lease slow = client->take({.lease_for = 1s}).at(0);
  time.advance(2s);
  const lease second = client->take({.lease_for = 1s}).at(0);
  BOOST_TEST((ack_with(slow.key, effect) == errc::lease_lost));
  BOOST_TEST(!ack_with(second.key, effect));
  BOOST_TEST((ack_with(second.key, effect) == errc::lease_lost));
  BOOST_TEST(other_connection(dir.file()).number("SELECT count(*) FROM effects") == 1);
}

// ---- Several queues on one file

BOOST_FIXTURE_TEST_CASE(those_who_wait_notice_what_another_process_adds, fixture) {
  weir::sqlite_queue other(time.get_executor(), dir.file(), {.executor = time.get_executor()});
  queue_client elsewhere(time, other);
  answer<std::vector<lease>> waiting;
  queue->async_lease({.wait = 1h}, waiting.handler());
  time.advance(10s);
  elsewhere.add({.kind = "a"});
  const auto start = time.now();
  while (!waiting.code && time.now() - start < 1s) time.run_for(1ms);
  BOOST_TEST(waiting.value.size() == 1U);
  BOOST_TEST((time.now() - start <= 101ms));
}

BOOST_FIXTURE_TEST_CASE(stale_report_from_another_process_is_refused, fixture) {
  weir::sqlite_queue other(time.get_executor(), dir.file(), {.executor = time.get_executor()});
  queue_client elsewhere(time, other);
  client->add({.kind = "a"});
  const lease mine = client->take({.lease_for = 1s}).at(0);
  time.advance(2s);
  const lease theirs = elsewhere.take({.lease_for = 1h}).at(0);
  BOOST_TEST((client->ack(mine.key) == errc::lease_lost));
  BOOST_TEST((client->nack(mine.key) == errc::lease_lost));
  BOOST_TEST((client->release(mine.key) == errc::lease_lost));
  BOOST_TEST(!elsewhere.ack(theirs.key));
}

BOOST_FIXTURE_TEST_CASE(process_that_starts_does_not_take_what_another_runs, fixture) {
  client->add({.kind = "a"});
  const lease mine = client->take({.lease_for = 1h}).at(0);
  weir::sqlite_queue other(time.get_executor(), dir.file(), {.executor = time.get_executor()});
  queue_client elsewhere(time, other);
  BOOST_TEST(elsewhere.take({.max = 10}).empty());
  BOOST_TEST(!client->ack(mine.key));
}

// ---- On its own thread

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_and_the_end_carries_out_what_was_accepted) {
  const scratch_directory dir;
  asio::thread_pool threads(2);
  std::vector<std::future<enqueued>> added;
  {
    weir::sqlite_queue queue(threads.get_executor(), dir.file());
    const enqueued e = queue.async_enqueue({.kind = "a"}, asio::use_future).get();
    const auto body = [&]() -> asio::awaitable<bool> {
      const auto leases = co_await queue.async_lease({.wait = 1h}, asio::use_awaitable);
      co_await queue.async_ack(leases.at(0).key, asio::use_awaitable);
      co_return leases.at(0).key.id == e.id;
    };
    BOOST_TEST(asio::co_spawn(threads, body, asio::use_future).get());
    auto waiting = queue.async_lease({.wait = 1h, .kinds = {}}, asio::use_future);
    queue.async_enqueue({.kind = "a"}, asio::use_future).get();
    BOOST_TEST(waiting.get().size() == 1U);
    for (int i = 0; i < 50; ++i)
      added.push_back(queue.async_enqueue({.kind = "b"}, asio::use_future));
  }
  for (auto& a : added) BOOST_TEST(a.get().id > 0);
  other_connection other(dir.file());
  BOOST_TEST(other.number("SELECT count(*) FROM weir_jobs WHERE kind = 'b'") == 50);
  threads.join();
}

BOOST_AUTO_TEST_CASE(destroyed_before_and_after_those_who_wait) {
  const scratch_directory dir;
  asio::thread_pool threads(1);
  std::optional<weir::sqlite_queue> queue(std::in_place, threads.get_executor(), dir.file());
  auto waiting = queue->async_lease({.wait = 1h}, asio::use_future);
  queue.reset();
  BOOST_CHECK_THROW(waiting.get(), system_error);
  queue.emplace(threads.get_executor(), dir.file());
  {
    asio::io_context context;
    queue->async_lease({.wait = 1h}, asio::bind_executor(context, [](error_code, const auto&) {}));
    queue.reset();  // the handler is posted to a context that never runs it
  }
  threads.join();
}

// ---- In any order

WEIR_SIMULATION_TEST_CASE(no_job_is_lost_or_run_by_two_in_any_order, 300) {
  weir::sqlite_queue queue(sim.get_executor(), ":memory:", {.executor = sim.get_executor()});
  weir_test::run_queue_program(sim, queue);
}

BOOST_AUTO_TEST_CASE(no_job_is_lost_when_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(300,
                            [](simulation& sim) {
                              weir::sqlite_queue queue(
                                  sim.get_executor(), ":memory:", {.executor = sim.get_executor()});
                              weir_test::run_queue_program(sim, queue);
                            },
                            {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
