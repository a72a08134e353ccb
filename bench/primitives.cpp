// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Measures one primitive, or what one would write in its place, in this process, and prints
// `result NAME VALUE UNIT`. `bench/run` runs it for each side in turn.

#include "measure.hpp"

#include <weir/bounded_queue.hpp>
#include <weir/circuit_breaker.hpp>
#include <weir/clock.hpp>
#include <weir/histogram.hpp>
#include <weir/rate_limiter.hpp>
#include <weir/semaphore.hpp>
#include <weir/task_group.hpp>
#include <weir/with_timeout.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;

namespace bench {

namespace {

// ---- What takes nanoseconds, over and over.

/// \returns nanoseconds for each call of `f`, after a tenth of the time to warm up.
template <typename F>
double each(const arguments& args, F f) {
  // A program on Asio has threads. In one that has none the C library takes a mutex without an
  // atomic operation, which is a price that nobody pays who needs a mutex.
  asio::thread_pool others(1);
  constexpr int batch = 1000;
  const auto run_for = [&](nanoseconds length) {
    std::uint64_t n = 0;
    const auto start = clock::now();
    auto now = start;
    for (; now - start < length; now = clock::now(), n += batch)
      for (int i = 0; i < batch; ++i) f();
    return static_cast<double>(nanoseconds(now - start).count()) / static_cast<double>(n);
  };
  run_for(args.seconds() / 10);
  return run_for(args.seconds());
}

/// The value is needed, as far as the compiler can tell.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

void permit_of_semaphore(const arguments& args) {
  asio::thread_pool threads(1);
  weir::semaphore s(threads.get_executor(), 2);
  result("permit", each(args, [&] { keep(s.try_acquire()); }), "ns");
}

void permit_by_mutex(const arguments& args) {
  std::mutex mutex;
  std::atomic<int> a{0};
  std::atomic<int> b{0};
  const auto lock = [&] {
    const std::lock_guard held(mutex);
    a.fetch_add(1);
    b.fetch_add(1);
  };
  result("permit", each(args, lock), "ns");
}

void rate_of_limiter(const arguments& args) {
  weir::rate_limiter limiter({.rate = 1'000'000'000, .burst = 1'000'000'000});
  result("limiter", each(args, [&] { keep(limiter.try_acquire()); }), "ns");
}

void call_of_breaker(const arguments& args) {
  weir::circuit_breaker breaker({});
  result("breaker", each(args, [&] { breaker.try_acquire().success(); }), "ns");
}

/// The times of a task, as if: they differ, so that no bucket is foreseen.
struct task_times {
  std::uint64_t state = 1;
  void next() { state = state * 6364136223846793005U + 1442695040888963407U; }
  weir::duration waited() const { return weir::duration(state >> 44U); }
  weir::duration ran() const { return weir::duration((state & 0xffffffffU) >> 12U); }
  std::size_t queued() const { return state >> 58U; }
};

/// What a pool does for each task so that its metrics can tell of it: a reading of the clock, two
/// histograms, and the counters. Its other readings are those that deadlines need anyway, and so is
/// its lock.
void books_of_task(const arguments& args) {
  task_times task;
  weir::histogram queue_wait;
  weir::histogram run_time;
  std::uint64_t submitted = 0;
  std::uint64_t ended = 0;
  std::size_t queued_max = 0;
  const auto enter = [&] {
    task.next();
    keep(weir::steady_clock::now());
    ++submitted;
    queued_max = std::max(queued_max, task.queued());
    queue_wait.record(task.waited());
    run_time.record(task.ran());
    ++ended;
    keep(submitted);
    keep(queued_max);
    keep(ended);
    keep(queue_wait);
    keep(run_time);
  };
  result("books", each(args, enter), "ns");
}

/// The loop that is around them.
void books_of_nothing(const arguments& args) {
  task_times task;
  const auto enter = [&] {
    task.next();
    keep(task.waited());
    keep(task.ran());
    keep(task.queued());
  };
  result("books", each(args, enter), "ns");
}

void item_through_queue(const arguments& args) {
  asio::thread_pool threads(1);
  weir::bounded_queue<int> q(threads.get_executor(), 100);
  const auto pass = [&] {
    if (q.try_send(1)) throw std::runtime_error("the queue is full");
    keep(q.try_receive());
  };
  result("queue", each(args, pass), "ns");
}

void item_through_channel(const arguments& args) {
  asio::thread_pool threads(1);
  asio::experimental::concurrent_channel<void(weir::error_code, int)> c(threads.get_executor(),
                                                                        100);
  int seen = 0;
  const auto pass = [&] {
    if (!c.try_send(weir::error_code(), 1)) throw std::runtime_error("the channel is full");
    c.try_receive([&](weir::error_code, int item) { seen += item; });
    keep(seen);
  };
  result("queue", each(args, pass), "ns");
}

// ---- Four coroutines on two threads that take turns.

constexpr int crowd_size = 4;
constexpr int crowd_rounds = 50'000;

template <typename Guard>
void crowd(Guard guard) {
  asio::thread_pool threads(2);
  guard.open(threads.get_executor());
  const auto start = clock::now();
  for (int i = 0; i < crowd_size; ++i)
    asio::co_spawn(asio::make_strand(threads), guard.take_turns(), asio::detached);
  threads.join();
  result("crowd",
         static_cast<double>(nanoseconds(clock::now() - start).count()) / crowd_size / crowd_rounds,
         "ns");
}

struct semaphore_guard {
  std::shared_ptr<weir::semaphore> s;

