// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;

namespace {

/// Where the clock stands, counted from the start of the case.
struct stopwatch {
  explicit stopwatch(const weir::test::virtual_time& t) : time(t), start(t.now()) {}
  std::chrono::milliseconds operator()() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.now() - start);
  }
  const weir::test::virtual_time& time;
  weir::time_point start;
};

long long ms(weir::duration d) { return d / 1ms; }

}  // namespace

BOOST_AUTO_TEST_SUITE(virtual_time)

BOOST_AUTO_TEST_CASE(clock_stands_still_by_itself) {
  const weir::test::virtual_time time;
  const auto first = weir::steady_clock::now();
  const auto real = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - real < 1ms) continue;
  BOOST_TEST((weir::steady_clock::now() == first));
  BOOST_TEST((time.now() == first));
}

BOOST_AUTO_TEST_CASE(clock_starts_at_the_same_time_in_every_run) {
  const auto start = weir::test::virtual_time().now();
  weir::test::virtual_time time;
  BOOST_TEST((time.now() == start));
  time.run_for(1h);
  BOOST_TEST((time.now() == start + 1h));
}

BOOST_AUTO_TEST_CASE(run_without_work_returns_at_once) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  time.run();
  BOOST_TEST(ms(elapsed()) == 0);
}

BOOST_AUTO_TEST_CASE(timers_fire_in_order_of_expiry_each_at_its_time) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  std::vector<long long> fired;
  std::vector<std::unique_ptr<weir::steady_timer>> timers;
  for (const int delay : {70, 10, 50, 20, 60, 40, 30}) {
    timers.push_back(std::make_unique<weir::steady_timer>(time.get_executor(),
                                                          std::chrono::milliseconds(delay)));
    timers.back()->async_wait([&, delay](error_code ec) {
      BOOST_TEST(!ec);
      BOOST_TEST(ms(elapsed()) == delay);
      fired.push_back(delay);
    });
  }
  time.run();
  BOOST_TEST(fired == (std::vector<long long>{10, 20, 30, 40, 50, 60, 70}),
             boost::test_tools::per_element());
  BOOST_TEST(ms(elapsed()) == 70);
}

BOOST_AUTO_TEST_CASE(expiry_is_met_to_the_tick) {
  weir::test::virtual_time time;
  const auto start = time.now();
  weir::steady_timer timer(time.get_executor(), 1234567891ns);
  timer.async_wait([&](auto) { BOOST_TEST(((time.now() - start) == 1234567891ns)); });
  time.run();
  BOOST_TEST(((time.now() - start) == 1234567891ns));
}

BOOST_AUTO_TEST_CASE(timer_that_is_due_already_fires_without_moving_the_clock) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  int fired = 0;
  weir::steady_timer zero(time.get_executor(), 0s);
  weir::steady_timer past(time.get_executor(), -1h);
  zero.async_wait([&](error_code ec) { fired += ec ? 0 : 1; });
  past.async_wait([&](error_code ec) { fired += ec ? 0 : 1; });
  time.run();
  BOOST_TEST(fired == 2);
  BOOST_TEST(ms(elapsed()) == 0);
}

BOOST_AUTO_TEST_CASE(run_moves_the_clock_only_when_idle) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  weir::steady_timer timer(time.get_executor(), 1ms);
  bool fired = false;
  timer.async_wait([&](auto) { fired = true; });
  int left = 1000;
  std::function<void()> chain = [&] {
    BOOST_TEST_REQUIRE(ms(elapsed()) == 0);
    BOOST_TEST_REQUIRE(!fired);
    if (--left > 0) asio::post(time.get_executor(), chain);
  };
  asio::post(time.get_executor(), chain);
  time.run();
  BOOST_TEST(left == 0);
  BOOST_TEST(fired);
  BOOST_TEST(ms(elapsed()) == 1);
}

