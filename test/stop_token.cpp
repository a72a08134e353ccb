// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/stop_token.hpp>
#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::task_context;

BOOST_AUTO_TEST_SUITE(stop_token)

// In here, since there is a suite of that name.
using weir::cancel_cause;

namespace {

/// What a task that is cancelled while it awaits sees of it.
struct sight {
  std::optional<weir::stop_token> token;
  bool before = true;
  bool after = false;
  bool standard_after = false;
  cancel_cause cause_before = cancel_cause::caller;
  cancel_cause cause_after = cancel_cause::none;
  weir::time_point ended;
};

/// Awaits for an hour; looks at its token and cause before, and after it was cut short.
asio::awaitable<void> look(task_context& context, sight& seen) {
  seen.token = context.stop_token();
  seen.before = seen.token->stop_requested();
  seen.cause_before = context.cause();
  weir::steady_timer timer(co_await asio::this_coro::executor, 1h);
  try {
    co_await timer.async_wait(asio::deferred);
  } catch (const std::exception&) {
    seen.after = seen.token->stop_requested();
    seen.standard_after = std::stop_token(*seen.token).stop_requested();
    seen.cause_after = context.cause();
    seen.ended = weir::steady_clock::now();
    throw;
  }
}

void check(const sight& seen, cancel_cause cause) {
  BOOST_TEST(!seen.before);
  BOOST_TEST((seen.cause_before == cancel_cause::none));
  BOOST_TEST(seen.after);
  BOOST_TEST(seen.standard_after);
  BOOST_TEST((seen.cause_after == cause), weir::to_string(seen.cause_after));
  BOOST_TEST_REQUIRE(seen.token.has_value());
  BOOST_TEST(seen.token->stop_requested());
}

weir::task work(weir::task_function fn, std::optional<weir::duration> timeout = {}) {
  weir::task t;
  t.user = "ann";
  t.fn = std::move(fn);
  t.timeout = timeout;
  return t;
}

struct virtual_pool {
  weir::test::virtual_time time;
  weir::worker_pool pool{time.get_executor(), {.workers = 1, .task_timeout = {}}};
};

/// Long enough for any machine; what is waited for comes after milliseconds.
constexpr auto patience = 30s;

template <typename Done>
bool poll_until(Done done) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!done())
    if (std::chrono::steady_clock::now() > limit) return false;
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(default_token_never_says_stop) {
  const weir::stop_token token;
  BOOST_TEST(!token.stop_possible());
  BOOST_TEST(!token.stop_requested());
  const std::stop_token standard = token;
  BOOST_TEST(!standard.stop_possible());
  BOOST_TEST(!standard.stop_requested());
}

BOOST_AUTO_TEST_CASE(copies_speak_of_the_same_task) {
  virtual_pool v;
  sight seen;
  BOOST_TEST(!v.pool.submit(work([&](task_context& c) { return look(c, seen); })));
  v.time.settle();
  BOOST_TEST_REQUIRE(seen.token.has_value());
  weir::stop_token copy = *seen.token;
  weir::stop_token moved = std::move(copy);
  weir::stop_token assigned;
  assigned = moved;
  BOOST_TEST(moved.stop_possible());
  BOOST_TEST(!moved.stop_requested());
  BOOST_TEST(!assigned.stop_requested());
  v.time.run();
  BOOST_TEST(moved.stop_requested());
  BOOST_TEST(assigned.stop_requested());
  assigned = weir::stop_token();
  BOOST_TEST(!assigned.stop_requested());
}

BOOST_AUTO_TEST_CASE(timeout_stops_and_is_told_as_the_cause) {
  virtual_pool v;
  sight seen;
  const auto start = v.time.now();
  BOOST_TEST(!v.pool.submit(work([&](task_context& c) { return look(c, seen); }, 2s)));
  v.time.run();
  check(seen, cancel_cause::timeout);
  BOOST_TEST(((seen.ended - start) == 2s));
  BOOST_TEST(v.pool.metrics().timed_out == 1U);
}

