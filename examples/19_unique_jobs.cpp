// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Jobs with a unique key, in two ways. A search index is rebuilt at most once at a time, however
// often it is asked for: the key is held until the job has ended. A client that repeats a request
// gets the same job and its result: the key, which the client chose, is held for a day, and the
// result as long. You will also see a job that is to run later, one that is taken back, and one
// that fails for good.

// expect: ^rebuild: job 1$
// expect: ^rebuild, asked for again: job 1, a duplicate$
// expect: ^rebuild, after it was done: job 2$
// expect: ^request 7f3a: job 3$
// expect: ^request 7f3a, repeated a minute later: job 3, done, result 42$
// expect: ^request 7f3a, two days later: job 4$
// expect: ^reminder: scheduled, then cancelled$
// expect: ^hopeless: dead after 2 attempts: no such address$

#include <weir/memory_queue.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;

namespace {

int number(weir::job_id id) { return static_cast<int>(id); }

asio::awaitable<void> pass(weir::duration d) {
  weir::steady_timer timer(co_await asio::this_coro::executor, d);
  co_await timer.async_wait(use_awaitable);
}

asio::awaitable<weir::lease> next(weir::task_queue& queue) {
  const auto leases = co_await queue.async_lease({.wait = 1h, .lease_for = 1min}, use_awaitable);
  co_return leases.at(0);
}

asio::awaitable<void> run(weir::task_queue& queue) {
  const weir::job_request rebuild{.kind = "rebuild", .unique_key = "index"};
  weir::enqueued job = co_await queue.async_enqueue(rebuild, use_awaitable);
  std::printf("rebuild: job %d\n", number(job.id));
  job = co_await queue.async_enqueue(rebuild, use_awaitable);
  std::printf("rebuild, asked for again: job %d%s\n", number(job.id),
              job.duplicate ? ", a duplicate" : "");
  weir::lease lease = co_await next(queue);
  co_await queue.async_ack(lease.key, use_awaitable);
  job = co_await queue.async_enqueue(rebuild, use_awaitable);
  std::printf("rebuild, after it was done: job %d\n", number(job.id));
  co_await queue.async_cancel(job.id, use_awaitable);

  const weir::job_request request{
      .kind = "answer", .unique_key = "7f3a", .unique_for = 24h, .keep = 24h};
  job = co_await queue.async_enqueue(request, use_awaitable);
  std::printf("request 7f3a: job %d\n", number(job.id));
  lease = co_await next(queue);
  co_await queue.async_ack(lease.key, "42", use_awaitable);
  co_await pass(1min);
  job = co_await queue.async_enqueue(request, use_awaitable);
  const auto found = co_await queue.async_find(job.id, use_awaitable);
  std::printf("request 7f3a, repeated a minute later: job %d, %s, result %s\n", number(job.id),
              std::string(weir::to_string(found->state)).c_str(), found->result.c_str());
  co_await pass(48h);
  job = co_await queue.async_enqueue(request, use_awaitable);
  std::printf("request 7f3a, two days later: job %d\n", number(job.id));
  co_await queue.async_cancel(job.id, use_awaitable);

  job = co_await queue.async_enqueue({.kind = "remind", .delay = 8h, .keep = 1h}, use_awaitable);
  auto status = co_await queue.async_find(job.id, use_awaitable);
  const std::string before(weir::to_string(status->state));
  co_await queue.async_cancel(job.id, use_awaitable);
  status = co_await queue.async_find(job.id, use_awaitable);
  std::printf("reminder: %s, then %s\n", before.c_str(),
              std::string(weir::to_string(status->state)).c_str());

  co_await queue.async_enqueue({.kind = "mail", .max_attempts = 2}, use_awaitable);
  for (int attempt = 1; attempt <= 2; ++attempt) {
    lease = co_await next(queue);
    co_await queue.async_nack(lease.key, {.delay = 10s, .reason = "no such address"},
                              use_awaitable);
  }
  const auto dead = co_await queue.async_dead_letters(0, 10, use_awaitable);
  std::printf("hopeless: dead after %d attempts: %s\n", dead.at(0).job.attempt,
              dead.at(0).reason.c_str());
}

}  // namespace

int main() {
  // Virtual time, so that two days take none.
  weir::test::virtual_time time;
  weir::memory_queue queue(time.get_executor());
  time.spawn(run(queue));
  time.run();
}
