// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Tasks of one lane: one after another, whatever becomes of each of them.

#include "allocation_counter.hpp"
#include "pool_fixture.hpp"

#include <weir/on_pool.hpp>
#include <weir/test/for_each_seed.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace weir_test;
using weir::discipline;

BOOST_FIXTURE_TEST_SUITE(worker_pool_lanes, virtual_pool)

namespace {

template <typename F>
weir::task in_lane(std::string lane, F&& f, std::string id = {}) {
  return {.id = std::move(id), .fn = std::forward<F>(f), .lane = std::move(lane)};
}

/// Notes its name when it starts, and takes a millisecond or so.
auto noting(std::string& order, char name, weir::duration length = 1ms) {
  return [&order, name, length](task_context&) -> asio::awaitable<void> {
    order.push_back(name);
    return sleep_for(length);
  };
}

auto deaf(weir::duration length) {
  return [length](task_context&) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(length);
  };
}

std::string states(const weir::worker_pool& p) {
  std::string out;
  for (const weir::task_info& t : p.dump().tasks)
    out += t.id + ' ' + t.lane + ": " + std::string(to_string(t.state)) + '\n';
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(tasks_of_a_lane_run_in_order_one_at_a_time_and_others_beside_them) {
  auto& p = make({.workers = 4, .max_per_user = 0});
  std::string order;
  for (const char name : {'a', 'b', 'c'}) p.submit(in_lane("x", noting(order, name)));
  for (const char name : {'1', '2', '3'}) p.submit(in_lane("y", noting(order, name)));
  p.submit(task_of("", noting(order, '-')));
  time.settle();
  BOOST_TEST(order == "a1-");
  BOOST_TEST(p.metrics().active == 3U);
  BOOST_TEST(p.metrics().queued == 4U);
  BOOST_TEST(p.metrics().in_lane == 4U);
  BOOST_TEST(p.metrics().lanes == 2U);
  time.run_for(1ms);
  BOOST_TEST(order == "a1-b2");
  time.run();
  BOOST_TEST((order == "a1-b2c3" || order == "a1-b23c"));
  BOOST_TEST(p.metrics().lanes == 0U);
  BOOST_TEST((p.metrics().queue_wait.max() == 2ms));  // from acceptance, in the lane or not
}

BOOST_AUTO_TEST_CASE(a_hot_lane_keeps_another_waiting_for_one_task) {
  for (const auto how :
       {discipline::fifo, discipline::priority, discipline::fair, discipline::fair_priority}) {
    auto& p = make({.workers = 1, .queue_size = 2000, .max_per_user = 0, .discipline = how});
    int hot = 0;
    int at_most = 1;
    for (int i = 0; i < 1000; ++i)
      p.submit(in_lane("hot", [&hot](task_context&) -> asio::awaitable<void> {
        ++hot;
        return sleep_for(1ms);
      }));
    time.run_for(10ms - 1us);
    for (int round = 0; round < 3; ++round) {
      int seen = -1;
      const int before = hot;
      p.submit(in_lane("cold", [&](task_context&) { seen = hot - before; }));
      time.run_for(1ms);
      BOOST_TEST(seen >= 0);
      at_most = std::max(at_most, seen);
    }
    BOOST_TEST(at_most == 1);
    BOOST_TEST(p.metrics().queued > 900U);
    time.run();
  }
}

BOOST_AUTO_TEST_CASE(many_hot_lanes_take_turns) {
  auto& p = make({.workers = 1, .queue_size = 100, .max_per_user = 0});
  std::string order;
  for (const char lane : {'a', 'b', 'c'})
    for (int i = 0; i < 3; ++i) p.submit(in_lane(std::string(1, lane), noting(order, lane)));
  time.run();
  BOOST_TEST(order == "abcabcabc");
}

BOOST_AUTO_TEST_CASE(order_of_a_lane_is_kept_against_priorities) {
  auto& p =
      make({.workers = 1, .queue_size = 10, .max_per_user = 0, .discipline = discipline::priority});
  std::string order;
  p.submit(task_of("", noting(order, '-')));
  time.settle();
  for (const auto& [name, priority] : std::map<char, int>{{'a', 0}, {'b', 7}}) {
    weir::task t = in_lane("x", noting(order, name));
    t.priority = priority;
    p.submit(std::move(t));
  }
  weir::task other = in_lane("y", noting(order, 'o'));
  other.priority = 3;
  p.submit(std::move(other));
  time.run();
  BOOST_TEST(order == "-oab");
}

BOOST_AUTO_TEST_CASE(next_runs_whatever_became_of_the_one_before) {
  auto& p = make({.workers = 2, .max_per_user = 0});
  std::string order;
  asio::cancellation_signal give_up;
  noted cancelled;
  p.submit(in_lane("x", [&](task_context&) { order += 'r'; }));
  p.submit(in_lane("x", [&](task_context&) {
    order += 't';
    throw std::runtime_error("no");
  }));
  weir::task late = in_lane("x", noting(order, 'd', 1h));
  late.timeout = 5ms;
  p.submit(std::move(late));
  weir::co_spawn(p, {.lane = "x"}, noting(order, 'c', 1h),
                 asio::bind_cancellation_slot(give_up.slot(), cancelled.handler()));
  p.submit(in_lane("x", noting(order, 'e')));
  time.settle();
  BOOST_TEST(order == "rtd");
  time.run_for(5ms);
  BOOST_TEST(order == "rtdc");
  give_up.emit(asio::cancellation_type::partial);
  time.settle();
  BOOST_TEST(*cancelled.code == asio::error::operation_aborted);
  BOOST_TEST(order == "rtdce");
}

BOOST_AUTO_TEST_CASE(a_queued_task_leaves_its_lane_at_once_and_the_order_of_the_others_is_kept) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    // Where the first runs, those after it follow; where it is queued too, it is given up as well.
    for (const int workers : {1, 2}) {
      virtual_pool::make({.workers = workers, .max_per_user = 1});
      auto& p = *pool;
      std::string order;
      if (workers == 1) p.submit({.user = "other", .fn = sleeper(1ms)});
      time.settle();
      std::array<noted, 4> n;
      std::array<asio::cancellation_signal, 4> signals;
      for (std::size_t i = 0; i < n.size(); ++i)
        weir::co_spawn(p, {.user = std::to_string(i), .lane = "x"},
                       noting(order, static_cast<char>('a' + i)),
                       asio::bind_cancellation_slot(signals[i].slot(), n[i].handler()));
      time.settle();
      const std::size_t users = p.metrics().users;
      signals[2].emit(type);
      if (workers == 1) signals[0].emit(type);
      BOOST_TEST(!n[2].ended());  // posted
      time.settle();
      BOOST_TEST(*n[2].code == asio::error::operation_aborted);
      BOOST_TEST(p.metrics().users == users - (workers == 1 ? 2 : 1));
      time.run();
      BOOST_TEST(order == (workers == 1 ? "bd" : "abd"));
    }
  }
}

