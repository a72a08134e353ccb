// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sleep_for.hpp"

#include <weir/semaphore.hpp>
#include <weir/test/boost_test.hpp>
#include <weir/with_timeout.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::system_error;
using weir::errc;
using weir::error_code;
using weir::permit;
using weir::with_deadline;
using weir::with_timeout;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(with_timeout_suite)

namespace {

// They may be written inside a co_await.
static_assert(std::is_trivially_destructible_v<weir::timeout_options>);

constexpr auto never = weir::time_point::max();

/// Waits for something that comes when nothing else does: a timer, cancelled, or `heed` false.
asio::awaitable<int> value_after(weir::duration d, int value) {
  co_await sleep_for(d);
  co_return value;
}

asio::awaitable<int> ready(int value) { co_return value; }

/// Work that does not listen.
asio::awaitable<int> deaf(weir::duration d, int value) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await sleep_for(d);
  co_return value;
}

asio::awaitable<void> fails_after(weir::duration d) {
  co_await sleep_for(d);
  throw std::runtime_error("of its own");
}

/// What a coroutine came to.
struct answer {
  std::optional<int> value;
  error_code code;
  std::string text;
  std::string nested;
  bool answered = false;

  void take(const std::exception_ptr& e) {
    answered = true;
    if (!e) return;
    try {
      std::rethrow_exception(e);
    } catch (const system_error& error) {
      code = error.code();
      try {
        std::rethrow_if_nested(error);
      } catch (const std::exception& cause) {
        nested = cause.what();
      }
    } catch (const std::exception& error) {
      text = error.what();
    }
  }
};

asio::awaitable<void> record(asio::awaitable<int> work, answer& a) {
  try {
    a.value = co_await std::move(work);
    a.answered = true;
  } catch (...) {
    a.take(std::current_exception());
  }
}

asio::awaitable<void> record(asio::awaitable<void> work, answer& a) {
  try {
    co_await std::move(work);
    a.answered = true;
  } catch (...) {
    a.take(std::current_exception());
  }
}

/// A coroutine with a signal; every type is let through.
struct cancellable {
  asio::cancellation_signal signal;
  std::exception_ptr error;

  template <typename Executor>
  void spawn(const Executor& ex, asio::awaitable<void> work) {
    asio::co_spawn(ex, accept_all(std::move(work)),
                   asio::bind_cancellation_slot(
                       signal.slot(), [this](const std::exception_ptr& e) { error = e; }));
  }

 private:
  static asio::awaitable<void> accept_all(asio::awaitable<void> work) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await std::move(work);
  }
};

constexpr asio::cancellation_type every_type[] = {asio::cancellation_type::terminal,
                                                  asio::cancellation_type::partial,
                                                  asio::cancellation_type::total};

}  // namespace

WEIR_COROUTINE_TEST_CASE(result_and_exception_of_work_that_is_in_time_pass_through) {
  BOOST_TEST(co_await with_timeout(ready(7), 1s) == 7);
  BOOST_TEST(co_await with_timeout(value_after(999ms, 8), 1s) == 8);
  answer a;
  co_await record(with_timeout(fails_after(1ms), 1s), a);
  BOOST_TEST(a.text == "of its own");
  co_await with_timeout(sleep_for(1ms), weir::duration::max());
  BOOST_TEST((time.elapsed() == 1001ms));
}

WEIR_COROUTINE_TEST_CASE(work_is_cancelled_at_its_deadline_and_the_caller_told) {
  answer a;
  co_await record(with_timeout(value_after(1h, 1), 5s), a);
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST(!a.value);
  BOOST_TEST(a.nested.empty());
  BOOST_TEST((time.elapsed() == 5s));
  answer b;
  co_await record(with_deadline(value_after(1h, 1), time.now() + 2s), b);
  BOOST_TEST((b.code == errc::deadline_exceeded));
  BOOST_TEST((time.elapsed() == 7s));
}

