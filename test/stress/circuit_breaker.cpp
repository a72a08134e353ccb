// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/circuit_breaker.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::breaker_call;
using weir::circuit;
using weir::circuit_breaker;

BOOST_AUTO_TEST_SUITE(circuit_breaker_stress)

BOOST_AUTO_TEST_CASE(each_call_is_counted_once_while_threads_call_trip_and_reset) {
  std::atomic<std::uint64_t> told{0};
  weir::breaker_hooks hooks;
  hooks.on_change = [&](const weir::breaker_change&) { ++told; };
  circuit_breaker b({.window_calls = 8,
                     .minimum_calls = 2,
                     .slow_call = 1ms,
                     .open_for = 20us,
                     .probes = 2,
                     .successes = 2,
                     .probe_timeout = 1ms},
                    hooks);
  std::atomic<std::uint64_t> let_in{0};
  std::atomic<std::uint64_t> refused{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      breaker_call kept;  // ends in another state than it began in, now and then
      for (unsigned i = 0; i < 5000; ++i) {
        breaker_call call = b.try_acquire();
        ++(call ? let_in : refused);
        const unsigned kind = (i * 7 + t) % 16;
        if (kind < 4)
          call.failure();
        else if (kind < 13)
          call.success();
        else if (kind == 13)
          kept = std::move(call);
      }
    });
  for (int i = 0; i < 300; ++i) {
    if (i % 3 == 0) b.trip(10us);
    if (i % 3 == 1) b.reset();
    if (i % 30 == 2) b.disable();
    const auto m = b.metrics();
    if (m.probing < 0 || m.probing > 2) std::abort();
    static_cast<void>(b.retry_at());
    std::this_thread::yield();
  }
  b.reset();
  for (auto& t : threads) t.join();
  const auto m = b.metrics();
  BOOST_TEST(m.succeeded + m.failed + m.dropped + m.late == let_in);
  BOOST_TEST(m.refused == refused);
  BOOST_TEST(m.transitions == told);
  BOOST_TEST(m.probing == 0);
}

BOOST_AUTO_TEST_CASE(threads_that_race_for_the_probes_get_exactly_so_many) {
  for (int round = 0; round < 300; ++round) {
    circuit_breaker b({.open_for = 1ns, .probes = 3, .successes = 3});
    b.trip();
    std::atomic<int> got{0};
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    std::vector<breaker_call> calls(4);
    for (std::size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (++ready; ready < 4;) std::this_thread::yield();
        calls[t] = b.try_acquire();
        got += static_cast<bool>(calls[t]);
      });
    for (auto& t : threads) t.join();
    BOOST_TEST_REQUIRE(got == 3);
    for (breaker_call& c : calls) c.success();
    BOOST_TEST_REQUIRE(to_string(b.state()) == to_string(circuit::closed));
  }
}

BOOST_AUTO_TEST_CASE(cancellations_race_the_ends_of_probes_and_no_place_is_lost) {
  asio::thread_pool threads(4);
  for (int round = 0; round < 300; ++round) {
    auto b = std::make_unique<circuit_breaker>(
        weir::breaker_options{.open_for = 1ns, .probes = 4, .successes = 1});
    b->trip();
    struct probe {
      explicit probe(asio::thread_pool& t) : strand(asio::make_strand(t)) {}
      asio::strand<asio::thread_pool::executor_type> strand;
      asio::cancellation_signal signal;
      std::promise<void> ended;
      std::future<void> emitted;
    };
    std::deque<probe> probes;
    for (int i = 0; i < 4; ++i) {
      probe& p = probes.emplace_back(threads);
      asio::co_spawn(
          p.strand,
          [&]() -> asio::awaitable<void> {
            co_await b->run([]() -> asio::awaitable<void> {
              for (int n = 0; n < 3; ++n) co_await asio::post(asio::use_awaitable);
            });
          },
          asio::bind_cancellation_slot(p.signal.slot(),
                                       [&p](const std::exception_ptr&) { p.ended.set_value(); }));
      p.emitted = asio::post(
          p.strand, asio::use_future([&p] { p.signal.emit(asio::cancellation_type::terminal); }));
    }
    for (probe& p : probes) {
      p.ended.get_future().get();
      p.emitted.get();
    }
    const auto m = b->metrics();
    BOOST_TEST_REQUIRE(m.probing == 0);
    if (m.state != circuit::closed) {
      b->try_acquire().success();
      BOOST_TEST_REQUIRE(to_string(b->state()) == to_string(circuit::closed));
    }
    asio::post(threads, asio::use_future([&] { b.reset(); })).get();
  }
  threads.join();
}

BOOST_AUTO_TEST_SUITE_END()