BOOST_AUTO_TEST_CASE(lane_has_as_many_as_it_may_queued_running_and_waiting_for_room) {
  auto& p = make({.workers = 1, .queue_size = 2, .max_per_user = 0, .max_per_lane = 2});
  BOOST_TEST(!p.submit(in_lane("x", sleeper(1ms))));
  time.settle();
  BOOST_TEST(!p.submit(in_lane("x", nothing())));
  BOOST_TEST(p.submit(in_lane("x", nothing())) == errc::lane_limit_reached);
  noted spawned, waits, full;
  weir::co_spawn(p, {.lane = "x"}, nothing(), spawned.handler());
  BOOST_TEST(!p.submit(in_lane("y", nothing())));
  p.async_submit(in_lane("y", nothing()), waits.handler());
  p.async_submit(in_lane("y", nothing()), full.handler());
  time.settle();
  BOOST_TEST(*spawned.code == errc::lane_limit_reached);
  BOOST_TEST(*full.code == errc::lane_limit_reached);  // does not wait for what it cannot have
  BOOST_TEST(!waits.ended());
  BOOST_TEST(p.submit(in_lane("x", nothing())) == errc::queue_full);  // that is looked at first
  BOOST_TEST(p.metrics().rejected.lane_limit == 3U);
  BOOST_TEST(p.metrics().rejected.queue_full == 1U);
  BOOST_TEST(p.metrics().offered() == 7U);
  time.run();
  BOOST_TEST(!*waits.code);
  BOOST_TEST(p.metrics().completed == 4U);
  BOOST_TEST(!p.submit(in_lane("x", nothing())));
}