WEIR_COROUTINE_TEST_CASE(caller_is_answered_when_the_frame_has_ended_and_what_it_held_is_free) {
  weir::semaphore slots(time.get_executor(), 1);
  const auto work = [&]() -> asio::awaitable<void> {
    const permit slot = co_await slots.async_acquire(asio::use_awaitable);
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(3s);
    co_await asio::this_coro::reset_cancellation_state();
    throw system_error(asio::error::operation_aborted);
  };
  answer a;
  co_await record(with_timeout(work(), 1s), a);
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST((time.elapsed() == 3s));
  BOOST_TEST(slots.in_use() == 0);
}

WEIR_COROUTINE_TEST_CASE(what_work_threw_when_it_was_cancelled_is_nested) {
  const auto work = []() -> asio::awaitable<void> {
    try {
      co_await sleep_for(1h);
    } catch (const system_error&) {
      throw std::runtime_error("half a file was written");
    }
  };
  answer a;
  co_await record(with_timeout(work(), 1s), a);
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST(a.nested == "half a file was written");
}

WEIR_COROUTINE_TEST_CASE(result_that_is_there_in_spite_of_the_deadline_is_delivered) {
  BOOST_TEST(co_await with_timeout(deaf(10s, 3), 1s) == 3);
  BOOST_TEST((time.elapsed() == 10s));
}

WEIR_COROUTINE_TEST_CASE(deadline_that_has_passed_answers_at_once_and_the_work_never_starts) {
  bool started = false;
  const auto work = [&]() -> asio::awaitable<int> {
    started = true;
    co_return 1;
  };
  for (const weir::duration d : {weir::duration(), weir::duration(-1s), weir::duration::min()}) {
    answer a;
    co_await record(with_timeout(work(), d), a);
    BOOST_TEST((a.code == errc::deadline_exceeded));
  }
  answer a;
  co_await record(with_deadline(work(), time.now()), a);
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST(!started);
  BOOST_TEST((time.elapsed() == 0s));
}

WEIR_COROUTINE_TEST_CASE(time_counts_from_the_call) {
  auto work = with_timeout(value_after(5s, 1), 5s);
  co_await sleep_for(3s);
  answer a;
  co_await record(std::move(work), a);
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST((time.elapsed() == 5s));
}

WEIR_COROUTINE_TEST_CASE(result_need_be_neither_copied_nor_default_constructed) {
  struct odd {
    explicit odd(int v) : value(std::make_unique<int>(v)) {}
    std::unique_ptr<int> value;
  };
  const auto work = []() -> asio::awaitable<odd> {
    co_await sleep_for(1ms);
    co_return odd(5);
  };
  const odd got = co_await with_timeout(work(), 1s);
  BOOST_TEST(*got.value == 5);
}

WEIR_COROUTINE_TEST_CASE(nested_deadlines_end_at_the_earliest) {
  answer a;
  co_await record(with_timeout(with_timeout(value_after(1h, 1), 1s), 2s), a);
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST((time.elapsed() == 1s));
  answer b;
  co_await record(with_timeout(with_timeout(value_after(1h, 1), 2s), 1s), b);
  BOOST_TEST((b.code == errc::deadline_exceeded));
  BOOST_TEST((time.elapsed() == 2s));
}

BOOST_AUTO_TEST_CASE(cancellation_of_each_type_reaches_the_work_and_passes_for_what_it_is) {
  for (const auto type : every_type) {
    weir::test::virtual_time time;
    asio::cancellation_type seen{};
    const auto work = [&]() -> asio::awaitable<int> {
      co_await asio::this_coro::throw_if_cancelled(false);
      weir::steady_timer timer(co_await asio::this_coro::executor, 1h);
      error_code ec;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
      seen = (co_await asio::this_coro::cancellation_state).cancelled();
      throw system_error(ec);
    };
    answer a;
    cancellable c;
    c.spawn(time.get_executor(), record(with_timeout(work(), 5s), a));
    time.run_for(1s);
    c.signal.emit(type);
    time.run();
    BOOST_TEST((a.code == asio::error::operation_aborted));
    BOOST_TEST((seen == type));
    BOOST_TEST((time.elapsed() == 1s));
  }
}

