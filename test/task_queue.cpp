// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "queue_client.hpp"
#include "queue_program.hpp"
#include "sleep_for.hpp"

#include <weir/detail/inspection.hpp>
#include <weir/memory_queue.hpp>
#include <weir/test/boost_test.hpp>
#include <weir/test/queue_conformance.hpp>
#include <weir/test/wall_clock_step.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using weir::enqueued;
using weir::errc;
using weir::error_code;
using weir::lease;
using weir::lease_key;
using weir::memory_queue;
using weir::queue_stats;
using weir::test::simulation;
using weir_test::answer;
using weir_test::queue_client;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(task_queue)

namespace {

using leases = std::vector<lease>;

constexpr std::array cancellation_types{asio::cancellation_type::terminal,
                                        asio::cancellation_type::partial,
                                        asio::cancellation_type::total};

}  // namespace

BOOST_AUTO_TEST_CASE(memory_queue_keeps_every_promise_of_a_queue) {
  for (const weir::test::queue_case& c : weir::test::queue_cases()) BOOST_TEST_CONTEXT(c.name) {
      weir::test::virtual_time time;
      memory_queue queue(time.get_executor());
      time.spawn(std::string(c.name), c.run(queue, 1s));
      BOOST_CHECK_NO_THROW(time.run());
    }
}

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  asio::thread_pool threads(2);
  memory_queue queue(threads.get_executor());
  const enqueued e = queue.async_enqueue({.kind = "a"}, asio::use_future).get();
  auto deferred = queue.async_lease({.max = 3}, asio::deferred);
  const leases got = std::move(deferred)(asio::use_future).get();
  BOOST_TEST_REQUIRE(got.size() == 1U);
  BOOST_TEST(got[0].key.id == e.id);
  const auto body = [&]() -> asio::awaitable<bool> {
    auto [ec] = co_await queue.async_ack(got[0].key, asio::as_tuple(use_awaitable));
    const queue_stats s = co_await queue.async_stats(use_awaitable);
    co_return !ec && s.leased == 0;
  };
  BOOST_TEST(asio::co_spawn(threads, body, asio::use_future).get());
  std::promise<bool> done;
  queue.async_find(e.id, [&](error_code ec, auto found) { done.set_value(!ec && !found); });
  BOOST_TEST(done.get_future().get());
  threads.join();
}

BOOST_AUTO_TEST_CASE(works_where_it_is_driven_by_an_io_context) {
  asio::io_context context;
  memory_queue queue(context.get_executor());
  answer<leases> waiting;
  queue.async_lease({.wait = 1h}, waiting.handler());
  answer<enqueued> added;
  queue.async_enqueue({.kind = "a"}, added.handler());
  // No handler runs before the context does, and nothing is left to wait for afterwards.
  BOOST_TEST(!waiting.code);
  BOOST_TEST(!added.code);
  context.run();
  BOOST_TEST(!*added.code);
  BOOST_TEST(waiting.value.size() == 1U);
}

BOOST_AUTO_TEST_CASE(lease_won_by_one_who_is_cancelled_in_the_same_tick_goes_back_unspent) {
  for (const auto type : cancellation_types) {
    weir::test::virtual_time time;
    memory_queue queue(time.get_executor());
    queue_client client(time, queue);
    asio::cancellation_signal signal;
    answer<leases> first;
    queue.async_lease({.max = 5, .wait = 1h},
                      asio::bind_cancellation_slot(signal.slot(), first.handler()));
    time.settle();
    answer<enqueued> added;
    queue.async_enqueue({.kind = "a", .max_attempts = 1}, added.handler());
    signal.emit(type);  // the lease is given, and its handler has not run
    time.run();
    BOOST_TEST((first.code == asio::error::operation_aborted));
    BOOST_TEST(first.value.empty());
    const leases second = client.take();
    BOOST_TEST_REQUIRE(second.size() == 1U);
    BOOST_TEST(second[0].job.attempt == 1);
    BOOST_TEST(second[0].key.token == 2);
  }
}

BOOST_AUTO_TEST_CASE(cancelled_report_that_was_carried_out_says_so) {
  weir::test::virtual_time time;
  memory_queue queue(time.get_executor());
  queue_client client(time, queue);
  client.add({.kind = "a"});
  const lease_key key = client.take().at(0).key;
  asio::cancellation_signal signal;
  std::optional<error_code> told;
  queue.async_ack(key,
                  asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { told = ec; }));
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST(!*told);
  BOOST_TEST(client.stats().leased == 0U);
}

BOOST_AUTO_TEST_CASE(capacity_bounds_jobs_in_every_state) {
  weir::test::virtual_time time;
  BOOST_CHECK_THROW(memory_queue(time.get_executor(), {.capacity = 0}),
                    boost::system::system_error);
  memory_queue queue(time.get_executor(), {.capacity = 3});
  weir_test::check_capacity_of_three(time, queue);
}

