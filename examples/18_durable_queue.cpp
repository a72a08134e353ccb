// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A shop that ships orders. An order and the job that ships it are written in one transaction, the
// outbox, so there is neither one without the other; and what the job writes is written in the one
// that acknowledges it, so it counts once, however often the job runs. You will see a worker that
// dies, and another that takes over when the lease of the first has run out; the first one's late
// report is refused. Then the program starts again, and what was not done is still there.

// expect: ^ordered: the job has number 1$
// expect: ^first worker: attempt 1, and it hangs$
// expect: ^second worker: attempt 2, shipped$
// expect: ^first worker, too late: the lease has gone to somebody else$
// expect: ^parcels: 1$
// expect: ^after the restart: 1 waits, for order 2$

#include <weir/sqlite_queue.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;

namespace {

/// Runs `sql` in the transaction of a request.
weir::sqlite_queue::effect statement(std::string sql) {
  return [sql = std::move(sql)](sqlite3* db) {
    return weir::error_code(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr),
                            weir::sqlite_category());
  };
}

asio::awaitable<void> shop(weir::sqlite_queue& queue) {
  auto order = statement(
      "CREATE TABLE orders (id); CREATE TABLE parcels (id);"
      "INSERT INTO orders VALUES (1)");
  const weir::enqueued job = co_await queue.async_enqueue_with(
      {.kind = "ship", .payload = "order 1"}, std::move(order), use_awaitable);
  std::printf("ordered: the job has number %lld\n", static_cast<long long>(job.id));

  const auto first = co_await queue.async_lease({.lease_for = 30s}, use_awaitable);
  std::printf("first worker: attempt %d, and it hangs\n", first.at(0).job.attempt);

  // Half a minute later, which the example does not wait for.
  const auto second = co_await queue.async_lease({.wait = 1min, .lease_for = 30s}, use_awaitable);
  auto parcel = statement("INSERT INTO parcels VALUES (1)");
  co_await queue.async_ack_with(second.at(0).key, "", parcel, use_awaitable);
  std::printf("second worker: attempt %d, shipped\n", second.at(0).job.attempt);

  const auto [late] =
      co_await queue.async_ack_with(first.at(0).key, "", parcel, asio::as_tuple(use_awaitable));
  std::printf("first worker, too late: %s\n", late.message().c_str());

  int parcels = 0;
  weir::sqlite_queue::effect count = [&parcels](sqlite3* db) {
    const auto read = [](void* to, int, char** row, char**) {
      *static_cast<int*>(to) = std::atoi(row[0]);
      return 0;
    };
    const int code = sqlite3_exec(db, "SELECT count(*) FROM parcels", read, &parcels, nullptr);
    return weir::error_code(code, weir::sqlite_category());
  };
  co_await queue.async_enqueue_with({.kind = "ship", .payload = "order 2"}, std::move(count),
                                    use_awaitable);
  std::printf("parcels: %d\n", parcels);
}

asio::awaitable<void> look(weir::sqlite_queue& queue) {
  const weir::queue_stats stats = co_await queue.async_stats(use_awaitable);
  const auto leases = co_await queue.async_lease({}, use_awaitable);
  std::printf("after the restart: %zu waits, for %s\n", stats.ready,
              leases.at(0).job.payload.c_str());
}

}  // namespace

int main() {
  std::string name = (std::filesystem::temp_directory_path() / "weir_example_XXXXXX").string();
  if (!mkdtemp(name.data())) return 1;
  const std::filesystem::path directory(name);
  for (const auto part : {&shop, &look}) {
    weir::test::virtual_time time;
    // On the executor of the virtual time. A program leaves `executor` out, and SQLite gets a
    // thread.
    weir::sqlite_queue queue(time.get_executor(), (directory / "shop.db").string(),
                             {.executor = time.get_executor()});
    time.spawn(part(queue));
    time.run();
  }
  std::filesystem::remove_all(directory);
}