BOOST_AUTO_TEST_CASE(room_that_was_reserved_is_kept_when_the_lane_is_full) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 0, .max_per_lane = 1});
  p.submit(in_lane("x", sleeper(1ms)));
  time.settle();
  weir::pool_room room;
  p.async_reserve([&room](error_code, weir::pool_room r) { room = std::move(r); });
  time.settle();
  BOOST_TEST(p.submit(room, in_lane("x", nothing())) == errc::lane_limit_reached);
  BOOST_TEST(p.metrics().reserved == 1U);
  BOOST_TEST(!p.submit(room, in_lane("y", nothing())));
  BOOST_TEST(p.metrics().reserved == 0U);
  time.run();
  BOOST_TEST(p.metrics().completed == 2U);
}

BOOST_AUTO_TEST_CASE(who_waits_for_room_keeps_its_order_in_the_lane_and_may_give_up) {
  auto& p = make({.workers = 2, .queue_size = 1, .max_per_user = 0});
  std::string order;
  p.submit(in_lane("x", noting(order, 'a')));
  time.settle();
  p.submit(in_lane("x", noting(order, 'b')));
  asio::cancellation_signal give_up;
  noted c, d, e;
  p.async_submit(in_lane("x", noting(order, 'c')), c.handler());
  p.async_submit(in_lane("x", noting(order, 'd')),
                 asio::bind_cancellation_slot(give_up.slot(), d.handler()));
  p.async_submit(in_lane("x", noting(order, 'e')), e.handler());
  time.settle();
  give_up.emit(asio::cancellation_type::total);
  time.run();
  BOOST_TEST(*d.code == asio::error::operation_aborted);
  BOOST_TEST(order == "abce");
}

BOOST_AUTO_TEST_CASE(worker_at_rest_takes_what_gets_room_from_one_that_followed) {
  // The queue is full of tasks that follow one which runs: three workers rest meanwhile.
  for (const bool shed : {false, true}) {
    virtual_pool::make(
        {.workers = 4, .queue_size = 2, .max_per_user = 0, .max_queue_wait = shed ? 10ms : 0ms});
    auto& p = *pool;
    std::string order;
    asio::cancellation_signal give_up;
    noted follower;
    p.submit(in_lane("x", noting(order, 'a', 1s)));
    time.settle();
    weir::co_spawn(p, {.lane = "x"}, noting(order, 'b'),
                   asio::bind_cancellation_slot(give_up.slot(), follower.handler()));
    time.run_for(1ms);
    p.submit(in_lane("x", noting(order, 'c', 1s)));
    p.async_submit(task_of("", noting(order, '-')), asio::detached);
    time.settle();
    BOOST_TEST(p.metrics().waiting == 1U);
    BOOST_TEST(order == "a");
    if (shed)
      time.run_for(9ms);
    else
      give_up.emit(asio::cancellation_type::total);
    time.settle();
    BOOST_TEST(order == "a-");
    BOOST_TEST(*follower.code ==
               (shed ? error_code(errc::queue_wait_expired) : asio::error::operation_aborted));
    time.run();
  }
}

BOOST_AUTO_TEST_CASE(one_that_follows_is_shed_when_it_has_waited_too_long_since_it_was_accepted) {
  auto& p = make({.workers = 4, .queue_size = 10, .max_per_user = 0, .max_queue_wait = 10ms});
  std::string order;
  p.submit(in_lane("x", noting(order, 'a', 8ms)));
  for (const char name : {'b', 'c', 'd'}) p.submit(in_lane("x", noting(order, name, 8ms)));
  time.run_for(5ms);
  p.submit(in_lane("x", noting(order, 'e', 1ms)));
  time.run_for(5ms - 1us);
  BOOST_TEST(p.metrics().shed == 0U);
  BOOST_TEST(order == "ab");
  time.run_for(1us);
  BOOST_TEST(p.metrics().shed == 2U);  // the two that follow; their time in the lane counts
  time.run();
  BOOST_TEST(p.metrics().shed == 3U);  // b ends at 16 ms, e has waited for 10 at 15
  BOOST_TEST(order == "ab");
  // Whoever follows is the first to be too late, though another stands in the queue.
  auto& q = make({.workers = 1, .queue_size = 10, .max_per_user = 0, .max_queue_wait = 10ms});
  q.submit(in_lane("x", sleeper(1h)));
  q.submit(in_lane("x", nothing()));
  time.run_for(5ms);
  q.submit(task_of("", nothing()));
  time.run_for(5ms);
  BOOST_TEST(q.metrics().shed == 1U);
  BOOST_TEST(q.metrics().in_lane == 0U);
  time.run_for(5ms);
  BOOST_TEST(q.metrics().shed == 2U);
  q.async_shutdown({.deadline = 0s}, asio::detached);
}

