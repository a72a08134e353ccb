// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Measures one primitive, or what one would write in its place, in this process, and prints
// `result NAME VALUE UNIT`. `bench/run` runs it for each side in turn.

#include "measure.hpp"

#include <weir/rate_limiter.hpp>
#include <weir/semaphore.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
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

const std::map<std::pair<std::string, std::string>, void (*)(const arguments&)> scenarios = {
    {{"weir", "permit"}, permit_of_semaphore},
    {{"by_hand", "permit"}, permit_by_mutex},
    {{"weir", "crowd"}, [](const arguments&) { crowd(semaphore_guard()); }},
    {{"by_hand", "crowd"}, [](const arguments&) { crowd(channel_guard()); }},
    {{"weir", "limiter"}, rate_of_limiter},
};

}  // namespace

}  // namespace bench

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SIDE SCENARIO [--flag value ...]\n", argv[0]);
    return 2;
  }
  try {
    const auto found = bench::scenarios.find({argv[1], argv[2]});
    if (found != bench::scenarios.end()) {
      found->second(bench::arguments(argc - 3, argv + 3));
      return 0;
    }
    std::fprintf(stderr, "%s: no scenario %s for %s\n", argv[0], argv[2], argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
  }
  return 1;
}
