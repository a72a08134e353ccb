// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// What the parts of the pool cost, each alone. For the pool as a whole, beside others, see
// compare.cpp.

#include <weir/clock.hpp>
#include <weir/detail/inline_strand.hpp>
#include <weir/detail/user_slots.hpp>
#include <weir/task.hpp>
#include <weir/test/simulation.hpp>
#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <benchmark/benchmark.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace asio = boost::asio;

namespace {

// ---- The clock.

void clock_of_std(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(std::chrono::steady_clock::now());
}
BENCHMARK(clock_of_std);

void clock_running(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(weir::steady_clock::now());
}
BENCHMARK(clock_running);

void clock_paused(benchmark::State& state) {
  const weir::test::virtual_time paused;
  for (auto _ : state) benchmark::DoNotOptimize(weir::steady_clock::now());
}
BENCHMARK(clock_paused);

// ---- What a coroutine costs.

asio::awaitable<void> do_nothing() { co_return; }

asio::awaitable<void> await_repeatedly(benchmark::State& state) {
  for (auto _ : state) co_await do_nothing();
}

void nested_co_await(benchmark::State& state) {
  asio::io_context context(1);
  asio::co_spawn(context, await_repeatedly(state), asio::detached);
  context.run();
}
BENCHMARK(nested_co_await);

// ---- The strand that admission goes through, and the table behind it.

void uncontended_mutex(benchmark::State& state) {
  std::mutex mutex;
  int counter = 0;
  for (auto _ : state) {
    const std::lock_guard lock(mutex);
    benchmark::DoNotOptimize(++counter);
  }
}
BENCHMARK(uncontended_mutex);

void inline_strand(benchmark::State& state) {
  // Shared by the benchmark's threads.
  static asio::execution_context context;
  static weir::detail::inline_strand strand(context);
  static int counter = 0;
  for (auto _ : state) strand.run([]() noexcept { benchmark::DoNotOptimize(++counter); });
}
BENCHMARK(inline_strand)->ThreadRange(1, 4)->UseRealTime();

std::string user_name(int i) { return "u" + std::to_string(i); }

/// One visit to take a slot and one to give it back. `range(0)` users take turns.
void user_slots_take_and_give(benchmark::State& state) {
  static asio::execution_context context;
  static weir::detail::user_slots slots(context, 1000, weir::errc::user_limit_reached);
  constexpr int most_users = 100;
  std::array<std::string, most_users> names;
  for (int i = 0; i < most_users; ++i)
    names[static_cast<std::size_t>(i)] = user_name(i + state.thread_index() * most_users);
  std::size_t next = 0;
  for (auto _ : state) {
    const std::string& user = names[next];
    next = (next + 1) % static_cast<std::size_t>(state.range(0));
    const std::size_t hash = weir::detail::user_slots::hash(user);
    weir::detail::user_slots::entry* held = nullptr;
    const weir::error_code ec = slots.acquire(
        user, hash, []() noexcept { return weir::error_code(); },
        [&held](weir::detail::user_slots::entry* entry) {
          held = entry;
          return weir::error_code();
        });
    if (ec) {
      state.SkipWithError("a slot was refused");
      break;
    }
    slots.release(held);
  }
}
BENCHMARK(user_slots_take_and_give)->Arg(1)->Arg(100)->ThreadRange(1, 4)->UseRealTime();

// ---- Refusals.

/// A pool whose one worker is blocked in a task.
class blocked_pool {
 public:
  explicit blocked_pool(weir::pool_options options) : pool_(std::move(options)) {
    const weir::error_code ec = pool_.submit({.id = {},
                                              .user = "blocked",
                                              .fn =
                                                  [this](weir::task_context&) {
                                                    running_.store(true);
                                                    running_.notify_one();
                                                    release_.wait(false);
                                                  },
                                              .priority = 0,
                                              .timeout = {}});
    if (ec) throw boost::system::system_error(ec);
    running_.wait(false);
  }
  ~blocked_pool() {
    release_.store(true);
    release_.notify_one();
  }
  blocked_pool(const blocked_pool&) = delete;
  blocked_pool& operator=(const blocked_pool&) = delete;

  weir::worker_pool& operator*() noexcept { return pool_; }