BOOST_AUTO_TEST_CASE(time_of_day_that_steps_by_an_hour_neither_ends_leases_nor_lengthens_them) {
  for (const weir::duration step : {weir::duration(1h), weir::duration(-1h)}) {
    weir::test::virtual_time time;
    memory_queue queue(time.get_executor());
    queue_client client(time, queue);
    client.add({.kind = "a"});
    const lease first = client.take({.lease_for = 10s}).at(0);
    const weir::test::wall_clock_step stepped(step);
    time.advance(9s);
    BOOST_TEST(client.take().empty());
    time.advance(2s);
    BOOST_TEST(client.take().size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(time_of_day_that_steps_moves_what_is_scheduled_and_loses_nothing) {
  for (const bool ahead : {true, false}) {
    weir::test::virtual_time time;
    memory_queue queue(time.get_executor());
    queue_client client(time, queue);
    client.add({.kind = "a", .delay = 30min});
    answer<leases> waiting;
    queue.async_lease({.wait = 5h, .lease_for = 24h}, waiting.handler());
    const auto start = time.now();
    const weir::test::wall_clock_step stepped(ahead ? 1h : -1h);
    time.run_for(11s);
    BOOST_TEST(waiting.code.has_value() == ahead);  // noticed within ten seconds
    time.run();
    BOOST_TEST(waiting.value.size() == 1U);
    if (!ahead) BOOST_TEST((time.now() - start >= 90min));
    BOOST_TEST(client.take().empty());
  }
}

BOOST_AUTO_TEST_CASE(wait_that_is_cancelled_leaves_no_timer_behind) {
  weir::test::virtual_time time;
  memory_queue queue(time.get_executor());
  asio::cancellation_signal signal;
  answer<leases> waiting;
  queue.async_lease({.wait = 1h}, asio::bind_cancellation_slot(signal.slot(), waiting.handler()));
  time.settle();
  const auto start = time.now();
  signal.emit(asio::cancellation_type::total);
  time.run();
  BOOST_TEST((time.now() == start));
  BOOST_TEST((waiting.code == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(those_who_wait_appear_in_reports_by_name) {
  weir::test::virtual_time time;
  memory_queue queue(time.get_executor(), {.name = "mails"});
  time.spawn("worker", [&]() -> asio::awaitable<void> {
    co_await queue.async_lease({.wait = weir::duration::max()}, use_awaitable);
  });
  time.settle();
  struct : weir::detail::inspector {
    void on_wait(const void*, std::string_view name, std::string_view what, weir::time_point,
                 const asio::any_io_executor& waiter) override {
      if (name == "mails") seen = std::string(what) + (waiter ? "" : " by nobody");
    }
    void on_hold(const void*, std::string_view, std::string_view, std::size_t) override {}
    std::string seen;
  } inspector;
  weir::detail::inspectable::ask_all(inspector);
  BOOST_TEST(inspector.seen == "queue lease");
  queue.close();
  BOOST_CHECK_THROW(time.run(), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(destroyed_while_somebody_waits_and_a_lease_is_in_flight) {
  weir::test::virtual_time time;
  auto queue = std::make_unique<memory_queue>(time.get_executor());
  asio::cancellation_signal signal;
  answer<leases> granted;
  answer<leases> waiting;
  queue->async_lease({.wait = 1h}, asio::bind_cancellation_slot(signal.slot(), granted.handler()));
  queue->async_lease({.wait = 1h}, waiting.handler());
  time.settle();
  answer<enqueued> added;
  queue->async_enqueue({.kind = "a"}, added.handler());
  queue.reset();
  signal.emit(asio::cancellation_type::terminal);  // what it has won has nowhere to go
  time.run();
  BOOST_TEST((granted.code == asio::error::operation_aborted));
  BOOST_TEST((waiting.code == errc::queue_closed));
  BOOST_TEST(!*added.code);
}

BOOST_AUTO_TEST_CASE(destroyed_with_its_context_while_somebody_waits) {
  std::optional<memory_queue> queue;
  {
    asio::io_context context;
    queue.emplace(context.get_executor());
    queue->async_lease({.wait = 1h}, [p = std::make_shared<int>()](error_code, const leases&) {
      BOOST_ERROR("ran");
    });
    queue.reset();  // the handler is posted to a context that never runs it
  }
}

BOOST_AUTO_TEST_CASE(failing_allocation_is_reported_and_changes_nothing) {
  weir::test::for_each_seed(
      500,
      [](simulation& sim) {
        memory_queue queue(sim.get_executor());
        std::size_t accepted = 0;
        for (int i = 0; i < 6; ++i) {
          const std::array<weir::job_request, 2> two{
              weir::job_request{.kind = "a", .unique_key = i % 2 == 0 ? "k" : ""}, {.kind = "b"}};
          try {
            queue.async_enqueue(two, [&](error_code ec, const std::vector<enqueued>& added) {
              BOOST_TEST_REQUIRE((!ec || ec == boost::system::errc::not_enough_memory));
              for (const enqueued& e : added) accepted += e.duplicate ? 0 : 1;
            });
          } catch (const std::bad_alloc&) {  // nothing was started
          }
          sim.run();
        }
        std::optional<queue_stats> stats;
        while (!stats) {
          try {
            queue.async_stats([&](error_code ec, const queue_stats& s) {
              if (!ec) stats = s;
            });
          } catch (const std::bad_alloc&) {
          }
          sim.run();
        }
        BOOST_TEST_REQUIRE(stats->ready == accepted);
      },
      {.simulation = {.fail_allocation = 0.2}});
}

WEIR_SIMULATION_TEST_CASE(no_job_is_lost_or_run_by_two_in_any_order, 2000) {
  memory_queue queue(sim.get_executor());
  weir_test::run_queue_program(sim, queue);
}

BOOST_AUTO_TEST_CASE(no_job_is_lost_when_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000,
                            [](simulation& sim) {
                              memory_queue queue(sim.get_executor());
                              weir_test::run_queue_program(sim, queue);
                            },
                            {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
