// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_BENCH_SCENARIOS_HPP
#define WEIR_BENCH_SCENARIOS_HPP

#include "by_hand.hpp"
#include "measure.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// What is measured, written once for every C++ side. A `Side` is constructed from `side_options`
// and has `verdict submit(const std::string& user, F)`, where `F` is a small trivially copyable
// callable that returns `awaitable<void>`.

namespace bench {

namespace asio = boost::asio;

inline constexpr int user_count = 100;
inline constexpr int submitter_count = 4;
inline constexpr int worker_count = 8;

/// Submits until there is room.
template <typename Side, typename F>
void submit_or_yield(Side& side, const std::string& user, F work) {
  for (;;) {
    switch (side.submit(user, work)) {
      case verdict::accepted:
        return;
      case verdict::full:
        std::this_thread::yield();
        break;
      case verdict::user_limit:
        throw std::runtime_error("a user's cap was reached");
    }
  }
}

/// Submit, run, done, of a task that does nothing.
template <typename Side>
void throughput(const arguments& args) {
  Side side({.queue_size = args.number("queue", 100)});
  const auto names = user_names(user_count);
  std::atomic<std::uint64_t> done{0};
  std::uint64_t submitted = 0;
  const auto run = [&](nanoseconds length) {
    for (const auto start = clock::now(); clock::now() - start < length;) {
      for (int i = 0; i < 256; ++i) {
        submit_or_yield(side, names[submitted % user_count], [&done]() -> asio::awaitable<void> {
          done.fetch_add(1, std::memory_order_relaxed);
          co_return;
        });
        ++submitted;
      }
    }
    wait_for([&] { return done.load(std::memory_order_acquire) == submitted; });
  };
  run(std::chrono::milliseconds(100));

  const std::uint64_t before = submitted;
  const auto allocated = allocations();
  const auto start = clock::now();
  run(args.seconds());
  const auto elapsed = clock::now() - start;
  const std::uint64_t n = submitted - before;
  result("throughput", static_cast<double>(nanoseconds(elapsed).count()) / static_cast<double>(n),
         "ns/task");
  result_allocations(allocated, n, "per_task");
}

/// Tasks that hold a thread each until they are released, which the destructor does.
class blockers {
 public:
  template <typename Side>
  void start(Side& side, const std::vector<std::string>& users) {
    for (const std::string& user : users) {
      submit_or_yield(side, user, [this]() -> asio::awaitable<void> {
        running_.fetch_add(1, std::memory_order_relaxed);
        released_.wait(false, std::memory_order_acquire);
        co_return;
      });
    }
    wait_for([&] { return running_.load(std::memory_order_relaxed) == users.size(); });
  }

  void release() {
    released_.store(true, std::memory_order_release);
    released_.notify_all();
  }

 private:
  std::atomic<std::size_t> running_{0};
  std::atomic<bool> released_{false};
};

/// How long a refusal takes while every worker is busy, four submitters at it.
template <typename Side>
void reject(const arguments& args) {
  const auto names = user_names(submitter_count);
  const bool full = args.text("kind") == "full";
  if (!full && args.text("kind") != "user")
    throw std::invalid_argument("reject: --kind full or user");

  blockers busy;
  side_options options{.queue_size = args.number("queue", 100)};
  if (!full) options.max_per_user = worker_count / submitter_count;
  Side side(options);
  const auto nothing = []() -> asio::awaitable<void> { co_return; };
  std::vector<std::string> blocked(worker_count, "blocked");
  if (!full)
    for (int i = 0; i < worker_count; ++i)
      blocked[static_cast<std::size_t>(i)] = names[static_cast<std::size_t>(i % submitter_count)];
  busy.start(side, blocked);
  if (full)
    while (side.submit("blocked", nothing) == verdict::accepted) {
    }

  const verdict want = full ? verdict::full : verdict::user_limit;
  std::atomic<bool> stop{false};
  std::atomic<bool> wrong{false};
  std::atomic<std::uint64_t> total{0};
  const auto reject_until_stopped = [&](const std::string& name) {
    std::uint64_t n = 0;
    for (; !stop.load(std::memory_order_relaxed); ++n)
      if (side.submit(name, nothing) != want) wrong.store(true, std::memory_order_relaxed);
    total.fetch_add(n, std::memory_order_relaxed);
  };
  std::vector<std::thread> submitters;
  submitters.reserve(submitter_count);
  const auto start = clock::now();
  for (const std::string& name : names)
    submitters.emplace_back(reject_until_stopped, std::cref(name));
  std::this_thread::sleep_for(args.seconds());
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& submitter : submitters) submitter.join();
  const auto elapsed = clock::now() - start;