BOOST_AUTO_TEST_CASE(what_a_timer_starts_is_done_before_the_clock_moves_on) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  weir::steady_timer first(time.get_executor(), 10ms);
  weir::steady_timer second(time.get_executor(), 11ms);
  long long done_at = -1;
  first.async_wait([&](auto) {
    asio::post(time.get_executor(),
               [&] { asio::post(time.get_executor(), [&] { done_at = ms(elapsed()); }); });
  });
  second.async_wait([&](auto) { BOOST_TEST(done_at == 10); });
  time.run();
  BOOST_TEST(done_at == 10);
}

BOOST_AUTO_TEST_CASE(cancelled_timer_is_not_jumped_to) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  weir::steady_timer cancelled(time.get_executor(), 1h);
  weir::steady_timer kept(time.get_executor(), 10ms);
  std::optional<error_code> outcome;
  cancelled.async_wait([&](error_code ec) { outcome = ec; });
  kept.async_wait([&](auto) { cancelled.cancel(); });
  time.run();
  BOOST_TEST((outcome == error_code(asio::error::operation_aborted)));
  BOOST_TEST(ms(elapsed()) == 10);
}

BOOST_AUTO_TEST_CASE(earliest_timer_that_is_cancelled_makes_way_for_the_next) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  weir::steady_timer cancelled(time.get_executor(), 10ms);
  weir::steady_timer kept(time.get_executor(), 1h);
  cancelled.async_wait([&](auto) { BOOST_TEST(ms(elapsed()) == 0); });
  kept.async_wait([&](auto) { BOOST_TEST(ms(elapsed()) == ms(1h)); });
  asio::post(time.get_executor(), [&] { cancelled.cancel(); });
  time.run();
  BOOST_TEST(ms(elapsed()) == ms(1h));
}

BOOST_AUTO_TEST_CASE(destroyed_timer_is_not_jumped_to) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  auto timer = std::make_unique<weir::steady_timer>(time.get_executor(), 1h);
  timer->async_wait([](auto) {});
  asio::post(time.get_executor(), [&] { timer.reset(); });
  time.run();
  BOOST_TEST(ms(elapsed()) == 0);
}

BOOST_AUTO_TEST_CASE(timer_moved_earlier_fires_at_its_new_time) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  weir::steady_timer timer(time.get_executor(), 1h);
  int aborted = 0;
  timer.async_wait([&](error_code ec) { aborted += ec == asio::error::operation_aborted; });
  asio::post(time.get_executor(), [&] {
    timer.expires_after(5ms);
    timer.async_wait([&](error_code ec) {
      BOOST_TEST(!ec);
      BOOST_TEST(ms(elapsed()) == 5);
    });
  });
  time.run();
  BOOST_TEST(aborted == 1);
  BOOST_TEST(ms(elapsed()) == 5);
}