BOOST_AUTO_TEST_CASE(cancellation_that_the_caller_does_not_accept_does_not_reach_the_work) {
  weir::test::virtual_time time;
  answer a;
  asio::cancellation_signal signal;
  asio::co_spawn(time.get_executor(), record(with_timeout(value_after(2s, 4), 5s), a),
                 asio::bind_cancellation_slot(signal.slot(), [](const std::exception_ptr&) {}));
  time.run_for(1s);
  signal.emit(asio::cancellation_type::total);
  time.run();
  BOOST_TEST((a.value == 4));
}

BOOST_AUTO_TEST_CASE(cancellation_that_comes_first_wins_over_the_deadline_and_is_awaited) {
  weir::test::virtual_time time;
  answer a;
  cancellable c;
  // Deaf for a while, then it finds itself cancelled; meanwhile the deadline passes.
  const auto work = []() -> asio::awaitable<int> {
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto begin = weir::steady_clock::now();
    while (weir::steady_clock::now() < begin + 4s) {
      weir::steady_timer timer(co_await asio::this_coro::executor, begin + 4s);
      error_code ec;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
    throw system_error(asio::error::operation_aborted);
  };
  c.spawn(time.get_executor(), record(with_timeout(work(), 2s), a));
  time.run_for(1s);
  c.signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST((a.code == asio::error::operation_aborted));
  BOOST_TEST((time.elapsed() == 4s));
}

BOOST_AUTO_TEST_CASE(cancellation_that_comes_second_does_not_change_the_answer) {
  weir::test::virtual_time time;
  answer a;
  cancellable c;
  const auto work = []() -> asio::awaitable<int> {
    co_await deaf(4s, 0);
    throw system_error(asio::error::operation_aborted);
  };
  c.spawn(time.get_executor(), record(with_timeout(work(), 2s), a));
  time.run_for(3s);
  c.signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST((time.elapsed() == 4s));
}

BOOST_AUTO_TEST_CASE(caller_that_is_cancelled_finds_its_own_state_as_it_was) {
  for (const bool throws : {true, false}) {
    weir::test::virtual_time time;
    cancellable c;
    std::optional<bool> after;
    const auto caller = [&]() -> asio::awaitable<void> {
      co_await asio::this_coro::throw_if_cancelled(throws);
      answer a;
      co_await record(with_timeout(value_after(1h, 1), 2s), a);
      after = co_await asio::this_coro::throw_if_cancelled();
      BOOST_TEST((a.code == asio::error::operation_aborted));
      // One-shot where the caller said so: the next goes on.
      if (!throws) BOOST_TEST(co_await with_timeout(value_after(1ms, 6), 1s) == 6);
    };
    c.spawn(time.get_executor(), caller());
    time.settle();
    c.signal.emit(asio::cancellation_type::total);
    time.run();
    BOOST_TEST((after == throws));
    BOOST_TEST(!c.error);
  }
}

BOOST_AUTO_TEST_CASE(work_that_cancels_its_own_caller_while_it_starts) {
  weir::test::virtual_time time;
  cancellable c;
  answer a;
  const auto work = [&]() -> asio::awaitable<int> {
    c.signal.emit(asio::cancellation_type::terminal);
    co_await sleep_for(1h);
    co_return 1;
  };
  const auto caller = [&]() -> asio::awaitable<void> {
    co_await sleep_for(1ms);
    co_await record(with_timeout(work(), 5s), a);
  };
  c.spawn(time.get_executor(), caller());
  time.run();
  BOOST_TEST((a.code == asio::error::operation_aborted));
  BOOST_TEST((time.elapsed() == 1ms));
}

// --- answered ahead of the end -------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(caller_is_answered_early_and_what_the_work_holds_stays_with_it) {
  for (const weir::duration after : {weir::duration(-1s), weir::duration(), weir::duration(2s)}) {
    weir::test::virtual_time time;
    weir::semaphore slots(time.get_executor(), 1);
    const auto work = [&]() -> asio::awaitable<int> {
      const permit slot = co_await slots.async_acquire(asio::use_awaitable);
      co_return co_await deaf(10s, 42);
    };
    answer a;
    int ends = 0;
    std::optional<int> late;
    auto on_end = [&](const std::exception_ptr& e, std::optional<int> value) {
      ++ends;
      BOOST_TEST(!e);
      late = value;
      BOOST_TEST((time.elapsed() == 10s));
      BOOST_TEST(slots.in_use() == 0);
    };
    time.spawn(record(with_timeout(work(), 1s, {.answer_after = after}, on_end), a));
    time.run_for(1s + std::max(after, weir::duration()) - 1ns);
    BOOST_TEST(!a.answered);
    time.run_for(1ns);
    BOOST_TEST((a.code == errc::deadline_exceeded));
    BOOST_TEST(slots.in_use() == 1);
    BOOST_TEST(ends == 0);
    time.run();
    BOOST_TEST(ends == 1);
    BOOST_TEST((late == 42));
  }
}

