// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Measures the durable queue, or SQLite with nothing around it, in this process, and prints
// `result NAME VALUE UNIT`. `bench/run` runs it for each side in turn.

#include "measure.hpp"

#include <weir/memory_queue.hpp>
#include <weir/sqlite_queue.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace bench {

namespace {

constexpr int callers = 64;
constexpr std::string_view kinds[] = {"mail"};
const std::string payload(100, 'x');

class scratch_directory {
 public:
  scratch_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "weir_bench_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no directory for the queue");
    path_ = name;
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string file() const { return (path_ / "jobs.db").string(); }

 private:
  std::filesystem::path path_;
};

double micros_each(clock::time_point start, int n) {
  return std::chrono::duration<double, std::micro>(clock::now() - start).count() / n;
}

// ---- weir.

/// Runs `one`, a coroutine, for each number below `n`, for so many of them at once.
template <typename F>
void for_each_of(int n, int at_once, F one) {
  asio::io_context context(1);
  std::exception_ptr failed;
  int next = 0;
  const auto caller = [&]() -> asio::awaitable<void> {
    while (next != n) co_await one(next++);
  };
  for (int i = 0; i < at_once; ++i)
    asio::co_spawn(context, caller, [&](const std::exception_ptr& e) { failed = e ? e : failed; });
  context.run();
  if (failed) std::rethrow_exception(failed);
}

/// A queue and those who use it, 64 at once, each of whom waits for one answer before the next
/// request.
class client {
 public:
  explicit client(weir::task_queue& queue) : queue_(&queue) {}

  void enqueue(int n) {
    for_each_of(n, callers, [this](int) -> asio::awaitable<void> {
      co_await queue_->async_enqueue({.kind = "mail", .payload = payload, .user = "ann"},
                                     asio::use_awaitable);
    });
  }

  void lease(int n) {
    leased_.reserve(leased_.size() + static_cast<std::size_t>(n));
    for_each_of(n, callers, [this](int) -> asio::awaitable<void> {
      const auto leases =
          co_await queue_->async_lease({.lease_for = 1h, .kinds = kinds}, asio::use_awaitable);
      leased_.push_back(leases.at(0).key);
    });
  }

  void ack() {
    const auto keys = std::exchange(leased_, {});
    for_each_of(static_cast<int>(keys.size()), callers, [&](int i) -> asio::awaitable<void> {
      co_await queue_->async_ack(keys[static_cast<std::size_t>(i)], asio::use_awaitable);
    });
  }

  /// As fast as it can be done.
  void fill(int n) {
    constexpr int part = 10'000;
    const std::vector<weir::job_request> jobs(part, {.kind = "mail", .payload = payload});
    for_each_of(n / part, 1, [&](int) -> asio::awaitable<void> {
      co_await queue_->async_enqueue(std::span(jobs), asio::use_awaitable);
    });
  }

 private:
  weir::task_queue* queue_;
  std::vector<weir::lease_key> leased_;
};

asio::any_io_executor nowhere() {
  static asio::io_context context(1);
  return context.get_executor();
}