BOOST_AUTO_TEST_CASE(timer_rearmed_from_its_handler_keeps_its_beat) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  weir::steady_timer timer(time.get_executor());
  std::vector<long long> beats;
  std::function<void(error_code)> beat = [&](error_code ec) {
    BOOST_TEST(!ec);
    beats.push_back(ms(elapsed()));
    if (beats.size() == 5) return;
    timer.expires_at(timer.expiry() + 100ms);
    timer.async_wait(beat);
  };
  timer.expires_after(100ms);
  timer.async_wait(beat);
  time.run();
  BOOST_TEST(beats == (std::vector<long long>{100, 200, 300, 400, 500}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(day_passes_in_milliseconds) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  const auto real = std::chrono::steady_clock::now();
  weir::steady_timer timer(time.get_executor());
  int minutes = 0;
  std::function<void(error_code)> minute = [&](error_code) {
    if (++minutes == 24 * 60) return;
    timer.expires_after(1min);
    timer.async_wait(minute);
  };
  timer.expires_after(1min);
  timer.async_wait(minute);
  time.run();
  BOOST_TEST(ms(elapsed()) == ms(24h));
  BOOST_TEST(minutes == 24 * 60);
  // Milliseconds; the margin is for sanitizers on a busy machine.
  BOOST_TEST((std::chrono::steady_clock::now() - real < 5s));
}

BOOST_AUTO_TEST_CASE(same_program_takes_the_same_way_each_time) {
  const auto once = [] {
    weir::test::virtual_time time;
    const stopwatch elapsed(time);
    std::vector<std::string> log;
    std::vector<std::unique_ptr<weir::steady_timer>> timers;
    for (int i = 0; i < 50; ++i) {
      timers.push_back(std::make_unique<weir::steady_timer>(
          time.get_executor(), std::chrono::milliseconds(i * 37 % 11)));
      timers.back()->async_wait(
          [&, i](auto) { log.push_back(std::to_string(i) + "@" + std::to_string(ms(elapsed()))); });
    }
    time.run();
    return log;
  };
  const auto first = once();
  BOOST_TEST(first.size() == 50U);
  BOOST_TEST(once() == first, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(coroutines_and_strands_live_on_it) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  bool done = false;
  const auto nap = [](bool& flag) -> asio::awaitable<void> {
    weir::steady_timer timer(co_await asio::this_coro::executor);
    for (int i = 0; i < 3; ++i) {
      timer.expires_after(2s);
      co_await timer.async_wait(asio::deferred);
    }
    flag = true;
  };
  asio::co_spawn(asio::make_strand(time.get_executor()), nap(done), asio::detached);
  time.run();
  BOOST_TEST(done);
  BOOST_TEST(ms(elapsed()) == 6000);
}

BOOST_AUTO_TEST_CASE(work_that_nothing_can_end_is_a_deadlock_with_a_report) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  const auto guard = asio::make_work_guard(time.get_executor());
  const auto real = std::chrono::steady_clock::now();
  try {
    time.run();
    BOOST_ERROR("it returned");
  } catch (const weir::test::deadlock_error& e) {
    BOOST_TEST(std::string(e.what()).find("no timer is pending") != std::string::npos, e.what());
  }
  BOOST_TEST(ms(elapsed()) == 0);
  // At once: it does not wait for real events first.
  BOOST_TEST((std::chrono::steady_clock::now() - real < 1s));
}

BOOST_AUTO_TEST_CASE(deadlock_is_found_only_after_the_last_timer_and_says_when) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  const auto guard = asio::make_work_guard(time.get_executor());
  weir::steady_timer timer(time.get_executor(), 1500ms);
  bool fired = false;
  timer.async_wait([&](auto) { fired = true; });
  try {
    time.run();
    BOOST_ERROR("it returned");
  } catch (const weir::test::deadlock_error& e) {
    BOOST_TEST(std::string(e.what()).find("+1500.000 ms") != std::string::npos, e.what());
  }
  BOOST_TEST(fired);
  BOOST_TEST(ms(elapsed()) == 1500);
}

BOOST_AUTO_TEST_CASE(run_goes_on_after_a_deadlock_was_resolved) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  auto guard = asio::make_work_guard(time.get_executor());
  BOOST_CHECK_THROW(time.run(), weir::test::deadlock_error);
  weir::steady_timer timer(time.get_executor(), 1s);
  timer.async_wait([&](auto) { guard.reset(); });
  time.run();
  BOOST_TEST(ms(elapsed()) == 1000);
}

BOOST_AUTO_TEST_CASE(timer_that_never_expires_is_no_way_out_of_a_deadlock) {
  // On the real clock nothing would ever happen here.
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  weir::steady_timer never(time.get_executor(), weir::time_point::max());
  bool fired = false;
  never.async_wait([&](error_code ec) { fired = !ec; });
  BOOST_CHECK_THROW(time.run(), weir::test::deadlock_error);
  BOOST_TEST(!fired);
  BOOST_TEST(ms(elapsed()) == 0);
}