BOOST_AUTO_TEST_CASE(exception_of_abandoned_work_goes_to_the_hook) {
  weir::test::virtual_time time;
  answer a;
  answer late;
  auto on_end = [&, only_moved = std::make_unique<int>()](const std::exception_ptr& e) {
    late.take(e);
  };
  const auto work = []() -> asio::awaitable<void> {
    co_await deaf(3s, 0);
    throw std::runtime_error("late");
  };
  time.spawn(record(with_timeout(work(), 1s, weir::timeout_options{}, std::move(on_end)), a));
  time.run();
  BOOST_TEST((a.code == errc::deadline_exceeded));
  BOOST_TEST(late.text == "late");
}

BOOST_AUTO_TEST_CASE(hook_is_not_called_where_the_caller_got_the_result) {
  weir::test::virtual_time time;
  answer a;
  auto on_end = [](const std::exception_ptr&, std::optional<int>) { BOOST_ERROR("called"); };
  time.spawn(record(with_timeout(value_after(1s, 2), 5s, weir::timeout_options{}, on_end), a));
  time.run();
  BOOST_TEST((a.value == 2));
  answer b;
  // It heeds the cancellation, in the time that it is given for it.
  time.spawn(record(with_timeout(value_after(1h, 2), 1s, {.answer_after = 1s}, on_end), b));
  time.run();
  BOOST_TEST((b.code == errc::deadline_exceeded));
  BOOST_TEST((time.elapsed() == 2s));
}

BOOST_AUTO_TEST_CASE(caller_that_cancels_is_answered_early_too_and_the_work_is_cancelled_for_good) {
  weir::test::virtual_time time;
  cancellable c;
  answer a;
  answer late;
  std::optional<asio::cancellation_type> last;
  const auto work = [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    for (int i = 0; i < 2; ++i) {
      weir::steady_timer timer(co_await asio::this_coro::executor, 1h);
      error_code ec;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
      last = (co_await asio::this_coro::cancellation_state).cancelled();
    }
    throw std::runtime_error("gave in");
  };
  auto on_end = [&](const std::exception_ptr& e) { late.take(e); };
  c.spawn(time.get_executor(), record(with_timeout(work(), 1min, {.answer_after = 1s}, on_end), a));
  time.run_for(5s);
  c.signal.emit(asio::cancellation_type::partial);
  time.run();
  BOOST_TEST((a.code == asio::error::operation_aborted));
  BOOST_TEST((last == asio::cancellation_type::terminal));
  BOOST_TEST(late.text == "gave in");
  BOOST_TEST((time.elapsed() == 6s));
}

BOOST_AUTO_TEST_CASE(exception_of_the_hook_comes_out_of_run) {
  weir::test::virtual_time time;
  answer a;
  auto on_end = [](const std::exception_ptr&, std::optional<int>) {
    throw std::runtime_error("of the hook");
  };
  time.spawn(record(with_timeout(deaf(2s, 1), 1s, weir::timeout_options{}, on_end), a));
  BOOST_CHECK_EXCEPTION(time.run(), std::runtime_error, [](const std::runtime_error& e) {
    return e.what() == std::string("of the hook");
  });
  time.run();
}