  // Counted apart from the threads above, whose own making allocates.
  const auto allocated = allocations();
  constexpr std::uint64_t few = 10000;
  for (std::uint64_t i = 0; i < few; ++i)
    if (side.submit(names[i % submitter_count], nothing) != want) wrong.store(true);
  const auto allocated_after = allocations();
  busy.release();

  if (wrong.load()) throw std::runtime_error("reject: a verdict other than the one expected");
  result("reject",
         static_cast<double>(nanoseconds(elapsed).count()) / static_cast<double>(total.load()),
         "ns/rejection");
  if (allocated && allocated_after)
    result("allocations", static_cast<double>(*allocated_after - *allocated) / few,
           "per_rejection");
}

/// Many short sleeps at limit eight.
template <typename Side>
void drain(const arguments& args) {
  const int n = args.number("tasks", 10000);
  Side side({.queue_size = n, .suspending = true});
  const auto names = user_names(user_count);
  std::atomic<int> done{0};
  const auto start = clock::now();
  for (int i = 0; i < n; ++i) {
    submit_or_yield(side, names[static_cast<std::size_t>(i % user_count)],
                    [&done]() -> asio::awaitable<void> {
                      asio::steady_timer timer(co_await asio::this_coro::executor,
                                               std::chrono::milliseconds(5));
                      co_await timer.async_wait(asio::use_awaitable);
                      done.fetch_add(1, std::memory_order_release);
                    });
  }
  wait_for([&] { return done.load(std::memory_order_acquire) == n; });
  result("drain", std::chrono::duration<double>(clock::now() - start).count(), "s");
}

/// What 100,000 tasks add to the resident set. Does not return: the tasks are left as they are,
/// for it is not their end that is measured.
template <typename Side>
[[noreturn]] void memory(const arguments& args) {
  const int n = args.number("tasks", 100000);
  const auto names = user_names(n);
  const auto nothing = []() -> asio::awaitable<void> { co_return; };
  {
    Side warm({.threads = 2, .suspending = true});
    for (int i = 0; i < 1000; ++i)
      submit_or_yield(warm, names[static_cast<std::size_t>(i % user_count)], nothing);
  }

  const memory_use before = memory_now();
  std::optional<Side> side;
  std::atomic<int> started{0};
  blockers busy;
  if (args.text("kind") == "queued") {
    side.emplace(side_options{.queue_size = n, .max_per_user = 2 * n});
    busy.start(*side, std::vector<std::string>(worker_count, "blocked"));
    for (int i = 0; i < n; ++i)
      submit_or_yield(*side, names[static_cast<std::size_t>(i % user_count)], nothing);
  } else if (args.text("kind") == "suspended") {
    side.emplace(side_options{.workers = n, .threads = 2, .max_per_user = 2, .suspending = true});
    for (const std::string& name : names) {
      submit_or_yield(*side, name, [&started]() -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
        started.fetch_add(1, std::memory_order_release);
        co_await timer.async_wait(asio::use_awaitable);
      });
    }
    wait_for([&] { return started.load(std::memory_order_acquire) == n; });
  } else {
    throw std::invalid_argument("memory: --kind queued or suspended");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const memory_use after = memory_now();
  result("rss", (after.resident - before.resident) / n, "bytes");
  result("in_use", (after.allocated - before.allocated) / n, "bytes");
  std::_Exit(EXIT_SUCCESS);
}

/// Prints the percentiles of queue-to-start times.
void result_latency(std::vector<std::int64_t> samples);