BOOST_AUTO_TEST_CASE(run_can_be_repeated_and_time_adds_up) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  for (int round = 1; round <= 3; ++round) {
    weir::steady_timer timer(time.get_executor(), 10ms);
    bool fired = false;
    timer.async_wait([&](auto) { fired = true; });
    time.run();
    BOOST_TEST(fired);
    BOOST_TEST(ms(elapsed()) == 10 * round);
  }
  time.run();
  BOOST_TEST(ms(elapsed()) == 30);
}

BOOST_AUTO_TEST_CASE(run_for_stands_exactly_at_the_end) {
  weir::test::virtual_time time;
  const auto start = time.now();
  time.run_for(1234567ns);
  BOOST_TEST(((time.now() - start) == 1234567ns));

  weir::steady_timer before(time.get_executor(), 3ms);
  weir::steady_timer after(time.get_executor(), 1h);
  bool early = false;
  bool late = false;
  before.async_wait([&](auto) { early = true; });
  after.async_wait([&](error_code ec) { late = !ec; });
  time.run_for(10ms);
  BOOST_TEST(((time.now() - start) == 11234567ns));
  BOOST_TEST(early);
  BOOST_TEST(!late);
}

BOOST_AUTO_TEST_CASE(run_for_settles_what_is_due_at_exactly_its_end) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  std::vector<int> done;
  weir::steady_timer at_end(time.get_executor(), 10ms);
  weir::steady_timer just_after(time.get_executor(), 10ms + 1ns);
  weir::steady_timer follower(time.get_executor());
  at_end.async_wait([&](auto) {
    done.push_back(1);
    follower.expires_after(0s);
    follower.async_wait([&](auto) { asio::post(time.get_executor(), [&] { done.push_back(2); }); });
  });
  just_after.async_wait([&](error_code ec) {
    if (!ec) done.push_back(3);
  });
  time.run_for(10ms);
  BOOST_TEST(done == (std::vector<int>{1, 2}), boost::test_tools::per_element());
  BOOST_TEST(ms(elapsed()) == 10);
  time.run_for(1ns);
  BOOST_TEST(done == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(run_for_nothing_settles_what_is_ready) {
  weir::test::virtual_time time;
  const auto start = time.now();
  bool ran = false;
  asio::post(time.get_executor(), [&] { ran = true; });
  time.run_for(0s);
  BOOST_TEST(ran);
  BOOST_TEST((time.now() == start));
}

BOOST_AUTO_TEST_CASE(run_for_does_not_mind_work_that_is_left) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  const auto guard = asio::make_work_guard(time.get_executor());
  time.run_for(10ms);
  BOOST_TEST(ms(elapsed()) == 10);
}

BOOST_AUTO_TEST_CASE(run_for_ever_stops_at_the_last_time_point) {
  weir::test::virtual_time time;
  time.run_for(weir::duration::max());
  BOOST_TEST((time.now() == weir::time_point::max()));
}

BOOST_AUTO_TEST_CASE(settle_leaves_the_clock_alone_and_counts) {
  weir::test::virtual_time time;
  const auto start = time.now();
  weir::steady_timer timer(time.get_executor(), 1ms);
  bool fired = false;
  timer.async_wait([&](error_code ec) { fired = !ec; });
  for (int i = 0; i < 3; ++i) asio::post(time.get_executor(), [] {});
  BOOST_TEST(time.settle() == 3U);
  BOOST_TEST(time.settle() == 0U);
  BOOST_TEST(!fired);
  BOOST_TEST((time.now() == start));
}

BOOST_AUTO_TEST_CASE(exception_of_a_handler_comes_out_and_run_can_go_on) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  weir::steady_timer timer(time.get_executor(), 1s);
  timer.async_wait([](auto) { throw std::runtime_error("of the handler"); });
  weir::steady_timer later(time.get_executor(), 2s);
  later.async_wait([](auto) {});
  BOOST_CHECK_THROW(time.run(), std::runtime_error);
  BOOST_TEST(ms(elapsed()) == 1000);
  time.run();
  BOOST_TEST(ms(elapsed()) == 2000);
}

