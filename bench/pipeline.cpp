// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Measures one pipeline, or what one would write in its place, in this process, and prints
// `result NAME VALUE UNIT`. `bench/run` runs it for each side in turn.

#include "cpu_mix.hpp"
#include "measure.hpp"

#include <weir/pipeline.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;

namespace bench {

namespace {

using sum = std::int64_t;

/// \returns nanoseconds for each of `n` items of `flow`, which gives their sum, as one pass.
double each_item(asio::awaitable<sum> flow, int n) {
  asio::io_context context(1);
  std::exception_ptr failed;
  sum result = -1;
  const auto start = clock::now();
  asio::co_spawn(context, std::move(flow), [&](std::exception_ptr error, sum s) {
    failed = std::move(error);
    result = s;
  });
  context.run();
  const auto took = clock::now() - start;
  if (failed) std::rethrow_exception(failed);
  if (result < n) throw std::runtime_error("items are missing");
  return static_cast<double>(nanoseconds(took).count()) / n;
}

int add_one(int i) { return i + 1; }
sum add(sum s, int i) { return s + i; }
asio::awaitable<int> done_at_once(int i) { co_return i + 1; }
asio::awaitable<int> done_later(int i) {
  co_await asio::post(asio::use_awaitable);
  co_return i + 1;
}

auto items(int n) { return weir::from(std::views::iota(0, n)); }

// ---- Five functions in a row that wait for nothing.

void fused(const arguments& args) {
  const int n = args.number("items", 3'000'000);
  const auto inc = [](int i) { return i + 1; };
  result("pipe_fused",
         each_item(items(n) | weir::map(inc) | weir::map(inc) | weir::map(inc) | weir::map(inc) |
                       weir::map(inc) | weir::fold(sum(), add),
                   n),
         "ns");
}

// ---- A function that is waited for and is done at once, for eight items at a time.

constexpr int at_once = 8;
constexpr int buffered = 16;

void map_of_pipeline(const arguments& args) {
  const int n = args.number("items", 500'000);
  result(
      "pipe_map",
      each_item(items(n) | weir::map(done_at_once, {.concurrency = at_once, .buffer = buffered}) |
                    weir::fold(sum(), add),
                n),
      "ns");
}

using channel = asio::experimental::channel<void(weir::error_code, std::optional<int>)>;

asio::awaitable<void> send_all(channel& to, int n) {
  for (int i = 0; i < n; ++i) co_await to.async_send({}, i, asio::use_awaitable);
  for (int i = 0; i < at_once; ++i) co_await to.async_send({}, std::nullopt, asio::use_awaitable);
}

asio::awaitable<void> work(channel& from, channel& to) {
  while (const auto item = co_await from.async_receive(asio::use_awaitable)) {
    const int done = co_await done_at_once(*item);
    co_await to.async_send({}, done, asio::use_awaitable);
  }
  co_await to.async_send({}, std::nullopt, asio::use_awaitable);
}

asio::awaitable<sum> map_of_channels(int n) {
  const auto executor = co_await asio::this_coro::executor;
  channel in(executor, buffered);
  channel out(executor, buffered);
  asio::co_spawn(executor, send_all(in, n), asio::detached);
  for (int i = 0; i < at_once; ++i) asio::co_spawn(executor, work(in, out), asio::detached);
  sum s = 0;
  for (int open = at_once; open != 0;) {
    if (const auto item = co_await out.async_receive(asio::use_awaitable))
      s += *item;
    else
      --open;
  }
  co_await asio::post(
      asio::use_awaitable);  // what has been told of the end lets go of the channels
  co_return s;
}

void map_by_hand(const arguments& args) {
  const int n = args.number("items", 500'000);
  result("pipe_map", each_item(map_of_channels(n), n), "ns");
}

// ---- The order of the input, beside none, where items take equally long.

void order(const arguments& args) {
  const int n = args.number("items", 500'000);
  const bool in_order = args.text("kind") == "input";
  const weir::map_options options{
      .concurrency = at_once,
      .buffer = buffered,
      .order = in_order ? weir::input_order(at_once + buffered) : weir::completion_order};
  result("pipe_order",
         each_item(items(n) | weir::map(done_later, options) | weir::fold(sum(), add), n), "ns");
}

// ---- The memory of ten million items through five stages, beside that of a hundredth of them.

void stream(const arguments& args) {
  const auto pass = [](int n) {
    return each_item(
        items(n) | weir::map(add_one) |
            weir::map(done_at_once, {.concurrency = at_once, .order = weir::input_order(64)}) |
            weir::batch(100) | weir::unbatch() | weir::map(done_at_once, {.concurrency = 4}) |
            weir::fold(sum(), add),
        n);
  };
  pass(100'000);
  const double before = peak_resident();
  const double each = pass(args.number("items", 10'000'000));
  result("pipe_stream", each, "ns");
  result("resident_before", before / 1024, "kB");
  result("resident_after", peak_resident() / 1024, "kB");
}

// ---- The computing part of the heavy-tailed mix, on two threads.

void computing_mix(const arguments& args) {
  cpu_mix mix(args);
  mix.measure([&] {
    asio::thread_pool threads(cpu_mix::threads);
    asio::co_spawn(
        threads,
        weir::from(mix.steps()) |
            weir::map(threads.get_executor(), cpu_mix::compute,
                      {.concurrency = 2 * cpu_mix::threads,  // a thread that is done finds the next
                       .order = weir::input_order(cpu_mix::window)}) |
            weir::for_each([&](std::uint64_t computed) { mix.take(computed); }),
        [](const std::exception_ptr& failed) {
          if (failed) std::rethrow_exception(failed);
        });
    threads.join();
  });
}

const scenario_table scenarios = {
    {{"weir", "pipe_fused"}, fused},          //
    {{"weir", "pipe_map"}, map_of_pipeline},  //
    {{"by_hand", "pipe_map"}, map_by_hand},   //
    {{"weir", "pipe_order"}, order},          //
    {{"weir", "pipe_stream"}, stream},        //
    {{"weir", "pipe_cpu"}, computing_mix},    //
};

}  // namespace

}  // namespace bench

int main(int argc, char** argv) { return bench::main_of(bench::scenarios, argc, argv); }