void jobs(const arguments& args) {
  const int n = args.number("jobs", 100'000);
  const scratch_directory directory;
  weir::sqlite_queue queue(nowhere(), directory.file());
  client c(queue);
  const auto start = clock::now();
  c.enqueue(n);
  c.lease(n);
  c.ack();
  result("jobs", micros_each(start, n), "us");
}

void lease_of_backlog(const arguments& args) {
  const int n = args.number("leases", 10'000);
  const int backlog = args.text("kind") == "full" ? args.number("backlog", 1'000'000) : 0;
  const scratch_directory directory;
  weir::sqlite_queue queue(nowhere(), directory.file());
  client c(queue);
  c.fill(backlog + n);
  const auto start = clock::now();
  c.lease(n);
  result("jobs_backlog", micros_each(start, n), "us");
}

void jobs_in_memory(const arguments& args) {
  const int n = args.number("jobs", 100'000);
  weir::memory_queue queue(nowhere(), {.capacity = static_cast<std::size_t>(n)});
  client c(queue);
  c.enqueue(n);
  const auto start = clock::now();
  c.lease(n);
  c.ack();
  result("jobs_memory", micros_each(start, n), "us");
}

// ---- SQLite alone: what one would write for a queue, with the fewest statements that do it.

class connection {
 public:
  explicit connection(const std::string& path) { check(sqlite3_open(path.c_str(), &db_)); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() { sqlite3_close_v2(db_); }

  void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
  }
  sqlite3* handle() noexcept { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

class statement {
 public:
  statement(connection& db, const char* sql) {
    db.check(sqlite3_prepare_v3(db.handle(), sql, -1, SQLITE_PREPARE_PERSISTENT, &s_, nullptr));
  }
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;
  ~statement() { sqlite3_finalize(s_); }

  void bind(int at, std::int64_t value) { sqlite3_bind_int64(s_, at, value); }
  void bind(int at, std::string_view value) {
    sqlite3_bind_text(s_, at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }

  /// Runs it with these. `read` is given the row, if there is one.
  template <typename Read, typename... Values>
  void run(Read read, const Values&... values) {
    int at = 0;
    (bind(++at, values), ...);
    int code = sqlite3_step(s_);
    if (code == SQLITE_ROW) {
      read(s_);
      code = sqlite3_step(s_);
    }
    sqlite3_reset(s_);
    if (code != SQLITE_DONE) throw std::runtime_error("a statement has failed");
  }

 private:
  sqlite3_stmt* s_ = nullptr;
};

void jobs_raw(const arguments& args) {
  const int n = args.number("jobs", 100'000);
  const int together = args.text("kind") == "alone" ? 1 : callers;
  const scratch_directory directory;
  connection db(directory.file());
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run(
      "CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL,"
      " at INTEGER NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, token INTEGER NOT NULL DEFAULT 0,"
      " max_attempts INTEGER NOT NULL, priority INTEGER NOT NULL, run_at INTEGER NOT NULL,"
      " kind TEXT NOT NULL, user TEXT NOT NULL, payload BLOB NOT NULL) STRICT");
  db.run("CREATE INDEX ready ON jobs (kind, priority DESC, at, id) WHERE state = 2");
  db.run("CREATE INDEX leased ON jobs (at) WHERE state = 3");  // to find those that have run out
  statement begin(db, "BEGIN IMMEDIATE");
  statement commit(db, "COMMIT");
  statement insert(db,
                   "INSERT INTO jobs (state, at, max_attempts, priority, run_at, kind, user,"
                   " payload) VALUES (2, ?1, 20, 0, ?1, ?2, ?3, CAST(?4 AS BLOB))");
  statement find(db,
                 "SELECT id, kind, payload, user, priority, run_at, attempt, max_attempts, token"
                 " FROM jobs WHERE state = 2 AND kind = ?1 ORDER BY priority DESC, at, id LIMIT 1");
  statement claim(db,
                  "UPDATE jobs SET state = 3, at = ?2, attempt = attempt + 1, token = token + 1"
                  " WHERE id = ?1");
  statement ack(db, "DELETE FROM jobs WHERE id = ?1 AND state = 3 AND token = ?2");

  const auto nothing = [](sqlite3_stmt*) {};
  const auto in_transactions = [&](auto one) {
    for (int i = 0; i < n;) {
      begin.run(nothing);
      for (const int end = std::min(n, i + together); i != end; ++i) one(i);
      commit.run(nothing);
    }
  };
  constexpr std::int64_t some_time = 1'800'000'000'000'000'000;
  std::vector<std::int64_t> leased;
  const auto start = clock::now();
  in_transactions([&](int i) { insert.run(nothing, some_time + i, kinds[0], "ann", payload); });
  in_transactions([&](int) {
    std::int64_t id = 0;
    std::string read;
    find.run(
        [&](sqlite3_stmt* row) {
          id = sqlite3_column_int64(row, 0);
          read.assign(static_cast<const char*>(sqlite3_column_blob(row, 2)),
                      static_cast<std::size_t>(sqlite3_column_bytes(row, 2)));
        },
        kinds[0]);
    claim.run(nothing, id, some_time);
    leased.push_back(id);
  });
  in_transactions(
      [&](int i) { ack.run(nothing, leased[static_cast<std::size_t>(i)], std::int64_t{1}); });
  result("jobs", micros_each(start, n), "us");
}

const scenario_table scenarios = {
    {{"weir", "jobs"}, jobs},                      //
    {{"raw", "jobs"}, jobs_raw},                   //
    {{"weir", "jobs_backlog"}, lease_of_backlog},  //
    {{"weir", "jobs_memory"}, jobs_in_memory},     //
};

}  // namespace

}  // namespace bench

int main(int argc, char** argv) { return bench::main_of(bench::scenarios, argc, argv); }
