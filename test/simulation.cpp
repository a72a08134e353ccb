// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/simulation.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;
using weir::test::simulation;
using weir::test::simulation_options;

BOOST_AUTO_TEST_SUITE(simulation_suite)

namespace {

/// Puts down its letter, three times, a millisecond apart.
asio::awaitable<void> scribe(std::string& page, char letter) {
  weir::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < 3; ++i) {
    page.push_back(letter);
    timer.expires_after(1ms);
    co_await timer.async_wait(asio::deferred);
  }
}

/// What three of them put down, and how they took turns.
std::pair<std::string, std::string> page_of(std::uint64_t seed, simulation_options options = {}) {
  options.trace = 1000;
  simulation sim(seed, options);
  std::string page;
  for (const char letter : {'a', 'b', 'c'}) sim.spawn(std::string(1, letter), scribe(page, letter));
  sim.run();
  return {page, sim.trace()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(same_seed_gives_the_same_run_to_the_last_step) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const simulation_options options{.cancel = 0.02, .delay = 0.1};
    const auto first = page_of(seed, options);
    for (int again = 0; again < 3; ++again) {
      const auto next = page_of(seed, options);
      BOOST_TEST_REQUIRE(next.first == first.first);
      BOOST_TEST_REQUIRE(next.second == first.second);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_order_of_three_is_drawn) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 200; ++seed) orders.insert(page_of(seed).first.substr(0, 3));
  BOOST_TEST((orders == std::set<std::string>{"abc", "acb", "bac", "bca", "cab", "cba"}));
}

BOOST_AUTO_TEST_CASE(timers_due_at_once_are_drawn_in_any_order_and_no_other_before_them) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    simulation sim(seed);
    std::string order;
    std::vector<std::unique_ptr<weir::steady_timer>> timers;
    for (const auto& [letter, delay] : {std::pair{'a', 5ms}, {'b', 5ms}, {'c', 5ms}, {'d', 6ms}}) {
      timers.push_back(std::make_unique<weir::steady_timer>(sim.get_executor(), delay));
      timers.back()->async_wait([&order, letter = letter](auto) { order.push_back(letter); });
    }
    sim.run();
    BOOST_TEST_REQUIRE(order.size() == 4U);
    BOOST_TEST_REQUIRE(order.back() == 'd');
    orders.insert(order);
  }
  BOOST_TEST(orders.size() == 6U);
}

BOOST_AUTO_TEST_CASE(time_starts_at_the_same_point_in_every_run) {
  const weir::time_point start = simulation(1).now();
  simulation sim(2);
  BOOST_TEST((sim.now() == start));
  sim.advance(1h);
  BOOST_TEST((sim.elapsed() == 1h));
}

BOOST_AUTO_TEST_CASE(strand_keeps_its_handlers_in_order_and_apart) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    simulation sim(seed);
    auto strand = asio::make_strand(sim.get_executor());
    std::vector<int> order;
    bool inside = false;
    for (int i = 0; i < 5; ++i)
      asio::post(strand, [&, i] {
        BOOST_TEST_REQUIRE(!inside);
        inside = true;
        order.push_back(i);
        asio::post(sim.get_executor(), [] {});
        inside = false;
      });
    sim.run();
    BOOST_TEST_REQUIRE(order == (std::vector<int>{0, 1, 2, 3, 4}),
                       boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(dispatch_runs_inline_or_not_as_drawn_and_never_from_outside) {
  int within = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    simulation sim(seed);
    bool ran = false;
    asio::dispatch(sim.get_executor(), [&] { ran = true; });
    BOOST_TEST_REQUIRE(!ran);
    asio::post(sim.get_executor(), [&] {
      bool ran_inline = false;
      // Outlives the handler that hands it over, so by value.
      const auto flag = std::make_shared<bool>(false);
      asio::dispatch(sim.get_executor(), [flag] { *flag = true; });
      ran_inline = *flag;
      within += ran_inline;
    });
    sim.run();
    BOOST_TEST_REQUIRE(ran);
  }
  BOOST_TEST((within > 50 && within < 150));
}

BOOST_AUTO_TEST_CASE(preempt_0_and_1_are_never_and_always) {
  for (const double preempt : {0.0, 1.0})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      simulation sim(seed, {.preempt = preempt});
      asio::post(sim.get_executor(), [&] {
        const auto flag = std::make_shared<bool>(false);
        asio::dispatch(sim.get_executor(), [flag] { *flag = true; });
        BOOST_TEST(*flag == (preempt == 0));
      });
      sim.run();
    }
}