BOOST_AUTO_TEST_CASE(a_retry_inside_keeps_the_lane_and_a_new_submission_goes_to_its_end) {
  auto& p = make({.workers = 2, .max_per_user = 0});
  std::string order;
  p.submit(in_lane("x", [&](task_context&) -> asio::awaitable<void> {
    for (int attempt = 0; attempt < 3; ++attempt) {
      order += 'r';
      co_await sleep_for(1ms);
    }
    p.submit(in_lane("x", noting(order, 's')));
  }));
  p.submit(in_lane("x", noting(order, 'b')));
  time.run();
  BOOST_TEST(order == "rrrbs");
}

BOOST_AUTO_TEST_CASE(a_stuck_task_holds_its_lane_until_its_frame_ends) {
  auto& p = make({.workers = 2, .max_per_user = 0, .task_timeout = 1ms, .grace = 2ms});
  std::string order;
  noted answered;
  weir::co_spawn(p, {.lane = "x"}, deaf(1s), answered.handler());
  p.submit(in_lane("x", noting(order, 'b', 0ms)));
  time.run_for(500ms);
  BOOST_TEST(*answered.code == errc::task_timed_out);
  BOOST_TEST(p.metrics().stuck == 1U);
  BOOST_TEST(order.empty());
  time.run_for(500ms);
  BOOST_TEST(order == "b");
}