BOOST_AUTO_TEST_CASE(work_that_blocks_its_thread_does_not_hold_up_the_answer) {
  asio::thread_pool threads(2);
  std::promise<void> release;
  std::promise<int> ended;
  const auto work = [&]() -> asio::awaitable<int> {
    release.get_future().wait();  // deaf in the worst way
    co_return 9;
  };
  auto on_end = [&](const std::exception_ptr&, std::optional<int> v) { ended.set_value(*v); };
  auto caller = asio::co_spawn(threads, with_timeout(work(), 5ms, weir::timeout_options{}, on_end),
                               asio::use_future);
  BOOST_CHECK_EXCEPTION(caller.get(), system_error,
                        [](const system_error& e) { return e.code() == errc::deadline_exceeded; });
  release.set_value();
  BOOST_TEST(ended.get_future().get() == 9);
  threads.join();
}

// --- lifetimes -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(context_destroyed_with_the_work_in_flight) {
  for (const bool early : {false, true}) {
    const auto alive = std::make_shared<int>();
    {
      // Declared first: the frames of the work let go of it when the context dies.
      const auto seen = alive;
      asio::io_context context;
      const auto work = [](std::shared_ptr<int>) -> asio::awaitable<int> {
        co_return co_await deaf(1h, 1);
      };
      const auto caller = [](std::shared_ptr<int>,
                             asio::awaitable<int> timed) -> asio::awaitable<void> {
        co_await std::move(timed);
      };
      auto on_end = [seen](const std::exception_ptr&, std::optional<int>) { BOOST_ERROR("ran"); };
      auto timed = early ? with_timeout(work(seen), 1h, weir::timeout_options{}, on_end)
                         : with_timeout(work(seen), 1h);
      asio::co_spawn(context, caller(seen, std::move(timed)),
                     [](const std::exception_ptr&) { BOOST_ERROR("ran"); });
      context.poll();
    }
    BOOST_TEST(alive.use_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(context_destroyed_at_each_step) {
  for (int steps = 0; steps < 14; ++steps) {
    const auto alive = std::make_shared<int>();
    {
      asio::io_context context;
      const auto work = [](std::shared_ptr<int>) -> asio::awaitable<int> {
        co_await asio::post(asio::use_awaitable);
        co_return 1;
      };
      const auto caller = [](std::shared_ptr<int>,
                             asio::awaitable<int> timed) -> asio::awaitable<void> {
        co_await std::move(timed);
      };
      asio::co_spawn(context, caller(alive, with_timeout(work(alive), 1h)),
                     [alive](const std::exception_ptr&) {});
      for (int i = 0; i < steps; ++i) context.poll_one();
    }
    BOOST_TEST(alive.use_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(pool_of_threads_destroyed_with_the_work_in_flight) {
  const auto alive = std::make_shared<int>();
  {
    asio::thread_pool threads(2);
    std::atomic<int> begun{0};
    for (int i = 0; i < 8; ++i) {
      const auto work = [](std::shared_ptr<int>, std::atomic<int>& count) -> asio::awaitable<int> {
        ++count;
        co_return co_await value_after(1h, 1);
      };
      const auto caller = [](std::shared_ptr<int>,
                             asio::awaitable<int> timed) -> asio::awaitable<void> {
        co_await std::move(timed);
      };
      asio::co_spawn(threads, caller(alive, with_timeout(work(alive, begun), 1h)),
                     [](const std::exception_ptr&) {});
    }
    while (begun < 8) std::this_thread::yield();
    threads.stop();
  }
  BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(deadlock_report_names_who_waits_for_timed_work) {
  weir::test::virtual_time time;
  std::optional<weir::semaphore> slots(std::in_place, time.get_executor(), 1, "slots");
  permit held = slots->try_acquire();
  time.spawn("client", [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    auto take = slots->async_acquire(asio::use_awaitable);
    permit p = co_await with_deadline(std::move(take), never);
  });
  BOOST_CHECK_EXCEPTION(time.run(), weir::test::deadlock_error, [](const auto& e) {
    const std::string text = e.what();
    return text.find("client") != std::string::npos &&
           text.find("[with_timeout]") != std::string::npos &&
           text.find("[semaphore acquire] of 'slots'") != std::string::npos;
  });
  held.release();
  time.run();
}

// --- every order ---------------------------------------------------------------------------------

/// One outcome each, whatever coincides; and whoever is answered finds the permit of its work free.
void crowd(simulation& sim, bool early) {
  struct counts {
    int started = 0;
    int ended = 0;
    int answered = 0;
    int late = 0;
  } n;
  weir::semaphore slots(sim.get_executor(), 100);
  const int callers = 5;
  for (int i = 0; i < callers; ++i) {
    const auto takes = 1ms * sim.draw().between(0, 3);
    const auto limit = 1ms * sim.draw().between(1, 3);
    const auto after = 1ms * sim.draw().between(0, 2);
    const int listens = sim.draw().between(0, 2);
    sim.spawn([&, takes, limit, after, listens]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      const auto frame_ended = std::make_shared<bool>(false);
      const auto work = [](counts& c, weir::semaphore& s, weir::duration t, int listen,
                           std::shared_ptr<bool> end) -> asio::awaitable<int> {
        ++c.started;
        const struct guard {
          counts& c;
          bool& end;
          ~guard() {
            ++c.ended;
            end = true;
          }
        } at_end{c, *end};
        const permit slot = co_await s.async_acquire(asio::use_awaitable);
        if (listen == 0) {
          co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        }
        if (t > 0ms) co_await sleep_for(t);
        if (listen == 2) throw std::runtime_error("own");
        co_return 5;
      };
      const auto begin = sim.elapsed();
      const auto on_end = [&n, frame_ended](const std::exception_ptr& e, std::optional<int> v) {
        ++n.late;
        BOOST_TEST_REQUIRE(*frame_ended);
        BOOST_TEST_REQUIRE((e != nullptr) != v.has_value());
      };
      auto timed = early ? with_timeout(work(n, slots, takes, listens, frame_ended), limit,
                                        weir::timeout_options{after}, on_end)
                         : with_timeout(work(n, slots, takes, listens, frame_ended), limit);
      try {
        const int value = co_await std::move(timed);
        ++n.answered;
        BOOST_TEST_REQUIRE(value == 5);
        BOOST_TEST_REQUIRE(*frame_ended);
      } catch (const system_error& e) {
        ++n.answered;
        if (!early) BOOST_TEST_REQUIRE(*frame_ended);
        if (e.code() == errc::deadline_exceeded)
          BOOST_TEST_REQUIRE((sim.elapsed() - begin >= limit));
        else
          BOOST_TEST_REQUIRE((e.code() == asio::error::operation_aborted));
        if (early) BOOST_TEST_REQUIRE((sim.elapsed() - begin <= limit + after));
      } catch (const std::runtime_error&) {
        ++n.answered;
        BOOST_TEST_REQUIRE(listens == 2);
        BOOST_TEST_REQUIRE(*frame_ended);
      }
    });
  }
  sim.run();
  BOOST_TEST_REQUIRE(n.started == n.ended);
  BOOST_TEST_REQUIRE(slots.in_use() == 0);
  if (!early) BOOST_TEST_REQUIRE(n.late == 0);
  BOOST_TEST_REQUIRE(n.answered <= callers);
}

WEIR_SIMULATION_TEST_CASE(one_outcome_in_any_order, 2000) { crowd(sim, false); }
WEIR_SIMULATION_TEST_CASE(one_outcome_in_any_order_though_answered_early, 2000) {
  crowd(sim, true);
}

BOOST_AUTO_TEST_CASE(one_outcome_when_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000, [](simulation& sim) { crowd(sim, false); },
                            {.simulation = {.cancel = 0.1}});
  weir::test::for_each_seed(2000, [](simulation& sim) { crowd(sim, true); },
                            {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()
