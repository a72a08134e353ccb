// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Measures one scenario on one side, in this process, and prints `result NAME VALUE UNIT` lines.
// `bench/run` runs it for each side in turn, the programs in other languages in between, and puts
// the results beside each other.

#include "scenarios.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstdio>
#include <exception>

namespace bench {

void result_latency(std::vector<std::int64_t> samples) {
  std::sort(samples.begin(), samples.end());
  result("latency_p50", percentile(samples, 0.50), "ns");
  result("latency_p99", percentile(samples, 0.99), "ns");
}

namespace {

/// The least that gets work onto another thread.
bool run_post(const std::string& scenario, const arguments& args) {
  if (scenario != "latency") return false;
  asio::thread_pool threads(worker_count);
  latency_of(args,
             [&threads](const std::string&, clock::time_point& started, std::atomic<bool>& done) {
               asio::post(threads, [&started, &done] {
                 started = clock::now();
                 done.store(true, std::memory_order_release);
               });
             });
  threads.join();
  return true;
}

asio::awaitable<void> sleep_repeatedly(int times) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < times; ++i) {
    timer.expires_after(std::chrono::milliseconds(5));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

/// Eight loops that do nothing but wait on a timer: what the drain would take with no pool at all.
bool run_timers(const std::string& scenario, const arguments& args) {
  if (scenario != "drain") return false;
  const int n = args.number("tasks", 10000);
  asio::thread_pool threads(worker_count);
  const auto start = clock::now();
  for (int i = 0; i < worker_count; ++i)
    asio::co_spawn(threads, sleep_repeatedly(n / worker_count), asio::detached);
  threads.join();
  result("drain", std::chrono::duration<double>(clock::now() - start).count(), "s");
  return true;
}

/// What a step of `spin` takes, to see that it is the same in each language.
bool run_spin() {
  constexpr std::uint64_t steps = 100'000'000;
  const auto start = clock::now();
  spin(steps);
  result("step", static_cast<double>(nanoseconds(clock::now() - start).count()) / steps, "ns");
  return true;
}

bool run(const std::string& side, const std::string& scenario, const arguments& args) {
  if (scenario == "spin") return run_spin();
  if (side == "weir") return run_weir(scenario, args);
  if (side == "by_hand") return run_scenario<by_hand_pool>(scenario, args);
  if (side == "bare") return run_scenario<bare_pool>(scenario, args);
  if (side == "post") return run_post(scenario, args);
  if (side == "timers") return run_timers(scenario, args);
  return false;
}

}  // namespace

}  // namespace bench

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SIDE SCENARIO [--flag value ...]\n", argv[0]);
    return 2;
  }
  try {
    if (bench::run(argv[1], argv[2], bench::arguments(argc - 3, argv + 3))) return 0;
    std::fprintf(stderr, "%s: no scenario %s for %s\n", argv[0], argv[2], argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
  }
  return 1;
}
