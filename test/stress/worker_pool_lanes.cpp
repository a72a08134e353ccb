// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Lanes on real threads: what the tasks of a lane share they share without a lock, which is what
// ThreadSanitizer looks at.

#include "pool_fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace weir_test;

BOOST_AUTO_TEST_SUITE(worker_pool_lanes_stress)

namespace {

/// What the tasks of a lane share.
struct shared {
  int last = -1;
  bool inside = false;
  int out_of_order = 0;
  int at_once = 0;

  void enter(int number) {
    if (inside) ++at_once;
    if (number <= last) ++out_of_order;
    inside = true;
    last = number;
  }
  void leave() { inside = false; }
};

struct guard {
  guard(shared& s, int number) : lane(s) { lane.enter(number); }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  ~guard() { lane.leave(); }
  shared& lane;
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_lane_runs_in_order_under_racing_submitters_deadlines_and_sheds) {
  constexpr int lanes = 6;  // each with a submitter of its own, so that its order is known
  weir::worker_pool p{{.workers = 3,
                       .threads = 3,
                       .queue_size = 40,
                       .max_per_user = 0,
                       .max_per_lane = 12,
                       .task_timeout = 1ms,
                       .max_queue_wait = 2ms,
                       .grace = 1ms}};
  std::array<shared, lanes> state;
  std::atomic<int> submitting{lanes};
  std::vector<std::thread> threads;
  for (int me = 0; me < lanes; ++me)
    threads.emplace_back([&, me] {
      for (int i = 0; i < 800; ++i) {
        auto work = [&s = state[static_cast<std::size_t>(me)],
                     i](task_context&) -> asio::awaitable<void> {
          const guard in(s, i);
          if (i % 32 == 0) co_await sleep_for(2ms);  // cut short by its deadline
          if (i % 4 == 0) co_await sleep_for(10us);
          if (i % 64 == 1) throw std::runtime_error("as told");
        };
        std::ignore = p.submit({.fn = std::move(work), .lane = std::to_string(me)});
        if (i % 8 == 0) std::this_thread::sleep_for(20us);
      }
      --submitting;
    });
  while (submitting.load() != 0) {
    const weir::pool_metrics m = p.metrics();
    if (m.in_lane > m.queued || m.lanes > lanes) BOOST_ERROR("the books do not balance");
    for (const weir::task_info& t : p.dump().tasks)
      if (t.lane.size() != 1) BOOST_ERROR("no lane");
  }
  for (std::thread& t : threads) t.join();
  p.async_shutdown({}, asio::use_future).get();
  const weir::pool_metrics m = p.metrics();
  check_at_rest(m);
  BOOST_TEST(m.offered() == 800U * lanes);
  BOOST_TEST(m.lanes == 0U);
  for (const shared& s : state) {
    BOOST_TEST(s.at_once == 0);
    BOOST_TEST(s.out_of_order == 0);
  }
}

BOOST_AUTO_TEST_CASE(callers_who_give_up_in_a_lane_get_one_answer_each_and_hold_up_nobody) {
  weir::worker_pool p{{.workers = 3, .threads = 3, .queue_size = 5000, .max_per_user = 0}};
  asio::thread_pool callers(2);
  constexpr int rounds = 3000;
  std::array<shared, 3> state;
  std::atomic<int> answers{0}, ran{0};
  std::latch done(rounds);
  for (int i = 0; i < rounds; ++i) {
    auto strand = asio::make_strand(callers);
    auto signal = std::make_shared<asio::cancellation_signal>();
    asio::post(strand, [&, strand, signal, i] {
      const auto lane = static_cast<std::size_t>(i % 3);
      auto work = [&s = state[lane], &ran](task_context&) {
        const guard in(s, s.last + 1);
        ran.fetch_add(1);
      };
      auto on_end = [&, signal](const std::exception_ptr& e) {
        const auto ec = code_of(e);
        if (!ec || ec == asio::error::operation_aborted) answers.fetch_add(1);
        done.count_down();
      };
      co_spawn(p, {.lane = std::to_string(lane)}, std::move(work),
               asio::bind_cancellation_slot(signal->slot(),
                                            asio::bind_executor(strand, std::move(on_end))));
    });
    if (i % 2 == 0)
      asio::post(strand, [signal] { signal->emit(asio::cancellation_type::terminal); });
  }
  done.wait();
  callers.join();
  p.async_shutdown({}, asio::use_future).get();
  BOOST_TEST(answers.load() == rounds);
  BOOST_TEST(ran.load() >= rounds / 2);
  for (const shared& s : state) BOOST_TEST(s.at_once == 0);
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_CASE(a_worker_is_never_lost_between_a_lane_and_the_queue) {
  // Each round leaves a full queue of tasks that follow; what waits for room must come in and run
  // as they do. A wake-up that is lost would leave the future waiting.
  weir::worker_pool p{{.workers = 4, .threads = 4, .queue_size = 2, .max_per_user = 0}};
  for (int i = 0; i < 3000; ++i) {
    const auto laned = [] { return weir::task{.fn = [](task_context&) {}, .lane = "x"}; };
    for (int k = 0; k < 2; ++k) std::ignore = p.submit(laned());
    std::vector<std::future<void>> futures;
    futures.push_back(p.async_submit(laned(), asio::use_future));
    futures.push_back(p.async_submit({.fn = [](task_context&) {}}, asio::use_future));
    for (auto& f : futures) f.get();
  }
  const auto report = p.async_shutdown({}, asio::use_future).get();
  BOOST_TEST(report.drained);
  check_at_rest(p.metrics());
}

BOOST_AUTO_TEST_SUITE_END()