BOOST_AUTO_TEST_CASE(shutdown_stops_and_is_told_as_the_cause) {
  virtual_pool v;
  sight seen;
  BOOST_TEST(!v.pool.submit(work([&](task_context& c) { return look(c, seen); })));
  v.time.settle();
  bool reported = false;
  v.pool.async_shutdown({.deadline = 0s},
                        [&](weir::error_code, const weir::shutdown_report&) { reported = true; });
  v.time.run();
  BOOST_TEST(reported);
  check(seen, cancel_cause::shutdown);
}

BOOST_AUTO_TEST_CASE(caller_that_gives_up_stops_and_is_told_as_the_cause) {
  virtual_pool v;
  sight seen;
  asio::cancellation_signal signal;
  std::exception_ptr answer;
  co_spawn(
      v.pool, {.user = "ann"}, [&](task_context& c) { return look(c, seen); },
      asio::bind_cancellation_slot(signal.slot(),
                                   [&](const std::exception_ptr& e) { answer = e; }));
  v.time.settle();
  signal.emit(asio::cancellation_type::terminal);
  v.time.run();
  check(seen, cancel_cause::caller);
  BOOST_TEST((answer != nullptr));
}

BOOST_AUTO_TEST_CASE(task_that_nobody_stops_is_not_told_to) {
  virtual_pool v;
  bool stop = true;
  bool possible = false;
  auto cause = cancel_cause::caller;
  BOOST_TEST(!v.pool.submit(work([&](task_context& c) {
    stop = c.stop_token().stop_requested();
    possible = c.stop_token().stop_possible();
    cause = c.cause();
  })));
  v.time.run();
  BOOST_TEST(!stop);
  BOOST_TEST(possible);
  BOOST_TEST((cause == cancel_cause::none));
}

BOOST_AUTO_TEST_CASE(token_of_an_ended_task_says_stop) {
  virtual_pool v;
  weir::stop_token token;
  std::stop_token early;
  BOOST_TEST(!v.pool.submit(work([&](task_context& c) {
    token = c.stop_token();
    early = token;
  })));
  v.time.run();
  BOOST_TEST(token.stop_requested());
  const std::stop_token late = token;
  BOOST_TEST(late.stop_requested());
  // Nobody asked that task to stop while it ran, and afterwards nobody can.
  BOOST_TEST(!early.stop_requested());
  BOOST_TEST(!early.stop_possible());
}

BOOST_AUTO_TEST_CASE(token_of_an_ended_task_is_not_that_of_the_next_on_the_same_worker) {
  virtual_pool v;
  weir::stop_token first;
  sight second;
  BOOST_TEST(!v.pool.submit(work([&](task_context& c) { first = c.stop_token(); })));
  BOOST_TEST(!v.pool.submit(work([&](task_context& c) { return look(c, second); })));
  v.time.settle();
  BOOST_TEST_REQUIRE(second.token.has_value());
  BOOST_TEST(first.stop_requested());
  BOOST_TEST(!second.token->stop_requested());
  v.time.run();
}

BOOST_AUTO_TEST_CASE(token_may_outlive_the_pool_and_its_context) {
  weir::stop_token token;
  {
    virtual_pool v;
    BOOST_TEST(!v.pool.submit(work([&](task_context& c) { token = c.stop_token(); })));
    v.time.run();
  }
  BOOST_TEST(token.stop_requested());
  BOOST_TEST(std::stop_token(token).stop_requested());
}

BOOST_AUTO_TEST_CASE(standard_callback_runs_at_the_deadline) {
  virtual_pool v;
  const auto start = v.time.now();
  std::optional<weir::time_point> called;
  const auto listen = [&](task_context& context) -> asio::awaitable<void> {
    const std::stop_callback callback(std::stop_token(context.stop_token()),
                                      [&] { called = weir::steady_clock::now(); });
    weir::steady_timer timer(co_await asio::this_coro::executor, 1h);
    co_await timer.async_wait(asio::deferred);
  };
  BOOST_TEST(!v.pool.submit(work(listen, 3s)));
  v.time.run();
  BOOST_TEST_REQUIRE(called.has_value());
  BOOST_TEST(((*called - start) == 3s));
}