BOOST_AUTO_TEST_CASE(endless_dispatch_does_not_exhaust_the_stack) {
  simulation sim(1, {.preempt = 0});
  int left = 100'000;
  std::function<void()> next = [&] {
    if (--left > 0) asio::dispatch(sim.get_executor(), next);
  };
  asio::post(sim.get_executor(), next);
  sim.run();
  BOOST_TEST(left == 0);
}

BOOST_AUTO_TEST_CASE(channels_and_coroutines_work_in_any_order) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    simulation sim(seed);
    asio::experimental::channel<void(error_code, int)> channel(sim.get_executor(), 2);
    std::vector<int> received;
    for (int producer = 0; producer < 2; ++producer)
      sim.spawn([&, producer]() -> asio::awaitable<void> {
        for (int i = 0; i < 3; ++i)
          co_await channel.async_send({}, 10 * producer + i, asio::use_awaitable);
      });
    sim.spawn([&]() -> asio::awaitable<void> {
      for (int i = 0; i < 6; ++i)
        received.push_back(co_await channel.async_receive(asio::use_awaitable));
    });
    sim.run();
    BOOST_TEST_REQUIRE(received.size() == 6U);
    orders.insert(received);
  }
  BOOST_TEST(orders.size() > 5U);
}

BOOST_AUTO_TEST_CASE(cancelled_timer_completes_and_is_not_jumped_to) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    simulation sim(seed);
    weir::steady_timer timer(sim.get_executor(), 1h);
    error_code outcome;
    timer.async_wait([&](error_code ec) { outcome = ec; });
    asio::post(sim.get_executor(), [&] { timer.cancel(); });
    sim.run();
    BOOST_TEST_REQUIRE((outcome == asio::error::operation_aborted));
    BOOST_TEST_REQUIRE((sim.elapsed() == 0s));
  }
}