BOOST_AUTO_TEST_CASE(dump_shows_lanes_and_who_waits_in_them) {
  auto& p = make({.workers = 1, .max_per_user = 0, .name = "jobs"});
  p.submit(in_lane("x", sleeper(1ms), "a"));
  time.settle();
  p.submit(in_lane("x", nothing(), "b"));
  p.submit(in_lane("y", nothing(), "c"));
  p.submit({.id = "d", .fn = nothing()});
  BOOST_TEST(states(p) == "a x: running\nb x: in lane\nc y: queued\nd : queued\n");
  std::ostringstream text;
  text << p.dump();
  BOOST_TEST(text.str().find("in lane  'b' of '', priority 0, age 0.000s, lane 'x', from") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(lanes_come_with_each_way_to_hand_over_a_task) {
  auto& p = make({.workers = 4, .queue_size = 10, .max_per_user = 0});
  std::string order;
  p.submit(in_lane("x", noting(order, 'a')));
  p.async_submit(in_lane("x", noting(order, 'b')), asio::detached);
  weir::co_spawn(p, {.lane = "x"}, noting(order, 'c'), asio::detached);
  asio::co_spawn(
      time.context(),
      [&]() -> asio::awaitable<void> {
        co_await weir::co_spawn(p, {.lane = "x"}, noting(order, 'd'), asio::use_awaitable);
        auto member = weir::on(p, {.lane = "x"}, noting(order, 'f'));
        co_await member();
      },
      asio::detached);
  time.settle();
  p.submit(in_lane("x", noting(order, 'e')));
  BOOST_TEST(order == "a");
  time.run();
  BOOST_TEST(order == "abcdef");
}

BOOST_AUTO_TEST_CASE(shutdown_drains_lanes_in_order) {
  auto& p = make({.workers = 4, .max_per_user = 0});
  std::string order;
  for (const char name : {'a', 'b', 'c'}) p.submit(in_lane("x", noting(order, name)));
  noted ended;
  p.async_shutdown({.deadline = 1s}, ended.handler());
  time.run();
  BOOST_TEST(order == "abc");
  BOOST_TEST(ended.calls == 1);
}

BOOST_AUTO_TEST_CASE(shutdown_abandons_those_that_follow_and_cancels_the_one_that_runs) {
  for (const bool at_once : {true, false}) {
    virtual_pool::make({.workers = 1, .queue_size = 3, .max_per_user = 0});
    auto& p = *pool;
    p.submit(in_lane("x", sleeper(1h), "runs"));
    time.settle();
    noted follows, waits;
    weir::co_spawn(p, {.id = "follows", .lane = "x"}, nothing(), follows.handler());
    p.submit(in_lane("y", nothing(), "queued"));
    p.submit(in_lane("y", nothing(), "behind it"));
    p.async_submit(in_lane("x", nothing()), waits.handler());
    std::optional<weir::shutdown_report> report;
    p.async_shutdown({.deadline = 1ms, .abandon = at_once},
                     [&](error_code, weir::shutdown_report r) { report = std::move(r); });
    time.settle();
    BOOST_TEST(*waits.code == errc::pool_closed);
    BOOST_TEST(follows.ended() == at_once);
    time.run();
    BOOST_TEST(*follows.code == errc::shutdown_cancelled);
    const std::vector<std::string> expected{"queued", "behind it", "follows"};
    BOOST_REQUIRE(report);
    BOOST_TEST(report->abandoned == expected, boost::test_tools::per_element());
    BOOST_TEST(p.metrics().lanes == 0U);
  }
}

BOOST_AUTO_TEST_CASE(pool_and_context_are_destroyed_in_either_order_with_lanes_in_every_state) {
  for (const bool context_first : {false, true}) {
    auto context = std::make_unique<asio::io_context>(1);
    auto p = std::make_unique<weir::worker_pool>(
        context->get_executor(),
        weir::pool_options{.workers = 2, .queue_size = 3, .max_per_user = 0});
    noted running, follows, queued;
    const auto holds = [c = counted()](task_context&) -> asio::awaitable<void> {
      const counted local;
      co_await sleep_for(1h);
    };
    weir::co_spawn(*p, {.lane = "x"}, holds, running.handler());
    p->submit(in_lane("y", holds));
    context->poll();
    weir::co_spawn(*p, {.lane = "x"}, holds, follows.handler());
    weir::co_spawn(*p, {.lane = "z"}, holds, queued.handler());
    p->submit(in_lane("z", holds));
    p->async_submit(in_lane("z", holds), asio::detached);
    if (context_first) context.reset();
    p.reset();
    if (context) {
      context->restart();
      context->run();
      BOOST_TEST(*follows.code == errc::shutdown_cancelled);
      BOOST_TEST(*queued.code == errc::shutdown_cancelled);
      BOOST_TEST(*running.code == errc::shutdown_cancelled);
    }
    context.reset();
    BOOST_TEST(counted::alive == 1);
  }
}

BOOST_AUTO_TEST_CASE(lanes_that_come_and_go_allocate_nothing_and_tasks_without_one_never_do) {
  auto& p = make({.workers = 1, .queue_size = 20, .max_per_user = 0});
  std::size_t runs = 0;
  const auto fill = [&](const char* lane) {
    const allocation_counter counter;
    for (int i = 0; i < 10; ++i)
      std::ignore = p.submit({.fn = [&runs](task_context&) { ++runs; }, .lane = lane});
    return counter.count();
  };
  BOOST_TEST(fill("first lane with a name of some length") > 0U);
  time.run();
  BOOST_TEST(fill("") == 0U);
  time.run();
  BOOST_TEST(fill("short") == 0U);
  time.run();
  BOOST_TEST(runs == 30U);
}

namespace {

struct lane_in_use {
  int running = 0;
  std::size_t handed_over = 0;
  std::size_t last_started = 0;
};

/// Stands in the frame of a task of the lane.
struct alone_in_lane {
  alone_in_lane(lane_in_use& l, std::size_t number) : lane(l) {
    BOOST_TEST_REQUIRE(++lane.running == 1);
    BOOST_TEST_REQUIRE(lane.last_started < number);
    lane.last_started = number;
  }
  alone_in_lane(const alone_in_lane&) = delete;
  alone_in_lane& operator=(const alone_in_lane&) = delete;
  ~alone_in_lane() { --lane.running; }
  lane_in_use& lane;
};

/// Tasks of two lanes come by each way, and end in each; callers give up, room is short, and the
/// pool may end meanwhile.
///
/// \param awaited whether callers await: an initiation that throws, where memory is
/// short, throws out of whatever resumes the coroutine
void lanes_at_any_moment(weir::test::simulation& sim, bool awaited) {
  auto& draw = sim.draw();
  const weir::pool_options options{.workers = draw.between(1, 3),
                                   .queue_size = draw.between(1, 6),
                                   .max_per_user = draw.between(0, 3),
                                   .max_per_lane = draw.between(0, 3),
                                   .task_timeout = 3ms,
                                   .max_queue_wait = draw.between(0, 1) * 2ms,
                                   .grace = 1ms,
                                   .answer_after = draw.between(0, 1) * 1ms};
  std::map<std::string, lane_in_use> lanes;
  std::optional<weir::worker_pool> made;
  while (!made) try {
      made.emplace(sim.get_executor(), options);
    } catch (const std::bad_alloc&) {
      continue;
    }
  weir::worker_pool& p = *made;
  const auto body = [&lanes, &draw](const std::string& name) {
    lane_in_use& lane = lanes[name];
    return [&lane, number = ++lane.handed_over, how = draw.below(4),
            length = draw.between(0, 3) * 1ms](task_context&) -> asio::awaitable<void> {
      const alone_in_lane guard(lane, number);
      if (how == 0) co_return;
      if (how == 1) throw std::runtime_error("as told");
      if (how == 2)
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      co_await sleep_for(length);
    };
  };
  for (int i = 0; i < 8; ++i)
    sim.spawn([&, user = std::string(1, static_cast<char>('a' + i % 3)),
               name = std::string(1, static_cast<char>('x' + draw.below(2))),
               start = draw.between(0, 3) * 1ms, door = draw.below(3)]() -> asio::awaitable<void> {
      co_await sleep_for(start);
      weir::task t{.user = user, .fn = {}, .lane = name};
      try {
        if (door == 0) {
          t.fn = body(name);
          std::ignore = p.submit(std::move(t));
        } else if (door == 1 && !awaited) {
          t.fn = body(name);
          p.async_submit(std::move(t), [](error_code) {});
        } else if (door == 1) {
          t.fn = body(name);
          auto op = p.async_submit(std::move(t), asio::use_awaitable);
          co_await std::move(op);
        } else if (!awaited) {
          weir::co_spawn(p, {.user = user, .lane = name}, body(name),
                         [](const std::exception_ptr&) {});
        } else {
          auto work = body(name);
          co_await weir::co_spawn(p, {.user = user, .lane = name}, std::move(work),
                                  asio::use_awaitable);
        }
      } catch (const std::bad_alloc&) {      // as injected
      } catch (const std::runtime_error&) {  // a refusal, an end before its time, or as told
      }
    });
  if (draw.chance(0.5)) {
    sim.run_for(draw.between(0, 3) * 1ms);
    p.async_shutdown({.deadline = draw.between(0, 3) * 1ms, .abandon = draw.chance(0.3)},
                     [](error_code, const weir::shutdown_report&) {});
  }
  sim.run();
  check_at_rest(p.metrics());
  BOOST_TEST_REQUIRE(p.metrics().lanes == 0U);
  BOOST_TEST_REQUIRE(p.metrics().in_lane == 0U);
  for (const auto& [name, lane] : lanes) BOOST_TEST_REQUIRE(lane.running == 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(lanes_keep_their_order_whoever_gives_up_when) {
  weir::test::for_each_seed(2000,
                            [](weir::test::simulation& sim) { lanes_at_any_moment(sim, true); },
                            {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_CASE(lanes_keep_their_order_where_memory_runs_out) {
  weir::test::for_each_seed(500,
                            [](weir::test::simulation& sim) { lanes_at_any_moment(sim, false); },
                            {.simulation = {.cancel = 0.1, .fail_allocation = 0.05}});
}

BOOST_AUTO_TEST_SUITE_END()
