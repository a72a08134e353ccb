// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The pool on real threads, for the sanitizers: races between what virtual time runs in turn.

#include "pool_fixture.hpp"

#include <weir/pool_observer.hpp>
#include <weir/semaphore.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <barrier>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace weir_test;

BOOST_AUTO_TEST_SUITE(worker_pool_stress)

namespace {

/// Runs `body(i)` on `n` threads that start together, and joins them.
template <typename F>
void together(int n, F body) {
  std::barrier start(n);
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i)
    threads.emplace_back([&start, &body, i] {
      start.arrive_and_wait();
      body(i);
    });
  for (auto& t : threads) t.join();
}

void raise_to(std::atomic<int>& peak, int value) {
  int seen = peak.load();
  while (seen < value && !peak.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_books_balance_under_sixteen_racing_submitters_and_a_shutdown) {
  for (const bool abandon : {false, true}) {
    weir::worker_pool p{{.workers = 4, .threads = 4, .queue_size = 50, .max_per_user = 6}};
    std::atomic<std::uint64_t> accepted{0}, refused{0}, ran{0};
    std::future<weir::shutdown_report> report;
    together(17, [&](int me) {
      if (me == 16) {
        while (accepted.load() < 500) std::this_thread::yield();
        report = p.async_shutdown({.deadline = 10s, .abandon = abandon}, asio::use_future);
        return;
      }
      const std::string user = "user " + std::to_string(me % 5);
      for (bool open = true; open;) {
        const auto ec = p.submit(task_of(user, [&ran](task_context&) -> asio::awaitable<void> {
          ran.fetch_add(1);
          co_return;
        }));
        (ec ? refused : accepted).fetch_add(1);
        open = ec != errc::pool_closed;
      }
    });
    const auto r = report.get();
    const auto m = p.metrics();
    check_at_rest(m);
    BOOST_TEST(m.submitted == accepted.load());
    BOOST_TEST(m.rejected.total() == refused.load());
    BOOST_TEST(m.completed == ran.load());
    BOOST_TEST(accepted.load() == ran.load() + r.abandoned.size());
    BOOST_TEST(r.stuck.empty());
  }
}

BOOST_AUTO_TEST_CASE(each_task_is_told_of_once_whatever_order_sheds_dumps_and_deadlines_race) {
  struct books final : weir::pool_observer {
    std::atomic<std::uint64_t> started{0}, ended{0}, shed{0}, stuck{0}, rejected{0};
    void on_task_started(const weir::task_event&) noexcept override { ++started; }
    void on_task_ended(const weir::task_event&, weir::task_outcome,
                       error_code why) noexcept override {
      ++ended;
      if (why == errc::queue_wait_expired) ++shed;
    }
    void on_task_stuck(const weir::task_event&) noexcept override { ++stuck; }
    void on_rejected(std::string_view, error_code) noexcept override { ++rejected; }
  };
  using weir::discipline;
  for (const auto how : {discipline::fifo, discipline::priority, discipline::fair_priority}) {
    const auto told = std::make_shared<books>();
    weir::worker_pool p{{.workers = 3,
                         .threads = 3,
                         .queue_size = 40,
                         .max_per_user = 0,
                         .task_timeout = 2ms,
                         .max_queue_wait = 1ms,
                         .grace = 1ms,
                         .discipline = how,
                         .aging = 1ms,
                         .weights = {{"user 1", 3}},
                         .observer = told}};
    std::atomic<int> submitting{6};
    together(7, [&](int me) {
      if (me == 6) {
        while (submitting.load() != 0) {
          const weir::pool_metrics m = p.metrics();
          if (m.submitted !=
              m.queued + m.active + m.completed + m.failed + m.timed_out + m.cancelled)
            BOOST_ERROR("the books do not balance");
          for (const weir::task_info& t : p.dump().tasks)
            if (!t.id.starts_with("task-")) BOOST_ERROR("no name");
        }
        return;
      }
      for (int i = 0; i < 400; ++i) {
        weir::task t =
            task_of("user " + std::to_string(me % 3), [i](task_context&) -> asio::awaitable<void> {
              // Some are cut short, and some do not listen.
              if (i % 16 == 0)
                co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
              co_await sleep_for(i % 8 == 0 ? 4ms : 50us);
            });
        t.priority = i % 5 - 2;
        std::ignore = p.submit(std::move(t));
        if (i % 4 == 0) std::this_thread::sleep_for(50us);
      }
      --submitting;
    });
    p.async_shutdown({}, asio::use_future).get();
    const weir::pool_metrics m = p.metrics();
    check_at_rest(m);
    BOOST_TEST(m.stuck == 0U);
    BOOST_TEST(told->ended.load() == m.submitted);
    BOOST_TEST(told->shed.load() == m.shed);
    BOOST_TEST(told->rejected.load() == m.rejected.total());
    BOOST_TEST(told->started.load() == m.queue_wait.count());
    BOOST_TEST(m.run_time.count() == m.queue_wait.count());
    BOOST_TEST(m.submitted == m.shed + m.run_time.count());
  }
}

BOOST_AUTO_TEST_CASE(overload_sheds_tasks_while_callers_give_up_and_the_pool_is_shut_down) {
  struct ends final : weir::pool_observer {
    void on_task_ended(const weir::task_event& t, weir::task_outcome,
                       error_code) noexcept override {
      const std::lock_guard lock(mutex);
      ++of[std::string(t.id)];
    }
    std::mutex mutex;
    std::map<std::string, int> of;
  };
  using weir::discipline;
  for (const auto how : {discipline::fifo, discipline::fair_priority})
    for (const bool abandon : {false, true}) {
      const auto told = std::make_shared<ends>();
      weir::worker_pool p{{.workers = 3,
                           .threads = 3,
                           .queue_size = 60,
                           .max_per_user = 20,
                           .max_queue_wait = 8ms,
                           .codel = {.target = 1ms, .interval = 4ms},
                           .discipline = how,
                           .observer = told}};
      asio::thread_pool callers(2);
      constexpr int submitters = 6;
      std::array<std::set<std::string>, submitters> accepted;
      std::atomic<int> submitting{submitters}, asked{0}, answers{0};
      std::future<weir::shutdown_report> report;
      together(submitters + 1, [&](int me) {
        if (me == submitters) {
          bool closed = false;
          while (submitting.load() != 0) {
            const weir::pool_metrics m = p.metrics();
            if (m.submitted !=
                    m.queued + m.active + m.completed + m.failed + m.timed_out + m.cancelled ||
                m.shed > m.cancelled || m.shed_codel > m.shed)
              BOOST_ERROR("the books do not balance");
            if (closed || m.shed_codel < 50 || m.completed < 50 || answers.load() < 50) continue;
            report = p.async_shutdown({.deadline = 10s, .abandon = abandon}, asio::use_future);
            closed = true;
          }
          return;
        }
        const std::string user = "user " + std::to_string(me % 4);
        const auto work = [c = counted()](task_context&) -> asio::awaitable<void> {
          const counted local;
          co_await sleep_for(300us);
        };
        error_code ec;
        for (int i = 0; ec != errc::pool_closed; ++i) {
          weir::task t = task_of(user, work);
          t.id = std::to_string(me) + '/' + std::to_string(i);
          std::string id = t.id;
          ec = p.submit(std::move(t));
          if (!ec) accepted[static_cast<std::size_t>(me)].insert(std::move(id));
          if (i % 4 != 0) continue;
          // One who waits for the end, and may give up first: on a strand, as the rules want it.
          auto strand = asio::make_strand(callers);
          auto signal = std::make_shared<asio::cancellation_signal>();
          auto on_end = [&answers, signal](const std::exception_ptr&) { answers.fetch_add(1); };
          auto token = asio::bind_cancellation_slot(signal->slot(),
                                                    asio::bind_executor(strand, std::move(on_end)));
          asked.fetch_add(1);
          asio::post(strand, [&p, user, work, token = std::move(token)]() mutable {
            co_spawn(p, {.id = "asked", .user = user}, work, std::move(token));
          });
          if (i % 8 == 0)
            asio::post(strand, [signal] { signal->emit(asio::cancellation_type::terminal); });
          while (asked.load() - answers.load() > 100) std::this_thread::yield();
        }
        submitting.fetch_sub(1);
      });
      report.get();
      callers.join();
      const weir::pool_metrics m = p.metrics();
      check_at_rest(m);
      BOOST_TEST(answers.load() == asked.load());
      BOOST_TEST(m.failed + m.timed_out == 0U);
      BOOST_TEST((m.shed <= m.cancelled && m.shed_codel <= m.shed));
      // Each that was accepted has come to one end, and nobody else to any.
      auto left = static_cast<std::uint64_t>(told->of["asked"]);
      told->of.erase("asked");
      for (const auto& ids : accepted)
        for (const std::string& id : ids) {
          const auto end = told->of.find(id);
          BOOST_TEST_REQUIRE((end != told->of.end() && end->second == 1), id);
          told->of.erase(end);
          ++left;
        }
      BOOST_TEST(told->of.empty());
      BOOST_TEST(left == m.submitted);
      BOOST_TEST(counted::alive == 0);
    }
}

BOOST_AUTO_TEST_CASE(tasks_that_hold_their_threads_are_told_of_by_their_own_names_under_load) {
  struct ear final : weir::pool_observer {
    void on_task_hogging(const weir::task_event& t, weir::duration held) noexcept override {
      if (t.id.substr(0, 1) != t.user || held < 1ms) ++wrong;
      ++told;
    }
    std::atomic<std::uint64_t> told{0}, wrong{0};
  };
  const auto heard = std::make_shared<ear>();
  weir::worker_pool p{{.workers = 4,
                       .threads = 4,
                       .queue_size = 40,
                       .max_per_user = 0,
                       .hog_after = 1ms,
                       .observer = heard}};
  std::atomic<int> submitting{4};
  std::atomic<std::uint64_t> accepted{0};
  together(5, [&](int me) {
    if (me == 4) {
      while (submitting.load() != 0) {
        if (p.metrics().hogging > 4) BOOST_ERROR("more hogs than workers");
        for (const weir::task_info& t : p.dump().tasks)
          if (t.hogs < 0s || t.id.substr(0, 1) != t.user) BOOST_ERROR("no such task");
      }
      return;
    }
    const std::string user = std::to_string(me);
    for (int i = 0; i < 300;) {
      weir::task t = task_of(user, [&heard, i](task_context&) -> asio::awaitable<void> {
        if (i == 0)
          while (heard->told.load() == 0) std::this_thread::yield();
        // About as long as it takes to be told of: many end, and others start, just then.
        if (i % 4 == 0) std::this_thread::sleep_for(700us + i % 7 * 200us);
        if (i % 4 == 1) co_await sleep_for(2ms);
        if (i % 4 == 2)
          co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
      });
      t.id = user + '/' + std::to_string(i);
      if (p.submit(std::move(t))) {
        std::this_thread::yield();
      } else {
        accepted.fetch_add(1);
        ++i;
      }
    }
    submitting.fetch_sub(1);
  });
  BOOST_TEST(p.async_shutdown({.deadline = 1min}, asio::use_future).get().drained);
  while (p.metrics().hogging != 0) std::this_thread::yield();
  const weir::pool_metrics m = p.metrics();
  check_at_rest(m);
  BOOST_TEST(m.completed == accepted.load());
  BOOST_TEST(heard->wrong.load() == 0U);
  BOOST_TEST(heard->told.load() >= 1U);
  BOOST_TEST(heard->told.load() <= m.hogged);
}

BOOST_AUTO_TEST_CASE(dump_shows_each_task_that_stays_once_whatever_comes_and_goes) {
  weir::worker_pool p{{.workers = 42, .threads = 2, .queue_size = 1000, .max_per_user = 0}};
  weir::semaphore last(p.get_executor(), 1, "last");
  weir::permit held = last.try_acquire();
  const auto stay = [&last](task_context&) -> asio::awaitable<void> {
    co_await last.async_acquire(asio::use_awaitable);
  };
  // Forty that run, and in the lane of the first of them eighty that follow.
  for (int i = 0; i < 40; ++i)
    BOOST_TEST_REQUIRE(!p.submit({.id = "stays", .fn = stay, .lane = i == 0 ? "lane" : ""}));
  for (int i = 0; i < 80; ++i)
    BOOST_TEST_REQUIRE(!p.submit({.id = "follows", .fn = stay, .lane = "lane"}));
  std::atomic<int> dumping{2};
  together(4, [&](int me) {
    if (me < 2) {
      for (int i = 0; i < 60; ++i) {
        int stay_on = 0;
        int follow = 0;
        std::set<std::string> others;
        const weir::task_dump d = p.dump();
        for (const weir::task_info& t : d.tasks) {
          if (t.id == "stays")
            ++stay_on;
          else if (t.id == "follows")
            ++follow;
          else if (!others.insert(t.id).second)
            BOOST_ERROR("a task is shown twice");
        }
        if (stay_on != 40 || follow != 80) BOOST_ERROR("one that is there is not shown");
      }
      --dumping;
      return;
    }
    // Those that come and go do so by way of a lane, the queue, and a worker, while they are
    // looked at.
    for (int i = 0; dumping.load() != 0; ++i) {
      const auto nothing = [](task_context&) -> asio::awaitable<void> { co_return; };
      std::ignore = p.submit({.fn = nothing, .lane = i % 2 == 0 ? std::to_string(i % 16) : ""});
    }
  });
  held.release();
  p.async_shutdown({}, asio::use_future).get();
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(no_limit_is_exceeded_at_any_instant) {
  constexpr int workers = 3;
  constexpr int cap = 2;
  weir::worker_pool p{{.workers = workers, .threads = 4, .queue_size = 8, .max_per_user = cap}};
  std::atomic<int> now{0}, peak{0};
  std::array<std::atomic<int>, 4> per_user{};
  std::array<std::atomic<int>, 4> per_user_peak{};
  std::atomic<int> accepted{0};
  together(16, [&](int me) {
    const auto u = static_cast<std::size_t>(me % 4);
    for (int i = 0; i < 300; ++i) {
      auto work = [&, u](task_context&) -> asio::awaitable<void> {
        raise_to(peak, now.fetch_add(1) + 1);
        raise_to(per_user_peak[u], per_user[u].fetch_add(1) + 1);
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        per_user[u].fetch_sub(1);
        now.fetch_sub(1);
      };
      if (!p.submit(task_of("user " + std::to_string(u), std::move(work)))) accepted.fetch_add(1);
    }
  });
  p.async_shutdown({}, asio::use_future).get();
  BOOST_TEST(peak.load() <= workers);
  for (const auto& seen : per_user_peak) BOOST_TEST(seen.load() <= cap);
  BOOST_TEST(p.metrics().completed == static_cast<std::uint64_t>(accepted.load()));
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(limits_within_limits_hold_while_submitters_race_and_callers_give_up) {
  constexpr int tenant_cap = 3;
  constexpr int user_cap = 2;
  weir::worker_pool p{{.workers = 6,
                       .threads = 4,
                       .queue_size = 8,
                       .max_per_user = user_cap,
                       .max_queued_per_user = 1,
                       .max_per_tenant = tenant_cap}};
  asio::thread_pool callers(2);
  std::array<std::atomic<int>, 2> of_tenant{}, of_tenant_peak{};
  std::array<std::atomic<int>, 8> of_user{}, of_user_peak{};
  std::atomic<std::uint64_t> answers{0}, refused{0};
  constexpr std::uint64_t rounds = 16 * 150;
  together(16, [&](int me) {
    const auto u = static_cast<std::size_t>(me % 8);
    const std::size_t t = u % 2;
    const std::string name = "tenant " + std::to_string(t) + "/user " + std::to_string(u);
    for (int i = 0; i < 150; ++i) {
      auto work = [&, u, t](task_context&) -> asio::awaitable<void> {
        raise_to(of_tenant_peak[t], of_tenant[t].fetch_add(1) + 1);
        raise_to(of_user_peak[u], of_user[u].fetch_add(1) + 1);
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        of_user[u].fetch_sub(1);
        of_tenant[t].fetch_sub(1);
      };
      auto strand = asio::make_strand(callers);
      auto signal = std::make_shared<asio::cancellation_signal>();
      asio::post(strand, [&, strand, signal, name, work = std::move(work)]() mutable {
        weir::task task = task_of(name, std::move(work));
        p.async_submit(std::move(task),
                       asio::bind_cancellation_slot(
                           signal->slot(), asio::bind_executor(strand, [&, signal](error_code ec) {
                             if (ec) refused.fetch_add(1);
                             answers.fetch_add(1);
                           })));
      });
      if (i % 2 == 0)
        asio::post(strand, [signal] { signal->emit(asio::cancellation_type::terminal); });
    }
  });
  callers.join();
  p.async_shutdown({}, asio::use_future).get();
  for (const auto& seen : of_tenant_peak) BOOST_TEST(seen.load() <= tenant_cap);
  for (const auto& seen : of_user_peak) BOOST_TEST(seen.load() <= user_cap);
  BOOST_TEST(answers.load() == rounds);
  const auto m = p.metrics();
  BOOST_TEST(m.rejected.total() == refused.load());
  BOOST_TEST(m.completed == rounds - refused.load());
  check_at_rest(m);
}

BOOST_AUTO_TEST_CASE(a_pool_is_resized_up_and_down_under_load) {
  constexpr int most = 5;
  weir::worker_pool p{{.workers = 2, .threads = 4, .queue_size = 16, .max_per_user = 0}};
  std::atomic<int> now{0}, peak{0}, submitters{8};
  std::atomic<std::uint64_t> accepted{0};
  together(9, [&](int me) {
    if (me == 8) {
      std::mt19937 random(1);
      while (submitters.load() != 0) p.resize(static_cast<int>(random() % (most + 1)));
      p.resize(1);
      return;
    }
    for (int i = 0; i < 600; ++i) {
      auto work = [&, i](task_context&) -> asio::awaitable<void> {
        raise_to(peak, now.fetch_add(1) + 1);
        if (i % 16 == 0) p.resize(1 + i % most);
        if (i % 4 == 0) co_await sleep_for(std::chrono::microseconds(10));
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        now.fetch_sub(1);
      };
      if (p.submit(task_of("", std::move(work))))
        std::this_thread::yield();
      else
        accepted.fetch_add(1);
    }
    submitters.fetch_sub(1);
  });
  const auto report = p.async_shutdown({.deadline = 1min}, asio::use_future).get();
  BOOST_TEST(report.drained);
  BOOST_TEST(peak.load() <= most);
  BOOST_TEST(p.metrics().completed == accepted.load());
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(growth_is_never_lost_between_the_last_look_and_the_parking_of_a_worker) {
  // Each round leaves the pool at one worker with a task that waits for another: only the growth
  // can let it end.
  weir::worker_pool p{{.workers = 1, .threads = 3, .max_per_user = 0}};
  for (int i = 0; i < 5000; ++i) {
    auto first = std::make_shared<std::promise<void>>();
    auto waits = [told = first->get_future().share()](task_context&) { told.wait(); };
    auto tells = [first](task_context&) { first->set_value(); };
    auto one = co_spawn(p, {}, std::move(waits), asio::use_future);
    auto two = co_spawn(p, {}, std::move(tells), asio::use_future);
    p.resize(2);
    one.get();
    two.get();
    p.resize(1);
  }
  BOOST_TEST(p.metrics().completed == 10'000U);
}

BOOST_AUTO_TEST_CASE(stand_ins_come_and_go_as_tasks_block_their_threads_beyond_the_grace) {
  constexpr int workers = 2;
  constexpr int stand_ins = 2;
  weir::worker_pool p{{.workers = workers,
                       .queue_size = 1000,
                       .max_per_user = 0,
                       .task_timeout = 1ms,
                       .grace = 500us,
                       .stuck_replacements = stand_ins}};
  std::atomic<int> now{0}, peak{0};
  for (int i = 0; i < 300; ++i) {
    // Some end just when they become stuck.
    auto work = [&, length = i % 3 == 0 ? 1500us + i % 4 * 1ms : 100us](task_context&) {
      raise_to(peak, now.fetch_add(1) + 1);
      std::this_thread::sleep_for(length);
      now.fetch_sub(1);
    };
    BOOST_TEST(!p.submit(task_of("", work)));
  }
  const auto report = p.async_shutdown({.deadline = 1min}, asio::use_future).get();
  BOOST_TEST(report.drained);
  BOOST_TEST(peak.load() <= workers + stand_ins);
  const weir::pool_metrics m = p.metrics();
  check_at_rest(m);
  BOOST_TEST(m.submitted == 300U);
  BOOST_TEST((m.stuck == 0U && m.stand_ins == 0U));
}

BOOST_AUTO_TEST_CASE(timed_tasks_on_many_threads_have_one_outcome_each) {
  weir::worker_pool p{{.workers = 8, .threads = 4, .queue_size = 1000, .max_per_user = 0}};
  std::vector<std::future<void>> futures;
  for (int i = 0; i < 400; ++i)
    futures.push_back(co_spawn(p, {.timeout = std::chrono::microseconds(500 + i % 7 * 100)},
                               sleeper(std::chrono::microseconds(500 + i % 5 * 150)),
                               asio::use_future));
  std::uint64_t completed = 0, timed_out = 0;
  for (auto& f : futures) try {
      f.get();
      ++completed;
    } catch (const boost::system::system_error& e) {
      BOOST_TEST(e.code() == errc::task_timed_out);
      ++timed_out;
    }
  p.async_shutdown({}, asio::use_future).get();  // an answer may come ahead of the end
  BOOST_TEST(p.metrics().completed == completed);
  BOOST_TEST(p.metrics().timed_out == timed_out);
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(cancels_that_race_completion_give_one_answer_each) {
  weir::worker_pool p{{.workers = 4, .threads = 3, .queue_size = 5000, .max_per_user = 0}};
  asio::thread_pool callers(2);
  std::atomic<int> answers{0};
  constexpr int rounds = 3000;
  std::latch done(rounds);
  for (int i = 0; i < rounds; ++i) {
    // A caller on a strand of its own, as the rules of cancellation want it.
    auto strand = asio::make_strand(callers);
    auto signal = std::make_shared<asio::cancellation_signal>();
    asio::post(strand, [&, strand, signal, i] {
      auto on_end = [&, signal](const std::exception_ptr& e) {
        const auto ec = code_of(e);
        if (!ec || ec == asio::error::operation_aborted) answers.fetch_add(1);
        done.count_down();
      };
      co_spawn(p, {}, sleeper(std::chrono::microseconds(i % 3)),
               asio::bind_cancellation_slot(signal->slot(),
                                            asio::bind_executor(strand, std::move(on_end))));
    });
    asio::post(strand, [signal] { signal->emit(asio::cancellation_type::terminal); });
  }
  done.wait();
  callers.join();
  p.async_shutdown({}, asio::use_future).get();  // an answer may come ahead of the end
  BOOST_TEST(answers.load() == rounds);
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(producers_that_wait_and_give_up_lose_no_place) {
  weir::worker_pool p{{.workers = 2, .threads = 2, .queue_size = 2, .max_per_user = 0}};
  asio::thread_pool callers(2);
  std::atomic<int> accepted{0}, given_up{0};
  constexpr int producers = 8;
  constexpr int each = 100;
  std::latch done(producers);
  for (int i = 0; i < producers; ++i) {
    auto strand = asio::make_strand(callers);
    auto producer = [&, strand, i]() -> asio::awaitable<void> {
      for (int k = 0; k < each; ++k) {
        asio::cancellation_signal signal;
        if ((i + k) % 3 == 0)
          asio::post(strand, [&signal] { signal.emit(asio::cancellation_type::total); });
        auto op = p.async_submit(task_of("", nothing()),
                                 asio::bind_cancellation_slot(signal.slot(), asio::use_awaitable));
        try {
          co_await std::move(op);
          accepted.fetch_add(1);
        } catch (const boost::system::system_error& e) {
          if (e.code() == asio::error::operation_aborted) given_up.fetch_add(1);
        }
        // What was posted refers to the signal: it runs before this.
        co_await asio::post(strand, asio::use_awaitable);
      }
    };
    asio::co_spawn(strand, producer, [&](const std::exception_ptr&) { done.count_down(); });
  }
  done.wait();
  callers.join();
  const auto r = p.async_shutdown({}, asio::use_future).get();
  BOOST_TEST(r.drained);
  BOOST_TEST(accepted.load() + given_up.load() == producers * each);
  BOOST_TEST(p.metrics().completed == static_cast<std::uint64_t>(accepted.load()));
  BOOST_TEST(p.metrics().rejected.cancelled == static_cast<std::uint64_t>(given_up.load()));
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(pools_come_and_go) {
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> runs{0};
    int accepted = 0;
    {
      weir::worker_pool p{{.workers = 2, .threads = 2, .queue_size = 4, .max_per_user = 0}};
      for (int i = 0; i < 6; ++i)
        if (!p.submit(task_of("", [&runs](task_context&) { runs.fetch_add(1); }))) ++accepted;
      if (round % 2 == 0) {
        auto one = p.async_shutdown({}, asio::use_future);
        auto two = p.async_shutdown({}, asio::use_future);
        BOOST_TEST(one.get().drained);
        BOOST_TEST(two.get().drained);
        BOOST_TEST(runs.load() == accepted);
      }
    }
    BOOST_TEST(runs.load() <= accepted);
  }
}

BOOST_AUTO_TEST_CASE(an_idle_pool_always_wakes) {
  // One task at a time, each submitted when the pool has gone idle or is about to: a wake-up that
  // is lost would leave the future waiting, and the case to its time limit.
  weir::worker_pool p{{.workers = 3, .threads = 3, .max_per_user = 0}};
  for (int i = 0; i < 20'000; ++i)
    co_spawn(
        p, {}, [](task_context&) {}, asio::use_future)
        .get();
  BOOST_TEST(p.metrics().completed == 20'000U);
}

BOOST_AUTO_TEST_CASE(pools_are_destroyed_with_work_in_every_state) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::future<void>> futures;
    {
      weir::worker_pool p{
          {.workers = 3, .threads = 2, .queue_size = 8, .max_per_user = 0, .grace = 10s}};
      for (int i = 0; i < 8; ++i) {
        auto work = [c = counted(),
                     kind = random() % 3](task_context& ctx) -> asio::awaitable<void> {
          counted local;
          if (kind == 0) co_await sleep_for(1h);
          if (kind == 1)  // does not keep the processor from whoever is to stop it
            while (!ctx.stop_token().stop_requested()) std::this_thread::sleep_for(50us);
        };
        futures.push_back(co_spawn(p, {.timeout = 1min}, std::move(work), asio::use_future));
      }
      for (auto spin = random() % 2000; spin > 0; --spin) std::this_thread::yield();
    }
    // A future is set on a thread of Asio's own, which may come to it a moment later.
    for (auto& f : futures) BOOST_TEST((f.wait_for(1min) == std::future_status::ready));
    BOOST_REQUIRE(counted::alive == 0);
  }
}

BOOST_AUTO_TEST_CASE(the_last_handle_is_dropped_inside_a_task_again_and_again) {
  struct last_word {
    explicit last_word(std::latch& l) : said(&l) {}
    last_word(const last_word&) = delete;
    last_word& operator=(const last_word&) = delete;
    ~last_word() { said->count_down(); }
    std::latch* said;
  };
  for (int round = 0; round < 50; ++round) {
    std::latch said(1);
    auto shared = std::make_shared<weir::worker_pool>(
        weir::pool_options{.workers = 2, .threads = 2, .max_per_user = 0});
    auto& p = *shared;
    auto word = std::make_unique<last_word>(said);
    auto work = [word = std::move(word),
                 last = std::move(shared)](task_context&) mutable -> asio::awaitable<void> {
      last.reset();
      co_return;
    };
    BOOST_TEST(!p.submit(task_of("", std::move(work))));
    said.wait();
  }
}

BOOST_AUTO_TEST_CASE(a_borrowed_pool_of_several_threads_keeps_each_task_on_a_strand) {
  asio::thread_pool threads(3);
  weir::worker_pool p(threads.get_executor(), {.workers = 6, .queue_size = 500, .max_per_user = 0});
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 200; ++i) {
    auto work = [](task_context&) -> asio::awaitable<int> {
      int steps = 0;  // no lock: the strand is what keeps the two sides of each await apart
      const auto executor = co_await asio::this_coro::executor;
      for (int k = 0; k < 10; ++k) {
        asio::post(executor, [&steps] { ++steps; });
        co_await asio::post(executor, asio::use_awaitable);
      }
      co_return steps;
    };
    futures.push_back(co_spawn(p, {}, work, asio::use_future));
  }
  for (auto& f : futures) BOOST_TEST(f.get() == 10);
  p.async_shutdown({}, asio::use_future).get();
  check_at_rest(p.metrics());
  threads.join();
}

BOOST_AUTO_TEST_CASE(contexts_of_callers_end_the_moment_they_have_their_answer) {
  weir::worker_pool p{{.workers = 2, .max_per_user = 0}};
  int answers = 0;
  for (int i = 0; i < 2000; ++i) {
    // Destroyed when it has run out of work, while the worker may still be waking it.
    asio::io_context context(1);
    co_spawn(
        p, {}, [](task_context&) { return 1; },
        asio::bind_executor(context, [&](const std::exception_ptr&, int n) { answers += n; }));
    context.run();
  }
  BOOST_TEST(answers == 2000);
}

BOOST_AUTO_TEST_CASE(tokens_are_polled_while_deadlines_and_shutdowns_fire) {
  for (int round = 0; round < 20; ++round) {
    weir::worker_pool p{{.workers = 4, .threads = 4, .queue_size = 50, .max_per_user = 0}};
    std::atomic<int> stopped{0};
    for (int i = 0; i < 40; ++i) {
      auto work = [&stopped, i](task_context& ctx) {
        const auto token = ctx.stop_token();
        const std::stop_token standard = i % 2 ? std::stop_token(token) : std::stop_token();
        while (!token.stop_requested() && !standard.stop_requested()) std::this_thread::yield();
        stopped.fetch_add(1);
      };
      BOOST_TEST(!p.submit(task_of("", work, std::chrono::microseconds(50 + i * 20))));
    }
    p.async_shutdown({.deadline = 1ms}, asio::use_future).get();
    const auto m = p.metrics();
    check_at_rest(m);
    BOOST_TEST(static_cast<std::uint64_t>(stopped.load()) == m.timed_out + m.completed);
  }
}

BOOST_AUTO_TEST_SUITE_END()