 private:
  std::atomic<bool> running_{false};
  std::atomic<bool> release_{false};
  weir::worker_pool pool_;
};

weir::task no_op(const std::string& user) {
  return {.id = {},
          .user = user,
          .fn = [](weir::task_context&) { return do_nothing(); },
          .priority = 0,
          .timeout = {}};
}

/// What the caller of `submit` pays before and after it.
void make_and_drop_task(benchmark::State& state) {
  const std::string user = user_name(1);
  for (auto _ : state) {
    weir::task made = no_op(user);
    benchmark::DoNotOptimize(made);
  }
}
BENCHMARK(make_and_drop_task);

/// `range(0)` chooses the error.
void refusal(benchmark::State& state) {
  static std::unique_ptr<blocked_pool> pool;
  const bool full = state.range(0) == 0;
  if (state.thread_index() == 0) {
    pool = std::make_unique<blocked_pool>(
        weir::pool_options{.workers = 1, .threads = 1, .queue_size = 4, .max_per_user = 4});
    for (int i = 0; full && i < 4; ++i)
      if ((**pool).submit(no_op("queued"))) state.SkipWithError("the queue did not fill");
  }
  const std::string user = full ? user_name(state.thread_index()) : std::string("blocked");
  const weir::errc expected = full ? weir::errc::queue_full : weir::errc::user_limit_reached;
  bool first = true;
  for (auto _ : state) {
    if (first && !full && state.thread_index() == 0)
      while (!(**pool).submit(no_op(user))) {
      }
    first = false;
    const weir::error_code ec = (**pool).submit(no_op(user));
    if (state.threads() == 1 && ec != expected) {
      state.SkipWithError("not the refusal that was meant");
      break;
    }
  }
  if (state.thread_index() == 0) pool.reset();
  state.SetLabel(full ? "queue full" : "user at cap");
}
BENCHMARK(refusal)->Arg(0)->Arg(1)->ThreadRange(1, 4)->UseRealTime();

// ---- A whole task, on one thread.

template <typename MakeTask>
void submit_run_done(benchmark::State& state, MakeTask make_task) {
  asio::io_context context(1);
  weir::worker_pool pool(context.get_executor(),
                         {.workers = 1, .queue_size = 64, .max_per_user = 64});
  std::uint64_t done = 0;
  for (auto _ : state) {
    for (int i = 0; i < 64; ++i)
      if (pool.submit(make_task(done))) state.SkipWithError("a task was refused");
    context.restart();
    context.poll();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
  if (done != static_cast<std::uint64_t>(state.iterations()) * 64)
    state.SkipWithError("not every task has run");
}

void submit_run_done_coroutine(benchmark::State& state) {
  submit_run_done(state, [](std::uint64_t& done) {
    return weir::task{.id = {},
                      .user = "u1",
                      .fn = [&done](weir::task_context&) -> asio::awaitable<void> {
                        ++done;
                        co_return;
                      },
                      .priority = 0,
                      .timeout = {}};
  });
}
BENCHMARK(submit_run_done_coroutine);

void submit_run_done_function(benchmark::State& state) {
  submit_run_done(state, [](std::uint64_t& done) {
    return weir::task{.id = {},
                      .user = "u1",
                      .fn = [&done](weir::task_context&) { ++done; },
                      .priority = 0,
                      .timeout = {}};
  });
}
BENCHMARK(submit_run_done_function);

/// The same with the result coming back to a waiting coroutine, one task at a time.
asio::awaitable<void> spawn_repeatedly(benchmark::State& state, weir::worker_pool& pool) {
  const auto work = [](weir::task_context&) { return 42; };
  for (auto _ : state) {
    const int result = co_await weir::co_spawn(pool, {.user = "u1"}, work, asio::use_awaitable);
    benchmark::DoNotOptimize(result);
  }
}

void co_spawn_and_await(benchmark::State& state) {
  asio::io_context context(1);
  weir::worker_pool pool(context.get_executor(), {.workers = 1});
  asio::co_spawn(context, spawn_repeatedly(state, pool), asio::detached);
  context.run();
}
BENCHMARK(co_spawn_and_await);

// ---- The test kit.

asio::awaitable<void> sleep_5_ms(weir::task_context&) {
  weir::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(5));
  co_await timer.async_wait(asio::use_awaitable);
}

/// 10,000 tasks of 5 ms, 8 at a time.
void virtual_time_10000_tasks_of_5_ms(benchmark::State& state) {
  for (auto _ : state) {
    weir::test::virtual_time time;
    weir::worker_pool pool(time.get_executor(),
                           {.workers = 8, .queue_size = 10'000, .max_per_user = 0});
    for (int i = 0; i < 10'000; ++i)
      if (pool.submit({.id = {}, .user = {}, .fn = sleep_5_ms})) std::abort();
    time.run();
    if (time.elapsed() != std::chrono::milliseconds(6250)) std::abort();
  }
}
BENCHMARK(virtual_time_10000_tasks_of_5_ms)->Unit(benchmark::kMillisecond);

/// A simulation that does nothing, and one of eight tasks.
void simulation_of(benchmark::State& state) {
  std::uint64_t seed = 0;
  for (auto _ : state) {
    weir::test::simulation sim(++seed);
    weir::worker_pool pool(sim.get_executor(), {.workers = 2, .max_per_user = 0});
    for (int i = 0; i < state.range(0); ++i)
      if (pool.submit({.id = {}, .user = {}, .fn = sleep_5_ms})) std::abort();
    sim.run();
  }
}
BENCHMARK(simulation_of)->Arg(0)->Arg(8)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
