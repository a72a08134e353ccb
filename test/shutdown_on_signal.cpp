// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "pool_fixture.hpp"

#include <weir/shutdown_on_signal.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <csignal>
#include <optional>

using namespace weir_test;

namespace {

struct waiting : virtual_pool {
  std::optional<weir::shutdown_report> report;
  std::exception_ptr failure;
  asio::cancellation_signal cancel;
  bool ended = false;

  template <typename... Args>
  void wait(Args&&... args) {
    asio::co_spawn(time.context(), weir::shutdown_on_signal(*pool, std::forward<Args>(args)...),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [this](std::exception_ptr e, weir::shutdown_report r) {
                         ended = true;
                         failure = std::move(e);
                         if (!failure) report = std::move(r);
                       }));
    time.settle();
  }

  void raise(int signal) {
    std::raise(signal);
    time.settle();
  }
};

/// Stops after a while, or never, or with an exception.
struct source {
  weir::duration takes{};
  bool fails = false;
  bool stopped = false;
  weir::worker_pool* pool = nullptr;
  bool pool_was_open = false;

  asio::awaitable<void> async_stop(asio::use_awaitable_t<>) {
    pool_was_open = !pool->submit(task_of("source", nothing()));
    if (fails) throw std::runtime_error("it would not");
    co_await sleep_for(takes);
    stopped = true;
  }
};

static_assert(weir::work_source<source>);
static_assert(!weir::work_source<int>);

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shutdown_on_signal, waiting)

BOOST_AUTO_TEST_CASE(each_of_the_signals_drains_the_pool) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ended = false;
    auto& p = make({.max_per_user = 0});
    wait(30s);
    BOOST_TEST(!p.submit(task_of("", sleeper(5s))));
    time.run_for(1s);
    BOOST_TEST(!ended);
    raise(signal);
    BOOST_TEST(p.submit(task_of("", nothing())) == errc::pool_closed);
    time.run();
    BOOST_REQUIRE(ended);
    BOOST_TEST(report->drained);
    BOOST_TEST(report->completed == 1U);
    BOOST_TEST((report->took == 4s));
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_end_by_the_deadline_is_cancelled) {
  make({.max_per_user = 0});
  wait(10s);
  BOOST_TEST(!pool->submit(task_of("", sleeper(1h))));
  time.settle();
  raise(SIGTERM);
  time.run();
  BOOST_TEST(!report->drained);
  BOOST_TEST((report->took == 10s));
}

BOOST_AUTO_TEST_CASE(the_source_is_stopped_first) {
  make({.max_per_user = 2});
  source s{.takes = 2s, .pool = &*pool};
  wait(s, weir::duration(30s));
  raise(SIGTERM);
  BOOST_TEST(s.pool_was_open);
  BOOST_TEST(!s.stopped);
  time.run_for(1s);
  BOOST_TEST(!pool->submit(task_of("ann", nothing())));  // still open: the source is not done
  time.run();
  BOOST_TEST(s.stopped);
  BOOST_TEST(report->drained);
}

BOOST_AUTO_TEST_CASE(a_source_that_does_not_stop_is_not_waited_for_past_the_deadline) {
  make({.max_per_user = 2});
  source s{.takes = 24h, .pool = &*pool};
  wait(s, weir::duration(10s));
  const auto began = time.now();
  raise(SIGTERM);
  time.run();
  BOOST_TEST(!s.stopped);
  BOOST_REQUIRE(ended);
  BOOST_TEST(report.has_value());
  BOOST_TEST((time.now() - began == 10s));
  BOOST_TEST(pool->submit(task_of("ann", nothing())) == errc::pool_closed);
}

BOOST_AUTO_TEST_CASE(a_source_that_throws_does_not_keep_the_pool_open) {
  make({.max_per_user = 2});
  source s{.fails = true, .pool = &*pool};
  wait(s, weir::duration(10s));
  raise(SIGTERM);
  time.run();
  BOOST_REQUIRE(ended);
  BOOST_CHECK_THROW(std::rethrow_exception(failure), std::runtime_error);
  BOOST_TEST(pool->submit(task_of("ann", nothing())) == errc::pool_closed);
}

BOOST_AUTO_TEST_CASE(a_second_signal_abandons_what_is_left) {
  make({.workers = 1, .max_per_user = 0});
  wait(1h);
  BOOST_TEST(!pool->submit(task_of("", sleeper(2h))));
  BOOST_TEST(!pool->submit(task_of("", sleeper(2h))));
  time.settle();
  raise(SIGTERM);
  time.run_for(1s);
  BOOST_TEST(!ended);
  raise(SIGTERM);
  BOOST_REQUIRE(ended);
  BOOST_TEST(report->abandoned.size() == 1U);
  BOOST_TEST(pool->metrics().cancelled == 2U);
}

BOOST_AUTO_TEST_CASE(cancelled_before_a_signal_the_pool_goes_on) {
  make({.max_per_user = 0});
  wait(10s);
  cancel.emit(asio::cancellation_type::terminal);
  time.settle();
  BOOST_REQUIRE(ended);
  BOOST_TEST(code_of(failure) == asio::error::operation_aborted);
  BOOST_TEST(!pool->submit(task_of("", nothing())));
}

BOOST_AUTO_TEST_SUITE_END()
