// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Stages whose function runs on another executor, or as tasks of a pool.

#include "pipeline_kit.hpp"
#include "sleep_for.hpp"

#include <weir/pipeline.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::system_error;
using weir::errc;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(pipeline_elsewhere)

using namespace weir_test::pipeline_kit;

namespace {

weir::error_code code_of(const std::exception_ptr& e) {
  try {
    if (e) std::rethrow_exception(e);
  } catch (const system_error& error) {
    return error.code();
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(functions_run_on_another_executor_or_pool_and_results_come_back) {
  asio::thread_pool threads(3);
  weir::worker_pool pool({.workers = 3, .queue_size = 8, .max_per_user = 8});
  asio::thread_pool home(2);
  std::atomic<int> elsewhere{0};
  const auto here = std::this_thread::get_id();
  const auto compute = [&](int i) {
    if (std::this_thread::get_id() != here) ++elsewhere;
    return i * 2;
  };
  const auto compute_and_wait = [&](int i) -> asio::awaitable<int> {
    ++elsewhere;
    co_await asio::post(asio::use_awaitable);
    co_return i + 1;
  };
  auto pipeline = weir::from(upto(200)) |
                  weir::map(threads.get_executor(), compute,
                            {.concurrency = 6, .order = weir::input_order(12)}) |
                  weir::map(pool, {.user = "ann"}, compute_and_wait,
                            {.concurrency = 6, .order = weir::input_order(12)}) |
                  weir::collect();
  const ints out = asio::co_spawn(home, std::move(pipeline), asio::use_future).get();
  for (int i = 0; i < 200; ++i)
    BOOST_TEST_REQUIRE(out.at(static_cast<std::size_t>(i)) == 2 * i + 1);
  BOOST_TEST(elsewhere == 400);
}

BOOST_AUTO_TEST_CASE(what_runs_elsewhere_is_cancelled_there_and_waited_for) {
  asio::thread_pool threads(3);
  asio::thread_pool home(1);
  std::atomic<int> inside{0};
  const auto f = [&](int i) -> asio::awaitable<int> {
    struct scope {
      explicit scope(std::atomic<int>& c) : count(c) { ++count; }
      ~scope() { --count; }
      std::atomic<int>& count;
    } const in(inside);
    if (i == 7) throw std::runtime_error("elsewhere");
    if (i > 3) co_await sleep_for(24h);
    co_return i;
  };
  auto pipeline = weir::from(upto(100)) | weir::map(threads.get_executor(), f, {.concurrency = 5}) |
                  weir::collect();
  auto result = asio::co_spawn(home, std::move(pipeline), asio::use_future);
  BOOST_CHECK_EXCEPTION(result.get(), std::runtime_error,
                        [](const auto& e) { return std::string(e.what()) == "elsewhere"; });
  BOOST_TEST(inside == 0);
}

BOOST_AUTO_TEST_CASE(what_has_not_begun_elsewhere_is_dropped_with_the_pipeline) {
  asio::io_context home;
  asio::io_context other;
  int calls = 0;
  const auto f = [&](int i) {
    if (++calls == 2) throw std::runtime_error("second");
    return i;
  };
  std::exception_ptr out;
  asio::co_spawn(home,
                 weir::from(upto(100)) | weir::map(other.get_executor(), f, {.concurrency = 8}) |
                     weir::for_each([](int) {}),
                 [&](const std::exception_ptr& e) { out = e; });
  home.poll();
  other.run_one();
  other.run_one();
  home.poll();
  other.restart();
  other.poll();
  home.restart();
  home.poll();
  BOOST_CHECK_EXCEPTION(std::rethrow_exception(out), std::runtime_error,
                        [](const auto& e) { return std::string(e.what()) == "second"; });
  BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(functions_elsewhere_may_throw_and_the_error_rule_decides) {
  asio::thread_pool threads(2);
  weir::worker_pool pool({.workers = 2, .queue_size = 8, .max_per_user = 0});
  const auto odd = [](int i) {
    if (i % 2) throw std::runtime_error("odd");
    return i;
  };
  const auto odd_later = [](int i) -> asio::awaitable<int> {
    co_await asio::post(asio::use_awaitable);
    if (i % 4) throw std::runtime_error("not of four");
    co_return i;
  };
  std::vector<std::exception_ptr> errors;
  const weir::map_options options{
      .concurrency = 4, .order = weir::input_order(8), .errors = weir::collect_errors(errors)};
  const auto run = [&](auto first, auto second) {
    errors.clear();
    auto pipeline = weir::from(upto(40)) | std::move(first) | std::move(second) | weir::collect();
    return asio::co_spawn(threads, std::move(pipeline), asio::use_future).get();
  };
  const auto ex = threads.get_executor();
  const auto each = {run(weir::map(ex, odd, options), weir::map(ex, odd_later, options)),
                     run(weir::map(pool, {.user = "ann"}, odd, options),
                         weir::map(pool, {.user = "ann"}, odd_later, options))};
  for (const ints& out : each) {
    BOOST_TEST(out.size() == 10U);
    for (std::size_t i = 0; i != out.size(); ++i) BOOST_TEST(out[i] == static_cast<int>(4 * i));
  }
  BOOST_TEST(errors.size() == 30U);
  auto failing = weir::from(upto(40)) | weir::map(pool, {.user = "ann"}, odd, {.concurrency = 3}) |
                 weir::collect();
  auto failed = asio::co_spawn(threads, std::move(failing), asio::use_future);
  BOOST_CHECK_EXCEPTION(failed.get(), std::runtime_error,
                        [](const auto& e) { return std::string(e.what()) == "odd"; });
}

WEIR_COROUTINE_TEST_CASE(pool_that_refuses_items_fails_those_and_no_others) {
  for (const bool by_cap : {false, true}) {
    weir::worker_pool pool(
        time.get_executor(),
        {.workers = 1, .queue_size = by_cap ? 8 : 1, .max_per_user = by_cap ? 2 : 0});
    std::vector<std::exception_ptr> errors;
    const auto slow = [](int i) { return after(10ms, i); };
    const auto out =
        co_await (weir::from(upto(9)) |
                  weir::map(pool, {.user = "ann"}, slow,
                            {.concurrency = 4, .errors = weir::collect_errors(errors)}) |
                  weir::collect());
    BOOST_TEST(!out.empty());
    BOOST_TEST(out.size() + errors.size() == 9U);
    BOOST_TEST(!errors.empty());
    for (const auto& e : errors)
      BOOST_TEST((code_of(e) == (by_cap ? errc::user_limit_reached : errc::queue_full)));
    // Within the pool's limits nothing is refused.
    const auto all =
        co_await (weir::from(upto(9)) | weir::map(pool, {.user = "ann"}, slow, {.concurrency = 1}) |
                  weir::collect());
    BOOST_TEST(all == upto(9));
  }
}

WEIR_COROUTINE_TEST_CASE(pool_that_is_shut_down_in_mid_flow_ends_the_pipeline) {
  weir::worker_pool pool(time.get_executor(), {.workers = 2, .max_per_user = 0});
  const auto slow = [](int i) { return after(i == 2 ? weir::duration(24h) : 1ms, i); };
  const auto shut = [&](int i) -> asio::awaitable<int> {
    if (i == 4) {
      auto ended =
          pool.async_shutdown({.deadline = 5ms, .grace = 1ms}, asio::as_tuple(asio::use_awaitable));
      co_await std::move(ended);
    }
    co_return i;
  };
  weir::error_code why;
  try {
    co_await (weir::from(std::views::iota(0)) |
              weir::map(pool, {.user = "ann"}, slow, {.concurrency = 2}) | weir::map(shut) |
              weir::for_each([](int) {}));
  } catch (const system_error& e) {
    why = e.code();
  }
  BOOST_TEST((why == errc::pool_closed || why == errc::shutdown_cancelled), why);
  BOOST_TEST((time.elapsed() < 1s));
}

// A5. Functions that wait have a strand there, which must not outlive it; what only computes may be
// lost.
BOOST_AUTO_TEST_CASE(context_that_is_destroyed_with_calls_ends_the_pipeline) {
  const auto compute = [](counted c) { return c; };
  for (int steps = 0; steps < 12; ++steps) {
    asio::io_context home;
    std::optional<asio::io_context> other(std::in_place);
    std::optional<weir::error_code> ended;
    asio::co_spawn(home,
                   weir::from(std::views::iota(0)) | weir::map([](int i) { return counted(i); }) |
                       weir::map(other->get_executor(), compute,
                                 {.concurrency = 3, .order = weir::input_order(6)}) |
                       weir::batch(2) | weir::for_each([](const std::vector<counted>&) {}),
                   [&](const std::exception_ptr& e) { ended = code_of(e); });
    const auto settle = [&] {
      home.restart();
      home.poll();
    };
    settle();
    for (int i = 0; i < steps; ++i) {
      other->restart();
      other->poll_one();
      settle();
    }
    other.reset();
    settle();
    BOOST_TEST_REQUIRE((ended == asio::error::operation_aborted));
    BOOST_TEST_REQUIRE(counted::alive == 0);
  }
}

namespace {

/// Items through a pool and another executor, which is the same.
struct drawn {
  explicit drawn(simulation& s)
      : sim(s),
        pool(s.get_executor(), {.workers = s.draw().between(1, 3),
                                .queue_size = s.draw().between(1, 4),
                                .max_per_user = s.draw().between(0, 3)}) {
    auto& draw = sim.draw();
    items = draw.between(0, 8);
    for (int i = 0; i < items; ++i) takes.push_back(ms(draw.between(0, 3)));
    concurrency = draw.between(1, 4);
    in_order = draw.chance(0.5);
    if (draw.chance(0.2)) fails = draw.between(0, 7);
    if (draw.chance(0.2)) shut_down_after = ms(draw.between(0, 6));
    if (draw.chance(0.2)) timeout = ms(draw.between(1, 3));
  }

  asio::awaitable<void> body() {
    const auto make = [](int i) { return counted(i); };
    const auto wait = [this](counted c) -> asio::awaitable<std::unique_ptr<counted>> {
      struct scope {
        explicit scope(int& n) : count(n) { ++count; }
        ~scope() { --count; }
        int& count;
      } const in(running);
      co_await sleep_for(takes[static_cast<std::size_t>(c.value)]);
      if (c.value == fails) throw std::runtime_error("drawn");
      co_return std::make_unique<counted>(std::move(c));
    };
    const auto compute = [](std::unique_ptr<counted> c) { return c->value; };
    const weir::map_options options{
        .concurrency = concurrency,
        .order = in_order ? weir::input_order(5) : weir::completion_order,
        .errors = weir::collect_errors(errors),
        .timeout = timeout};
    auto pipeline = weir::from(std::views::iota(0, items)) | weir::map(make) |
                    weir::map(pool, {.user = "ann"}, wait, options) |
                    weir::map(sim.get_executor(), compute, {.concurrency = 2}) |
                    weir::for_each([this](int i) { out.push_back(i); });
    co_await std::move(pipeline);
    ended = true;
    BOOST_TEST_REQUIRE(counted::alive == 0);
    BOOST_TEST_REQUIRE(running == 0);
  }

  asio::awaitable<void> shut_down() {
    co_await sleep_for(*shut_down_after);
    auto op =
        pool.async_shutdown({.deadline = 1ms, .grace = 1ms}, asio::as_tuple(asio::use_awaitable));
    co_await std::move(op);
  }

  void run() {
    sim.spawn("pipeline", body());
    if (shut_down_after) sim.spawn("shutdown", shut_down());
    sim.run();
  }

  simulation& sim;
  weir::worker_pool pool;
  int items;
  std::vector<weir::duration> takes;
  int concurrency;
  bool in_order;
  int fails = -1;
  std::optional<weir::duration> shut_down_after;
  weir::duration timeout{};
  int running = 0;
  bool ended = false;
  ints out;
  std::vector<std::exception_ptr> errors;
};

}  // namespace

WEIR_SIMULATION_TEST_CASE(every_item_comes_back_from_a_pool_or_has_failed, 2000) {
  drawn d(sim);
  d.run();
  BOOST_TEST_REQUIRE(d.ended);
  BOOST_TEST_REQUIRE(d.out.size() + d.errors.size() == static_cast<std::size_t>(d.items));
  ints sorted = d.out;
  std::ranges::sort(sorted);
  BOOST_TEST_REQUIRE((std::ranges::adjacent_find(sorted) == sorted.end()));
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_what_runs_in_a_pool_when_it_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000,
                            [](simulation& sim) {
                              const weir::test::leak_check leaks(sim);
                              drawn d(sim);
                              d.run();
                              BOOST_TEST_REQUIRE(counted::alive == 0);
                              BOOST_TEST_REQUIRE(d.running == 0);
                            },
                            {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