BOOST_AUTO_TEST_CASE(standard_tokens_of_one_task_are_one) {
  virtual_pool v;
  bool equal = false;
  BOOST_TEST(!v.pool.submit(work([&](task_context& c) {
    const std::stop_token a = c.stop_token();
    const std::stop_token b = c.stop_token();
    equal = a == b && a.stop_possible();
  })));
  v.time.run();
  BOOST_TEST(equal);
}

BOOST_AUTO_TEST_CASE(deadline_is_seen_by_a_task_that_polls_on_the_only_thread) {
  // A real clock, since virtual time moves only when nobody is busy.
  asio::io_context context;
  weir::worker_pool pool(context.get_executor(), {.workers = 1, .task_timeout = 20ms});
  bool stopped = false;
  bool in_time = false;
  auto cause = cancel_cause::none;
  BOOST_TEST(!pool.submit(work([&](task_context& c) {
    const weir::stop_token token = c.stop_token();
    stopped = poll_until([&] { return token.stop_requested(); });
    in_time = weir::steady_clock::now() >= c.deadline();
    cause = c.cause();
  })));
  context.run();
  BOOST_TEST(stopped);
  BOOST_TEST(in_time);
  BOOST_TEST((cause == cancel_cause::timeout));
  BOOST_TEST(pool.metrics().timed_out == 1U);
}

BOOST_AUTO_TEST_CASE(cause_is_seen_by_a_task_that_polls_nothing_else) {
  asio::io_context context;
  weir::worker_pool pool(context.get_executor(), {.workers = 1, .task_timeout = 20ms});
  bool seen = false;
  bool token_agrees = false;
  BOOST_TEST(!pool.submit(work([&](task_context& c) {
    seen = poll_until([&] { return c.cause() == cancel_cause::timeout; });
    token_agrees = c.stop_token().stop_requested();
  })));
  context.run();
  BOOST_TEST(seen);
  BOOST_TEST(token_agrees);
}

BOOST_AUTO_TEST_CASE(standard_callback_runs_though_the_only_thread_of_the_pool_is_busy) {
  weir::worker_pool pool({.workers = 1, .threads = 1, .task_timeout = 20ms});
  std::atomic<bool> called{false};
  bool seen = false;
  auto cause = cancel_cause::none;
  std::thread::id caller;
  std::thread::id task;
  std::promise<void> ended;
  BOOST_TEST(!pool.submit(work([&](task_context& c) {
    task = std::this_thread::get_id();
    {
      const std::stop_callback callback(std::stop_token(c.stop_token()), [&] {
        caller = std::this_thread::get_id();
        called = true;
      });
      seen = poll_until([&] { return called.load(); });
    }
    cause = c.cause();
    ended.set_value();
  })));
  ended.get_future().get();
  BOOST_TEST(seen);
  BOOST_TEST((caller != task));
  BOOST_TEST((cause == cancel_cause::timeout));
}

BOOST_AUTO_TEST_CASE(callback_added_after_the_stop_runs_at_once) {
  weir::worker_pool pool({.workers = 1, .threads = 1, .task_timeout = 1ms});
  bool called = false;
  std::promise<void> ended;
  BOOST_TEST(!pool.submit(work([&](task_context& c) {
    const weir::stop_token token = c.stop_token();
    poll_until([&] { return token.stop_requested(); });
    const std::stop_callback late(std::stop_token(token), [&] { called = true; });
    ended.set_value();
  })));
  ended.get_future().get();
  BOOST_TEST(called);
}

BOOST_AUTO_TEST_CASE(shutdown_reaches_a_task_that_polls) {
  weir::worker_pool pool({.workers = 1, .threads = 1, .task_timeout = {}});
  std::promise<void> started;
  bool stopped = false;
  auto cause = cancel_cause::none;
  BOOST_TEST(!pool.submit(work([&](task_context& c) {
    started.set_value();
    const weir::stop_token token = c.stop_token();
    stopped = poll_until([&] { return token.stop_requested(); });
    cause = c.cause();
  })));
  started.get_future().get();
  pool.async_shutdown({.deadline = 0s, .grace = patience}, asio::use_future).get();
  BOOST_TEST(stopped);
  BOOST_TEST((cause == cancel_cause::shutdown));
}

BOOST_AUTO_TEST_SUITE_END()
