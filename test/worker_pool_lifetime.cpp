// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Pools that are destroyed: in every state, in every order, from every place.

#include "pool_fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <system_error>
#include <thread>

using namespace weir_test;

namespace {

auto counting_sleeper() {
  return [c = counted()](task_context&) -> asio::awaitable<void> {
    counted local;
    co_await sleep_for(1h);
  };
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(worker_pool_lifetime, virtual_pool)

BOOST_AUTO_TEST_CASE(an_unused_pool_is_destroyed) {
  make();
  pool.reset();
}

BOOST_AUTO_TEST_CASE(a_borrowing_pool_is_destroyed_with_queued_and_suspended_tasks) {
  auto& p = make({.workers = 2, .max_per_user = 0});
  noted running, queued, waiting;
  co_spawn(p, {}, counting_sleeper(), running.handler());
  BOOST_TEST(!p.submit(task_of("", counting_sleeper())));
  time.run_for(1s);
  co_spawn(p, {}, counting_sleeper(), queued.handler());
  pool.reset();
  BOOST_TEST(counted::alive == 4);  // what was queued has gone, what ran has yet to hear of it
  time.settle();
  BOOST_TEST(counted::alive == 0);
  BOOST_TEST(*running.code == errc::shutdown_cancelled);
  BOOST_TEST(*queued.code == errc::shutdown_cancelled);
}

BOOST_AUTO_TEST_CASE(a_pool_is_destroyed_while_producers_wait_for_room) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 0});
  BOOST_TEST(!p.submit(task_of("", sleeper(1h))));
  time.settle();
  BOOST_TEST(!p.submit(task_of("", nothing())));
  noted n;
  p.async_submit(task_of("", nothing()), n.handler());
  pool.reset();
  time.run();
  BOOST_TEST(*n.code == errc::pool_closed);
}

BOOST_AUTO_TEST_CASE(a_pool_is_destroyed_during_its_shutdown) {
  auto& p = make({.max_per_user = 0});
  BOOST_TEST(!p.submit(task_of("", sleeper(1h))));
  time.settle();
  int calls = 0;
  p.async_shutdown({.deadline = 1min}, [&](const error_code& ec, const weir::shutdown_report& r) {
    ++calls;
    BOOST_TEST(!ec);
    BOOST_TEST(!r.drained);
  });
  time.run_for(1s);
  pool.reset();
  time.settle();
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(a_caller_may_cancel_after_the_pool_has_gone) {
  auto& p = make({.max_per_user = 0});
  asio::cancellation_signal signal;
  noted n;
  auto deaf = [](task_context&) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(1s);
  };
  co_spawn(p, {}, deaf, asio::bind_cancellation_slot(signal.slot(), n.handler()));
  time.settle();
  pool.reset();
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST(n.calls == 1);
}