/// From a submission to an idle pool to the start of its task.
template <typename Submit>
void latency_of(const arguments& args, Submit submit) {
  const int n = args.number("tasks", 3000);
  const auto names = user_names(user_count);
  std::vector<std::int64_t> samples;
  samples.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n + n / 10; ++i) {
    clock::time_point started;
    std::atomic<bool> done{false};
    const auto submitted = clock::now();
    submit(names[static_cast<std::size_t>(i % user_count)], started, done);
    // Long enough for the task to end and for the thread that ran it to go to sleep.
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    wait_for([&] { return done.load(std::memory_order_acquire); });
    if (i >= n / 10) samples.push_back(nanoseconds(started - submitted).count());
  }
  result_latency(std::move(samples));
}

template <typename Side>
void latency(const arguments& args) {
  Side side({.queue_size = args.number("queue", 100)});
  latency_of(args,
             [&side](const std::string& user, clock::time_point& started, std::atomic<bool>& done) {
               submit_or_yield(side, user, [&started, &done]() -> asio::awaitable<void> {
                 started = clock::now();
                 done.store(true, std::memory_order_release);
                 co_return;
               });
             });
}

/// A heavy-tailed mix of task times, as fast as the pool takes them or at a fixed rate.
template <typename Side>
void mix(const arguments& args) {
  const int n = args.number("tasks", 30000);
  const bool paced = args.text("kind") == "paced";
  if (!paced && args.text("kind") != "saturated")
    throw std::invalid_argument("mix: --kind saturated or paced");

  struct state {
    std::vector<work_item> plan;
    std::vector<clock::time_point> submitted;
    std::vector<std::int64_t> latencies;
    std::atomic<int> done{0};
  } shared;
  shared.plan = make_mix(n);
  shared.submitted.resize(static_cast<std::size_t>(n));
  shared.latencies.resize(static_cast<std::size_t>(n));
  const auto arrivals = make_arrivals(n, args.number("rate", 40000));
  const auto names = user_names(user_count);
  Side side({.queue_size = args.number("queue", 100), .suspending = true});

  const auto allocated = allocations();
  const auto start = clock::now();
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    if (paced) std::this_thread::sleep_until(start + arrivals[i]);
    shared.submitted[i] = clock::now();
    submit_or_yield(side, names[i % user_count], [&shared, i]() -> asio::awaitable<void> {
      if (const work_item& item = shared.plan[i]; item.sleep > nanoseconds::zero()) {
        asio::steady_timer timer(co_await asio::this_coro::executor, item.sleep);
        co_await timer.async_wait(asio::use_awaitable);
      } else {
        spin(item.steps);
      }
      shared.latencies[i] = nanoseconds(clock::now() - shared.submitted[i]).count();
      shared.done.fetch_add(1, std::memory_order_release);
    });
  }
  wait_for([&] { return shared.done.load(std::memory_order_acquire) == n; });
  const auto elapsed = std::chrono::duration<double>(clock::now() - start).count();
  const auto allocated_after = allocations();
  std::sort(shared.latencies.begin(), shared.latencies.end());
  result("rate", n / elapsed, "tasks/s");
  result("p50", percentile(shared.latencies, 0.50) / 1e3, "us");
  result("p95", percentile(shared.latencies, 0.95) / 1e3, "us");
  result("p99", percentile(shared.latencies, 0.99) / 1e3, "us");
  if (allocated && allocated_after)
    result("allocations", static_cast<double>(*allocated_after - *allocated) / n, "per_task");
  result("peak", peak_resident() / (1 << 20), "MiB");
}

/// Runs the scenario of that name; false where there is none.
template <typename Side>
bool run_scenario(const std::string& name, const arguments& args) {
  if (name == "throughput") {
    throughput<Side>(args);
  } else if (name == "reject") {
    reject<Side>(args);
  } else if (name == "drain") {
    drain<Side>(args);
  } else if (name == "memory") {
    memory<Side>(args);
  } else if (name == "latency") {
    latency<Side>(args);
  } else if (name == "mix") {
    mix<Side>(args);
  } else {
    return false;
  }
  return true;
}

/// The scenarios on weir's pool.
bool run_weir(const std::string& scenario, const arguments& args);

}  // namespace bench

#endif  // WEIR_BENCH_SCENARIOS_HPP
