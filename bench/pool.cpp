// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// What a pool of weir costs with many users, and while somebody looks into it: measures one of
// these in this process, and prints `result NAME VALUE UNIT`. `bench/run` runs it for each kind in
// turn.

#include "scenarios.hpp"
#include "weir_side.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bench {

namespace {

// ---- Many users.

/// Submit, run, done, of tasks that do nothing, two of each user, handed over by the users in turn.
/// The workers are kept busy until all are queued, so that all users wait at once.
void users(const arguments& args) {
  const int n = args.number("users", 10'000);
  const bool fair = args.text("kind") == "fair";
  if (!fair && args.text("kind") != "fifo")
    throw std::invalid_argument("users: --kind fair or fifo");
  weir_side side({.queue_size = 2 * n}, fair ? weir::discipline::fair : weir::discipline::fifo);
  const auto names = user_names(n);
  std::atomic<int> done{0};
  const auto round = [&] {
    blockers busy;
    busy.start(side, std::vector<std::string>(worker_count, "blocked"));
    done.store(0);
    const auto start = clock::now();
    for (int i = 0; i < 2 * n; ++i)
      submit_or_yield(side, names[static_cast<std::size_t>(i % n)],
                      [&done]() -> asio::awaitable<void> {
                        done.fetch_add(1, std::memory_order_release);
                        co_return;
                      });
    busy.release();
    wait_for([&] { return done.load(std::memory_order_acquire) == 2 * n; });
    const auto elapsed = clock::now() - start;
    // Those that kept the workers busy refer to what kept them.
    wait_for([&] { return side.pool().metrics().active == 0; });
    return elapsed;
  };
  round();
  std::int64_t rounds = 0;
  nanoseconds elapsed{};
  for (; elapsed < args.seconds(); ++rounds) elapsed += round();
  result("users", static_cast<double>(elapsed.count()) / static_cast<double>(rounds) / (2.0 * n),
         "ns/task");
}

// ---- A dump.

/// Tasks that hand themselves over again as they run, and the longest time from one to the next.
class heartbeat {
 public:
  explicit heartbeat(weir::worker_pool& pool) : pool_(pool) {}

  void start(int tasks) {
    for (int i = 0; i < tasks; ++i) hand_over();
  }

  /// The longest from the call of `f` to the next beat after its end.
  template <typename F>
  std::int64_t longest_during(F f) {
    wait_for_beats();
    longest_.store(0, std::memory_order_relaxed);
    f();
    wait_for_beats();
    return longest_.load(std::memory_order_relaxed);
  }

 private:
  void hand_over() {
    const auto ec = pool_.submit({.id = {},
                                  .user = "heart",
                                  .fn = [this](weir::task_context&) { return beat(); },
                                  .priority = 1,
                                  .timeout = {}});
    if (ec) std::abort();
  }

  asio::awaitable<void> beat() {
    // One worker runs them all, so one after another.
    const auto now = clock::now();
    const std::int64_t gap = nanoseconds(now - last_).count();
    if (gap > longest_.load(std::memory_order_relaxed))
      longest_.store(gap, std::memory_order_relaxed);
    last_ = now;
    beats_.fetch_add(1, std::memory_order_release);
    hand_over();
    co_return;
  }

  void wait_for_beats() {
    const std::uint64_t from = beats_.load(std::memory_order_acquire);
    wait_for([&] { return beats_.load(std::memory_order_acquire) > from + 2; });
  }

  weir::worker_pool& pool_;
  clock::time_point last_ = clock::now();
  std::atomic<std::int64_t> longest_{0};
  std::atomic<std::uint64_t> beats_{0};
};

/// How long a dump of 10,000 tasks takes, of which a tenth run and the others are queued, and how
/// long it holds up a worker that has one short task after another meanwhile. Does not return: the
/// tasks are left as they are.
[[noreturn]] void dump(const arguments& args) {
  const int n = args.number("tasks", 10'000);
  const int suspended = n / 10;
  weir::worker_pool pool({.workers = suspended + 1,
                          .threads = 1,
                          .queue_size = n + 100,
                          .max_per_user = n,
                          .discipline = weir::discipline::priority,
                          .aging = {}});
  heartbeat heart(pool);
  std::atomic<int> started{0};
  for (int i = 0; i < n; ++i) {
    const auto ec = pool.submit(
        {.id = "an id that is too long to fit into a string itself " + std::to_string(i),
         .user = "a user with a name as long as that " + std::to_string(i / 10),
         .fn = [&started](weir::task_context&) -> asio::awaitable<void> {
           asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
           started.fetch_add(1, std::memory_order_release);
           co_await timer.async_wait(asio::use_awaitable);
         },
         .priority = i < suspended ? 2 : 0,
         .timeout = {}});
    if (ec) throw boost::system::system_error(ec);
    if (i == suspended - 1) {
      wait_for([&] { return started.load(std::memory_order_acquire) == suspended; });
      heart.start(8);
    }
  }

  std::vector<std::int64_t> took, stalls, stalls_without;
  for (int i = 0; i < args.number("dumps", 60); ++i) {
    nanoseconds elapsed{};
    stalls.push_back(heart.longest_during([&] {
      const auto start = clock::now();
      if (pool.dump().tasks.size() < static_cast<std::size_t>(n))
        throw std::runtime_error("dump: a task is not there");
      elapsed = clock::now() - start;
    }));
    took.push_back(elapsed.count());
    stalls_without.push_back(heart.longest_during([&] { std::this_thread::sleep_for(elapsed); }));
  }
  for (auto* samples : {&took, &stalls, &stalls_without})
    std::sort(samples->begin(), samples->end());
  result("dump", percentile(took, 0.5) / 1e6, "ms");
  result("stall", percentile(stalls, 0.5) / 1e3, "us");
  result("stall_p90", percentile(stalls, 0.9) / 1e3, "us");
  result("stall_without", percentile(stalls_without, 0.5) / 1e3, "us");
  std::_Exit(EXIT_SUCCESS);
}

const scenario_table scenarios = {
    {{"weir", "users"}, users},
    {{"weir", "dump"}, [](const arguments& args) { dump(args); }},
};

}  // namespace

}  // namespace bench

int main(int argc, char** argv) { return bench::main_of(bench::scenarios, argc, argv); }
