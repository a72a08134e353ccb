// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Jobs of a queue run in a pool: thumbnails that take two minutes each under a lease of thirty
// seconds, a mail whose server is away at first, and an order that nobody can read. You will see
// that a user who is at its cap is put off without harm, that leases are extended, that what fails
// comes back later and what cannot succeed is set aside at once; and that a consumer which stops
// lets what runs finish, and gives the rest back.

// expect: ^mail: attempt 1 fails$
// expect: ^mail: attempt 2 sent$
// expect: ^dead: order, after 1 attempt: not an order$
// expect: ^acked 4, retried 1, dead 1, put off: yes, leases extended: yes$
// expect: ^stopped: 2 more done, 2 given back$

#include <weir/consumer.hpp>
#include <weir/memory_queue.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;

namespace {

asio::awaitable<void> pass(weir::duration d) {
  weir::steady_timer timer(co_await asio::this_coro::executor, d);
  co_await timer.async_wait(use_awaitable);
}

/// What it returns is kept with the job.
asio::awaitable<std::string> thumbnail(weir::job_context& ctx) {
  co_await pass(2min);
  const weir::job& job = ctx.job();
  std::printf("thumbnail %s for %s: made, attempt %d\n", job.payload.c_str(), job.user.c_str(),
              job.attempt);
  co_return job.payload + ".png";
}

void mail(weir::job_context& ctx) {
  const int attempt = ctx.job().attempt;
  std::printf("mail: attempt %d %s\n", attempt, attempt == 1 ? "fails" : "sent");
  if (attempt == 1) throw std::runtime_error("no answer from the server");
}

void order(weir::job_context&) { throw weir::discard_job("not an order"); }

asio::awaitable<void> run(weir::task_queue& queue, weir::consumer& consumer) {
  for (const char* name : {"1", "2", "3"})
    co_await queue.async_enqueue({.kind = "thumbnail", .payload = name, .user = "ann"},
                                 use_awaitable);
  co_await queue.async_enqueue({.kind = "mail"}, use_awaitable);
  co_await queue.async_enqueue({.kind = "order", .payload = "\xff\xfe"}, use_awaitable);
  consumer.start();
  co_await pass(7min);

  for (const weir::job_status& s : co_await queue.async_dead_letters(0, 10, use_awaitable))
    std::printf("dead: %s, after %d attempt: %s\n", s.job.kind.c_str(), s.job.attempt,
                s.reason.c_str());
  const weir::consumer_metrics before = consumer.metrics();
  std::printf("acked %d, retried %d, dead %d, put off: %s, leases extended: %s\n",
              static_cast<int>(before.acked), static_cast<int>(before.retried),
              static_cast<int>(before.dead), before.snoozed > 0 ? "yes" : "no",
              before.extended > 0 ? "yes" : "no");

  for (const char* user : {"bob", "cid", "dan", "eve"})
    co_await queue.async_enqueue({.kind = "thumbnail", .payload = "last", .user = user},
                                 use_awaitable);
  co_await pass(1min);
  co_await consumer.async_stop(use_awaitable);
  const weir::consumer_metrics after = consumer.metrics();
  std::printf("stopped: %d more done, %d given back\n",
              static_cast<int>(after.acked - before.acked), static_cast<int>(after.returned));
}

}  // namespace

int main() {
  // Virtual time, so that ten minutes take none.
  weir::test::virtual_time time;
  weir::memory_queue queue(time.get_executor());
  weir::worker_pool pool(time.get_executor(), {.workers = 2, .max_per_user = 1});
  weir::consumer consumer(queue, pool, {{"thumbnail", thumbnail}, {"mail", mail}, {"order", order}},
                          {.lease_for = 30s});
  time.spawn(run(queue, consumer));
  time.run();
}