  void open(const asio::any_io_executor& ex) { s = std::make_shared<weir::semaphore>(ex, 2); }
  asio::awaitable<void> take_turns() {
    for (int i = 0; i < crowd_rounds; ++i)
      const weir::permit p = co_await s->async_acquire(asio::use_awaitable);
  }
};

using channel = asio::experimental::concurrent_channel<void(weir::error_code)>;

struct channel_guard {
  std::shared_ptr<channel> c;

  void open(const asio::any_io_executor& ex) { c = std::make_shared<channel>(ex, 2); }
  asio::awaitable<void> take_turns() {
    for (int i = 0; i < crowd_rounds; ++i) {
      co_await c->async_send({}, asio::use_awaitable);
      co_await c->async_receive(asio::use_awaitable);
    }
  }
};

// ---- A call that is done at once, under a deadline.

asio::awaitable<int> done_at_once() { co_return 1; }

template <typename F>
void calls(const arguments& args, F call) {
  asio::io_context context(1);
  const auto body = [&]() -> asio::awaitable<void> {
    constexpr int batch = 100;
    std::uint64_t n = 0;
    const auto start = clock::now();
    auto now = start;
    for (; now - start < args.seconds(); now = clock::now(), n += batch)
      for (int i = 0; i < batch; ++i) co_await call();
    result("timeout",
           static_cast<double>(nanoseconds(now - start).count()) / static_cast<double>(n), "ns");
  };
  asio::co_spawn(context, body(), asio::detached);
  context.run();
}

asio::awaitable<void> call_with_timeout() {
  co_await weir::with_timeout(done_at_once(), std::chrono::minutes(10));
}

asio::awaitable<void> call_or_timer() {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::minutes(10));
  co_await (done_at_once() || timer.async_wait(asio::use_awaitable));
}

// ---- Members that do nothing, eight at a time, and the wait for all of them.

constexpr int group_limit = 8;

asio::awaitable<void> sleep_5_ms() {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(5));
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> nothing() { co_return; }

/// `work` is started `n` times.
asio::awaitable<void> in_group(int n, asio::awaitable<void> (*work)()) {
  weir::task_group group(co_await asio::this_coro::executor, {.limit = group_limit});
  for (int i = 0; i < n; ++i) co_await group.async_spawn(work, asio::use_awaitable);
  co_await group.async_wait(asio::use_awaitable);
}

/// The same with what Asio has: a channel as semaphore, and a coroutine each.
asio::awaitable<void> by_channel(int n, asio::awaitable<void> (*work)()) {
  const auto executor = co_await asio::this_coro::executor;
  channel slots(executor, group_limit);
  for (int i = 0; i < n; ++i) {
    co_await slots.async_send({}, asio::use_awaitable);
    asio::co_spawn(asio::make_strand(executor), work(), [&slots](const std::exception_ptr&) {
      slots.try_receive([](weir::error_code) {});
    });
  }
  for (int i = 0; i < group_limit; ++i) co_await slots.async_send({}, asio::use_awaitable);
}

/// The same with a semaphore, and a coroutine each, which holds the permit.
asio::awaitable<void> by_semaphore(int n, asio::awaitable<void> (*work)()) {
  const auto executor = co_await asio::this_coro::executor;
  weir::semaphore slots(executor, group_limit);
  for (int i = 0; i < n; ++i) {
    weir::permit slot = co_await slots.async_acquire(asio::use_awaitable);
    asio::co_spawn(asio::make_strand(executor), work(),
                   [held = std::move(slot)](const std::exception_ptr&) {});
  }
  co_await slots.async_acquire(group_limit, asio::use_awaitable);
}

using producer = asio::awaitable<void> (*)(int, asio::awaitable<void> (*)());

void spawn_and_join(const arguments& args, producer produce) {
  const int n = args.number("tasks", 200'000);
  asio::thread_pool threads(2);
  const auto start = clock::now();
  asio::co_spawn(asio::make_strand(threads), produce(n, nothing), asio::detached);
  threads.join();
  result("group", static_cast<double>(nanoseconds(clock::now() - start).count()) / n, "ns");
}

void drain(const arguments& args, producer produce) {
  const int n = args.number("tasks", 10'000);
  asio::thread_pool threads(2);
  const auto start = clock::now();
  asio::co_spawn(asio::make_strand(threads), produce(n, sleep_5_ms), asio::detached);
  threads.join();
  result("group_drain", std::chrono::duration<double>(clock::now() - start).count(), "s");
}

const scenario_table scenarios = {
    {{"weir", "permit"}, permit_of_semaphore},
    {{"by_hand", "permit"}, permit_by_mutex},
    {{"weir", "crowd"}, [](const arguments&) { crowd(semaphore_guard()); }},
    {{"by_hand", "crowd"}, [](const arguments&) { crowd(channel_guard()); }},
    {{"weir", "limiter"}, rate_of_limiter},
    {{"weir", "breaker"}, call_of_breaker},
    {{"weir", "books"}, books_of_task},
    {{"by_hand", "books"}, books_of_nothing},
    {{"weir", "queue"}, item_through_queue},
    {{"by_hand", "queue"}, item_through_channel},
    {{"weir", "timeout"}, [](const arguments& a) { calls(a, call_with_timeout); }},
    {{"by_hand", "timeout"}, [](const arguments& a) { calls(a, call_or_timer); }},
    {{"weir", "group"}, [](const arguments& a) { spawn_and_join(a, in_group); }},
    {{"by_hand", "group"}, [](const arguments& a) { spawn_and_join(a, by_channel); }},
    {{"weir", "group_drain"}, [](const arguments& a) { drain(a, in_group); }},
    {{"by_hand", "group_drain"}, [](const arguments& a) { drain(a, by_semaphore); }},
};

}  // namespace

}  // namespace bench

int main(int argc, char** argv) { return bench::main_of(bench::scenarios, argc, argv); }