BOOST_AUTO_TEST_CASE(cancel_is_injected_at_every_await_and_not_taken_for_a_failure) {
  std::set<int> reached;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    simulation sim(seed, {.cancel = 0.1});
    int steps = 0;
    sim.spawn([&]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      weir::steady_timer timer(co_await asio::this_coro::executor);
      for (; steps < 5; ++steps) {
        timer.expires_after(1ms);
        co_await timer.async_wait(asio::deferred);
      }
    });
    sim.run();
    reached.insert(steps);
  }
  BOOST_TEST((reached == std::set<int>{0, 1, 2, 3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(cancellation_that_the_program_asked_for_is_still_its_failure) {
  simulation sim(1);
  sim.spawn([]() -> asio::awaitable<void> {
    co_await asio::this_coro::executor;
    throw boost::system::system_error(asio::error::operation_aborted);
  });
  BOOST_CHECK_THROW(sim.run(), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(delay_makes_a_post_late_by_no_more_than_the_most) {
  bool late = false;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    simulation sim(seed, {.delay = 0.5, .max_delay = 7ms});
    asio::post(sim.get_executor(), [] {});
    sim.run();
    BOOST_TEST_REQUIRE((sim.elapsed() <= 7ms));
    late = late || sim.elapsed() > 0s;
  }
  BOOST_TEST(late);
}

BOOST_AUTO_TEST_CASE(allocations_of_weir_fail_as_drawn_and_the_pool_stays_whole) {
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    simulation sim(seed, {.fail_allocation = 0.2});
    std::unique_ptr<weir::worker_pool> pool;
    try {
      pool = std::make_unique<weir::worker_pool>(sim.get_executor(),
                                                 weir::pool_options{.workers = 3, .queue_size = 2});
    } catch (const std::bad_alloc&) {
      ++failed;
      continue;
    }
    std::uint64_t accepted = 0;
    for (int i = 0; i < 6; ++i) {
      try {
        if (!pool->submit(
                {.id = {}, .user = std::string(1, static_cast<char>('a' + i)), .fn = [](auto&) {}}))
          ++accepted;
      } catch (const std::bad_alloc&) {
        ++failed;
      }
      try {
        pool->async_submit({.id = {}, .user = "z", .fn = [](auto&) {}}, [&](error_code ec) {
          accepted += !ec;
          failed += ec == boost::system::errc::not_enough_memory;
        });
      } catch (const std::bad_alloc&) {
        ++failed;
      }
    }
    sim.run();
    const weir::pool_metrics m = pool->metrics();
    BOOST_TEST_REQUIRE(m.completed == accepted);
    BOOST_TEST_REQUIRE(m.users == 0U);
    BOOST_TEST_REQUIRE(m.active + m.queued + m.waiting == 0U);
  }
  BOOST_TEST(failed > 100);
}

BOOST_AUTO_TEST_CASE(work_that_nothing_can_end_is_a_deadlock_that_names_the_seed) {
  simulation sim(42);
  const auto guard = asio::make_work_guard(sim.get_executor());
  BOOST_CHECK_EXCEPTION(sim.run(), weir::test::deadlock_error, [](const auto& e) {
    return std::string(e.what()).find("seed 42") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(exception_comes_out_and_the_run_can_go_on) {
  simulation sim(1);
  bool ran = false;
  asio::post(sim.get_executor(), [] { throw std::runtime_error("of the handler"); });
  weir::steady_timer timer(sim.get_executor(), 1s);
  timer.async_wait([&](error_code ec) { ran = !ec; });
  BOOST_CHECK_THROW(sim.run(), std::runtime_error);
  sim.run();
  BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(destruction_drops_what_is_left_without_running_it) {
  const auto alive = std::make_shared<int>();
  bool ran = false;
  {
    simulation sim(1, {.delay = 0.5});
    for (int i = 0; i < 10; ++i) asio::post(sim.get_executor(), [&ran, alive] { ran = true; });
    sim.spawn([&, alive]() -> asio::awaitable<void> {
      weir::steady_timer timer(co_await asio::this_coro::executor, 1h);
      co_await timer.async_wait(asio::deferred);
      ran = true;
    });
    sim.spawn([&, alive]() -> asio::awaitable<void> {
      // Hands something over while it is being destroyed.
      struct poster {
        simulation& sim;
        std::shared_ptr<int> held;
        ~poster() {
          asio::post(sim.get_executor(), [held = held] {});
        }
      } const at_end{sim, alive};
      weir::steady_timer timer(co_await asio::this_coro::executor, 1h);
      co_await timer.async_wait(asio::deferred);
    });
    sim.spawn([]() -> asio::awaitable<void> { co_return; });
  }
  BOOST_TEST(!ran);
  BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(
    coroutine_on_a_strand_that_is_left_with_its_cancellation_slots_is_destroyed_whole) {
  const auto alive = std::make_shared<int>();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    simulation sim(seed, {.cancel = 1e-9});
    sim.spawn([alive]() -> asio::awaitable<void> {
      const auto child = [](std::shared_ptr<int>) -> asio::awaitable<void> {
        weir::steady_timer timer(co_await asio::this_coro::executor, 1h);
        co_await timer.async_wait(asio::deferred);
      };
      const auto strand = asio::make_strand(co_await asio::this_coro::executor);
      auto running = asio::co_spawn(strand, child(alive), asio::use_awaitable);
      co_await std::move(running);
    });
    sim.settle();
  }
  BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(trace_says_who_ran_when_and_what_made_it_ready) {
  simulation sim(1, {.preempt = 1, .trace = 3});
  sim.spawn("poster", [&]() -> asio::awaitable<void> {
    weir::steady_timer timer(co_await asio::this_coro::executor, 5ms);
    co_await timer.async_wait(asio::deferred);
    asio::post(sim.get_executor(), [] {});
  });
  sim.run();
  const std::string trace = sim.trace();
  BOOST_TEST(std::count(trace.begin(), trace.end(), '\n') == 3, trace);
  BOOST_TEST(trace.find("at +5.000 ms: #1 poster (simulation.cpp:") != std::string::npos, trace);
  BOOST_TEST(trace.find("a handler, made ready by step ") != std::string::npos, trace);
  BOOST_TEST(trace.find("made ready by a timer") != std::string::npos, trace);
}

BOOST_AUTO_TEST_CASE(draws_of_the_program_do_not_depend_on_how_it_runs) {
  const auto draws = [](simulation_options options) {
    simulation sim(7, options);
    std::vector<std::uint64_t> drawn;
    for (int i = 0; i < 5; ++i)
      asio::post(sim.get_executor(), [&] { drawn.push_back(sim.draw()()); });
    sim.run();
    return drawn;
  };
  BOOST_TEST(draws({}) == draws({.delay = 0.5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(simulation_inside_virtual_time_and_the_other_way_round) {
  simulation outer(1);
  asio::post(outer.get_executor(), [&] {
    simulation inner(2);
    bool fired = false;
    weir::steady_timer timer(inner.get_executor(), 5s);
    timer.async_wait([&](auto) { fired = true; });
    inner.run();
    BOOST_TEST(fired);
  });
  weir::steady_timer timer(outer.get_executor(), 6s);
  timer.async_wait([](auto) {});
  outer.run();
  BOOST_TEST((outer.elapsed() == 6s));
}

BOOST_AUTO_TEST_SUITE_END()