BOOST_AUTO_TEST_CASE(the_last_handle_is_dropped_inside_a_task) {
  auto shared = std::make_shared<weir::worker_pool>(time.get_executor(),
                                                    weir::pool_options{.max_per_user = 0});
  std::weak_ptr<weir::worker_pool> watch = shared;
  auto& p = *shared;
  bool went_on = false;
  auto work = [&went_on, last = std::move(shared)](task_context&) mutable -> asio::awaitable<void> {
    last.reset();
    went_on = true;
    co_return;
  };
  BOOST_TEST(!p.submit(task_of("", std::move(work))));
  time.run();
  BOOST_TEST(watch.expired());
  BOOST_TEST(went_on);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(worker_pool_lifetime_orders)

BOOST_AUTO_TEST_CASE(the_context_goes_first_with_tasks_queued_and_suspended) {
  std::optional<weir::worker_pool> p;
  error_code running, queued;
  asio::io_context callers(1);
  const auto note = [&](error_code& into) {
    return asio::bind_executor(callers,
                               [&into](const std::exception_ptr& e) { into = code_of(e); });
  };
  {
    asio::io_context context(1);
    p.emplace(context.get_executor(), weir::pool_options{.workers = 1, .max_per_user = 1});
    co_spawn(*p, {.user = "ann"}, counting_sleeper(), note(running));
    BOOST_TEST(!p->submit(task_of("bob", counting_sleeper())));
    co_spawn(*p, {.user = "cleo"}, counting_sleeper(), note(queued));
    context.poll();
  }
  BOOST_TEST(counted::alive == 0);
  check_at_rest(p->metrics());
  BOOST_TEST(p->metrics().cancelled == 3U);
  BOOST_TEST(p->submit(task_of("ann", nothing())) == errc::pool_closed);
  callers.run();
  BOOST_TEST(running == errc::shutdown_cancelled);
  BOOST_TEST(queued == errc::shutdown_cancelled);
  int reports = 0;
  p->async_shutdown(
      {}, asio::bind_executor(callers, [&](const error_code&, const weir::shutdown_report& r) {
        ++reports;
        BOOST_TEST(!r.drained);
      }));
  callers.restart();
  callers.run();
  BOOST_TEST(reports == 1);
}

BOOST_AUTO_TEST_CASE(the_context_goes_first_and_was_never_run) {
  std::optional<weir::worker_pool> p;
  {
    asio::io_context context(1);
    p.emplace(context.get_executor());
    BOOST_TEST(!p->submit(task_of("ann", counting_sleeper())));
  }
  BOOST_TEST(counted::alive == 0);
  check_at_rest(p->metrics());
}

BOOST_AUTO_TEST_CASE(the_pool_goes_first_and_the_context_is_never_run_again) {
  asio::io_context context(1);
  {
    weir::worker_pool p(context.get_executor());
    BOOST_TEST(!p.submit(task_of("ann", counting_sleeper())));
    context.poll();
    BOOST_TEST(!p.submit(task_of("bob", counting_sleeper())));
  }
  BOOST_TEST(counted::alive > 0);
  // The context's destructor ends the rest; the next case looks whether it did.
}

BOOST_AUTO_TEST_CASE(nothing_of_it_is_left) { BOOST_TEST(counted::alive == 0); }

BOOST_AUTO_TEST_CASE(an_idle_pool_does_not_keep_its_context_running) {
  asio::io_context context(1);
  weir::worker_pool p(context.get_executor(), {.task_timeout = 1h});
  context.run();
  context.restart();
  BOOST_TEST(!p.submit(task_of("ann", nothing())));
  BOOST_TEST(context.run() > 0U);  // returns although the timeout is an hour
  BOOST_TEST(p.metrics().completed == 1U);
}

BOOST_AUTO_TEST_CASE(a_task_that_waits_for_another_thread_keeps_its_context_running) {
  asio::io_context context(1);
  weir::worker_pool p(context.get_executor(), {.max_per_user = 0});
  asio::io_context other(1);
  gate held(other.get_executor());
  auto work = [&](task_context&) -> asio::awaitable<void> { co_await held.pass(); };
  BOOST_TEST(!p.submit(task_of("", work)));
  std::thread opener;
  asio::post(context, [&] { opener = std::thread([&] { held.open(); }); });
  context.run();
  opener.join();
  BOOST_TEST(p.metrics().completed == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(worker_pool_lifetime_threads)

BOOST_AUTO_TEST_CASE(an_owning_pool_is_destroyed_with_queued_running_and_suspended_tasks) {
  std::promise<void> started;
  std::future<void> suspended, queued;
  {
    weir::worker_pool p{{.workers = 2, .queue_size = 10, .max_per_user = 0}};
    suspended = co_spawn(p, {}, counting_sleeper(), asio::use_future);
    auto spin = [&](task_context& ctx) {
      started.set_value();
      while (!ctx.stop_token().stop_requested()) std::this_thread::yield();
    };
    BOOST_TEST(!p.submit(task_of("", spin)));
    started.get_future().wait();
    queued = co_spawn(p, {}, counting_sleeper(), asio::use_future);
  }
  BOOST_TEST(counted::alive == 0);
  for (auto* f : {&suspended, &queued})
    BOOST_CHECK_EXCEPTION(f->get(), boost::system::system_error,
                          [](const auto& e) { return e.code() == errc::shutdown_cancelled; });
}

BOOST_AUTO_TEST_CASE(a_task_that_never_ends_is_destroyed_where_it_is_suspended) {
  std::promise<void> started;
  {
    weir::worker_pool p{{.workers = 1, .max_per_user = 0, .grace = 1ms}};
    auto never = [&started, c = counted()](task_context&) -> asio::awaitable<void> {
      counted local;
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      started.set_value();
      co_await sleep_for(1h);
    };
    BOOST_TEST(!p.submit(task_of("", std::move(never))));
    started.get_future().wait();
  }
  BOOST_TEST(counted::alive == 0);
}

BOOST_AUTO_TEST_CASE(the_last_handle_of_an_owning_pool_is_dropped_inside_a_task) {
  // The pool is joined by a thread of its own: the case waits until that has let go of it.
  struct last_word {
    std::promise<void>* said;
    explicit last_word(std::promise<void>& p) : said(&p) {}
    last_word(last_word&& other) noexcept : said(std::exchange(other.said, nullptr)) {}
    ~last_word() {
      if (said) said->set_value();
    }
  };
  std::promise<void> said;
  auto shared = std::make_shared<weir::worker_pool>(weir::pool_options{.workers = 2});
  auto& p = *shared;
  auto work = [word = last_word(said),
               last = std::move(shared)](task_context&) mutable -> asio::awaitable<void> {
    last.reset();
    co_return;
  };
  BOOST_TEST(!p.submit(task_of("ann", std::move(work))));
  said.get_future().wait();
}

// A sanitizer needs more address space than the limit leaves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
BOOST_AUTO_TEST_CASE(threads_that_cannot_all_be_started_are_a_clean_error) {
  // In a child, since the limit is for a whole process. Address space for some stacks, not for all.
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 1ULL << 30U;
    setrlimit(RLIMIT_AS, &limit);
    try {
      weir::worker_pool p{{.workers = 4096}};
    } catch (const std::system_error&) {
      _exit(0);
    } catch (const std::bad_alloc&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