BOOST_AUTO_TEST_CASE(one_inside_another_goes_on_where_the_outer_stands_and_hands_the_time_back) {
  weir::test::virtual_time outer;
  const stopwatch elapsed(outer);
  weir::steady_timer first(outer.get_executor(), 1s);
  weir::steady_timer late(outer.get_executor(), 2s);
  weir::steady_timer last(outer.get_executor(), 20s);
  std::vector<long long> fired;
  first.async_wait([&](auto) {
    weir::test::virtual_time inner;
    BOOST_TEST((inner.now() == outer.now()));
    weir::steady_timer nap(inner.get_executor(), 9s);
    nap.async_wait([&](auto) { fired.push_back(1); });
    inner.run();
    BOOST_TEST((inner.elapsed() == 9s));
    BOOST_TEST((weir::steady_clock::now() == inner.now()));
  });
  late.async_wait([&](error_code ec) {
    BOOST_TEST(!ec);
    fired.push_back(2);
    BOOST_TEST(ms(elapsed()) == 10'000);
  });
  last.async_wait([&](auto) { fired.push_back(3); });
  outer.run();
  BOOST_TEST(fired == (std::vector<long long>{1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(ms(elapsed()) == 20'000);
}

BOOST_AUTO_TEST_CASE(one_may_be_made_in_the_other_and_used_while_it_exists) {
  weir::test::virtual_time outer;
  for (int round = 0; round < 3; ++round) {
    weir::test::virtual_time inner;
    inner.run_for(1h);
  }
  BOOST_TEST((outer.elapsed() == 3h));
  BOOST_TEST((weir::steady_clock::now() == outer.now()));
}

BOOST_AUTO_TEST_CASE(handler_may_advance_the_time_itself) {
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  weir::steady_timer timer(time.get_executor(), 10ms);
  bool fired = false;
  timer.async_wait([&](auto) { fired = true; });
  asio::post(time.get_executor(), [&] {
    time.advance(20ms);
    BOOST_TEST(fired);
    BOOST_TEST(ms(elapsed()) == 20);
  });
  time.run();
  BOOST_TEST(ms(elapsed()) == 20);
}

BOOST_AUTO_TEST_CASE(advance_settles_each_thing_that_is_due_at_its_own_time) {
  weir::test::virtual_time time;
  std::vector<long long> beats;
  const stopwatch elapsed(time);
  time.spawn("beat", [&]() -> asio::awaitable<void> {
    weir::steady_timer timer(co_await asio::this_coro::executor);
    for (int i = 0; i < 5; ++i) {
      timer.expires_after(3ms);
      co_await timer.async_wait(asio::deferred);
      beats.push_back(ms(elapsed()));
    }
  });
  time.advance(10ms);
  BOOST_TEST(beats == (std::vector<long long>{3, 6, 9}), boost::test_tools::per_element());
  time.advance(10ms);
  BOOST_TEST(beats.size() == 5U);
  BOOST_TEST(ms(elapsed()) == 20);
}

BOOST_AUTO_TEST_CASE(several_contexts_share_one_clock) {
  asio::io_context own;
  weir::test::virtual_time time;
  const stopwatch elapsed(time);
  asio::io_context& second = time.make_context();
  time.adopt(own);
  std::vector<int> order;
  weir::steady_timer a(time.get_executor(), 30ms);
  weir::steady_timer b(second, 10ms);
  weir::steady_timer c(own, 20ms);
  a.async_wait([&](auto) { order.push_back(3); });
  b.async_wait([&](auto) {
    order.push_back(1);
    BOOST_TEST(ms(elapsed()) == 10);
    // Work that goes from one to the other settles before the clock moves.
    asio::post(own, [&] {
      asio::post(time.get_executor(), [&] {
        order.push_back(11);
        BOOST_TEST(ms(elapsed()) == 10);
      });
    });
  });
  c.async_wait([&](auto) {
    order.push_back(2);
    BOOST_TEST(ms(elapsed()) == 20);
  });
  time.run();
  BOOST_TEST(order == (std::vector<int>{1, 11, 2, 3}), boost::test_tools::per_element());
  time.let_go(own);
}

BOOST_AUTO_TEST_CASE(what_a_spawned_coroutine_throws_comes_out_of_run) {
  weir::test::virtual_time time;
  time.spawn([]() -> asio::awaitable<void> {
    weir::steady_timer timer(co_await asio::this_coro::executor, 1s);
    co_await timer.async_wait(asio::deferred);
    throw std::runtime_error("of the coroutine");
  });
  BOOST_TEST(time.alive().size() == 1U);
  BOOST_CHECK_EXCEPTION(time.run(), std::runtime_error,
                        [](const auto& e) { return std::string(e.what()) == "of the coroutine"; });
  BOOST_TEST(time.alive().empty());
  BOOST_TEST((time.elapsed() == 1s));
}

BOOST_AUTO_TEST_CASE(program_that_waits_for_a_socket_is_told_so) {
  weir::test::virtual_time time;
  asio::ip::tcp::acceptor acceptor(time.get_executor(), {asio::ip::address_v4::loopback(), 0});
  acceptor.async_accept([](auto...) {});
  BOOST_CHECK_EXCEPTION(time.run(), weir::test::deadlock_error, [](const auto& e) {
    BOOST_TEST(std::string(e.what()).find("a socket, is waited for") != std::string::npos,
               e.what());
    return true;
  });
}

BOOST_AUTO_TEST_CASE(program_that_waits_on_the_real_clock_is_told_so) {
  weir::test::virtual_time time;
  asio::steady_timer timer(time.get_executor(), 1min);
  timer.async_wait([](auto) {});
  BOOST_CHECK_EXCEPTION(time.run(), weir::test::deadlock_error, [](const auto& e) {
    BOOST_TEST(std::string(e.what()).find("a timer on the real clock") != std::string::npos,
               e.what());
    return true;
  });
}

BOOST_AUTO_TEST_CASE(program_that_waits_for_a_thread_is_told_so) {
  weir::test::virtual_time time;
  const auto guard = asio::make_work_guard(time.get_executor());
  std::promise<void> end;
  std::thread thread([&] { end.get_future().wait(); });
  std::string report;
  try {
    time.run();
  } catch (const weir::test::deadlock_error& e) {
    report = e.what();
  }
  end.set_value();
  thread.join();
  BOOST_TEST(report.find("more threads exist") != std::string::npos, report);
}

BOOST_AUTO_TEST_CASE(clock_goes_on_after_destruction) {
  {
    weir::test::virtual_time time;
    time.run_for(24h);
    BOOST_TEST((weir::steady_clock::now() == time.now()));
  }
  const auto before = std::chrono::steady_clock::now();
  const auto shown = weir::steady_clock::now();
  BOOST_TEST((before <= shown && shown <= std::chrono::steady_clock::now()));
}

BOOST_AUTO_TEST_CASE(destruction_drops_what_is_pending_without_running_it) {
  auto alive = std::make_shared<int>();
  bool ran = false;
  {
    weir::test::virtual_time time;
    weir::steady_timer timer(time.get_executor(), 1h);
    timer.async_wait([&ran, alive](auto) { ran = true; });
    asio::post(time.get_executor(), [&ran, alive] { ran = true; });
    BOOST_TEST(alive.use_count() == 3);
  }
  BOOST_TEST(!ran);
  BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(what_is_destroyed_with_it_still_sees_its_time) {
  struct witness {
    weir::time_point& seen;
    ~witness() { seen = weir::steady_clock::now(); }
  };
  weir::time_point seen;
  weir::time_point last;
  {
    weir::test::virtual_time time;
    time.run_for(1h);
    last = time.now();
    asio::post(time.get_executor(), [w = std::unique_ptr<witness>(new witness{seen})] {});
  }
  BOOST_TEST((seen == last));
}

BOOST_AUTO_TEST_SUITE_END()
