// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sleep_for.hpp"

#include <weir/adaptive_limit.hpp>
#include <weir/semaphore.hpp>
#include <weir/test/boost_test.hpp>
#include <weir/test/for_each_seed.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::aimd_options;
using weir::errc;
using weir::error_code;
using weir::gradient_options;
using weir::limited_call;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(adaptive_limit)

namespace {

/// What a request came to.
struct answer {
  std::optional<error_code> code;
  limited_call call;

  auto handler() {
    return [this](error_code ec, limited_call c) {
      code = ec;
      call = std::move(c);
    };
  }
};

template <typename T>
struct counting_allocator {
  using value_type = T;
  explicit counting_allocator(int* c) : count(c) {}
  template <typename U>
  counting_allocator(const counting_allocator<U>& other) : count(other.count) {}  // NOLINT
  T* allocate(std::size_t n) {
    ++*count;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
  friend bool operator==(const counting_allocator& a, const counting_allocator& b) {
    return a.count == b.count;
  }
  int* count;
};

/// Serves so many at once, the others in turn.
struct service {
  service(const asio::any_io_executor& ex, int at_once) : places(ex, at_once, "service") {}
  weir::semaphore places;
  weir::duration takes = 10ms;
  weir::duration longest{};

  asio::awaitable<void> serve() {
    const auto began = weir::steady_clock::now();
    const weir::permit place = co_await places.async_acquire(asio::use_awaitable);
    co_await sleep_for(takes);
    longest = std::max(longest, weir::steady_clock::now() - began);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(options_that_are_not_valid_are_refused_at_once) {
  asio::io_context context;
  const auto is_invalid = [](const boost::system::system_error& e) {
    return e.code() == errc::invalid_argument;
  };
  for (const gradient_options& o :
       {gradient_options{.min = 0}, gradient_options{.max = 0}, gradient_options{.queue = -1},
        gradient_options{.smoothing = 0}, gradient_options{.backoff = 1}})
    BOOST_CHECK_EXCEPTION(weir::adaptive_limit(context.get_executor(), o),
                          boost::system::system_error, is_invalid);
  for (const aimd_options& o : {aimd_options{.min = 0}, aimd_options{.max = 0},
                                aimd_options{.backoff = 1}, aimd_options{.too_slow = -1ns}})
    BOOST_CHECK_EXCEPTION(weir::adaptive_limit(context.get_executor(), o),
                          boost::system::system_error, is_invalid);
}

BOOST_AUTO_TEST_CASE(place_comes_back_by_each_way_of_losing_a_call) {
  asio::io_context context;
  weir::adaptive_limit limit(context.get_executor(), aimd_options{.initial = 3});
  {
    const limited_call c = limit.try_acquire();
    BOOST_TEST(limit.metrics().in_flight == 1);
  }
  BOOST_TEST(limit.metrics().in_flight == 0);
  limited_call a = limit.try_acquire();
  limited_call b = std::move(a);
  BOOST_TEST(!a);  // NOLINT: that it is empty is what is tested
  a.success();     // reports nothing
  BOOST_TEST(limit.metrics().samples == 0U);
  b = limit.try_acquire();
  BOOST_TEST(limit.metrics().in_flight == 1);
  BOOST_TEST(limit.metrics().ignored == 2U);
  b.success();
  BOOST_TEST(!b);
  BOOST_TEST(limit.metrics().in_flight == 0);
  limited_call all[] = {limit.try_acquire(), limit.try_acquire(), limit.try_acquire()};
  for (const auto& c : all) BOOST_TEST(static_cast<bool>(c));
  BOOST_TEST(!limit.try_acquire());
}

// A success that is followed by a cancellation, and every other pair.
BOOST_AUTO_TEST_CASE(each_pair_of_reports_is_one_sample_and_one_release) {
  using report = void (*)(limited_call&);
  const report reports[] = {
      [](limited_call& c) { c.success(); }, [](limited_call& c) { c.dropped(); },
      [](limited_call& c) { c.ignore(); }, [](limited_call& c) { limited_call(std::move(c)); },
      [](limited_call& c) { c = {}; }};
  for (std::size_t first = 0; first < std::size(reports); ++first)
    for (const report second : reports) {
      weir::test::virtual_time time;
      weir::adaptive_limit limit(time.get_executor(), aimd_options{.initial = 2, .max = 2});
      limited_call other = limit.try_acquire();
      limited_call c = limit.try_acquire();
      BOOST_TEST_REQUIRE(static_cast<bool>(c));
      reports[first](c);
      second(c);
      const auto m = limit.metrics();
      BOOST_TEST(m.in_flight == 1);
      BOOST_TEST(m.samples == (first < 2 ? 1U : 0U));
      BOOST_TEST(m.dropped == (first == 1 ? 1U : 0U));
      BOOST_TEST(m.ignored == (first < 2 ? 0U : 1U));
      other.ignore();
      limited_call again = limit.try_acquire();
      limited_call too_many = first == 1 ? limit.try_acquire() : limited_call();
      BOOST_TEST(static_cast<bool>(again));
      BOOST_TEST(!too_many);  // after the drop the limit is 1
    }
}

BOOST_AUTO_TEST_CASE(call_that_is_cancelled_or_throws_is_no_sample) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(), aimd_options{.initial = 2});
  asio::cancellation_signal signal;
  const auto body = [&]() -> asio::awaitable<void> {
    limited_call c = co_await limit.async_acquire(asio::use_awaitable);
    co_await sleep_for(1h);
    c.dropped();
  };
  asio::co_spawn(time.get_executor(), body,
                 asio::bind_cancellation_slot(signal.slot(), [](const std::exception_ptr&) {}));
  const auto throws = [&]() -> asio::awaitable<void> {
    const limited_call c = co_await limit.async_acquire(asio::use_awaitable);
    throw std::runtime_error("nothing to do with load");
  };
  asio::co_spawn(time.get_executor(), throws, [](const std::exception_ptr&) {});
  time.settle();
  BOOST_TEST(limit.metrics().in_flight == 1);
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  const auto m = limit.metrics();
  BOOST_TEST(m.in_flight == 0);
  BOOST_TEST(m.samples == 0U);
  BOOST_TEST(m.ignored == 2U);
  BOOST_TEST(m.limit == 2);
}

BOOST_AUTO_TEST_CASE(call_is_measured_from_its_place_and_not_from_its_request) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(),
                             gradient_options{.initial = 1, .max = 1, .window = 5});
  for (int i = 0; i < 50; ++i)
    time.spawn([&]() -> asio::awaitable<void> {
      limited_call c = co_await limit.async_acquire(asio::use_awaitable);
      co_await sleep_for(10ms);
      c.success();
    });
  time.run();
  const auto m = limit.metrics();
  BOOST_TEST(m.samples == 50U);
  BOOST_TEST((m.time > 9999us && m.time < 10001us));  // the last of them waited for half a second
  BOOST_TEST((m.unloaded_time > 9999us && m.unloaded_time < 10001us));
  BOOST_TEST((time.elapsed() == 500ms));
}

BOOST_AUTO_TEST_CASE(handler_is_never_called_inside_the_request) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(), aimd_options{});
  answer a;
  limit.async_acquire(a.handler());
  BOOST_TEST(!a.code);
  time.run();
  BOOST_TEST(!*a.code);
  BOOST_TEST(static_cast<bool>(a.call));
}

BOOST_AUTO_TEST_CASE(waiters_are_served_in_order_and_not_overtaken) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(), aimd_options{.initial = 1, .max = 1});
  limited_call held = limit.try_acquire();
  answer first;
  answer second;
  limit.async_acquire(first.handler());
  limit.async_acquire(second.handler());
  time.settle();
  BOOST_TEST(limit.metrics().waiting == 2U);
  held.success();
  BOOST_TEST(!limit.try_acquire());
  time.settle();
  BOOST_TEST(static_cast<bool>(first.call));
  BOOST_TEST(!second.code);
  first.call.dropped();
  time.settle();
  BOOST_TEST(static_cast<bool>(second.call));
}

BOOST_AUTO_TEST_CASE(place_granted_to_one_who_is_cancelled_in_the_same_tick_goes_to_the_next) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    weir::test::virtual_time time;
    weir::adaptive_limit limit(time.get_executor(), aimd_options{.initial = 1, .max = 1});
    limited_call held = limit.try_acquire();
    asio::cancellation_signal signal;
    asio::cancellation_signal early;
    answer first;
    answer gone;
    answer second;
    limit.async_acquire(asio::bind_cancellation_slot(signal.slot(), first.handler()));
    limit.async_acquire(asio::bind_cancellation_slot(early.slot(), gone.handler()));
    limit.async_acquire(second.handler());
    time.settle();
    early.emit(type);
    time.settle();
    BOOST_TEST((gone.code == asio::error::operation_aborted));
    held.success();
    signal.emit(type);
    time.run();
    BOOST_TEST((first.code == asio::error::operation_aborted));
    BOOST_TEST(!first.call);
    BOOST_TEST(!*second.code);
    BOOST_TEST(limit.metrics().in_flight == 1);
    BOOST_TEST(limit.metrics().ignored == 0U);  // neither has begun
  }
}

BOOST_AUTO_TEST_CASE(handler_keeps_its_executor_and_its_allocator) {
  weir::test::virtual_time time;
  auto& other = time.make_context();
  weir::adaptive_limit limit(time.get_executor(), aimd_options{});
  int runs = 0;
  limit.async_acquire(asio::bind_executor(other, [&](error_code, limited_call) {
    BOOST_TEST(other.get_executor().running_in_this_thread());
    ++runs;
  }));
  const auto strand = asio::make_strand(time.context());
  limit.async_acquire(asio::bind_executor(strand, [&](error_code, limited_call) {
    BOOST_TEST(strand.running_in_this_thread());
    ++runs;
  }));
  int allocations = 0;
  limit.async_acquire(asio::bind_allocator(counting_allocator<void>{&allocations},
                                           [&](error_code, limited_call) { ++runs; }));
  BOOST_TEST(allocations == 1);
  time.run();
  BOOST_TEST(runs == 3);
}

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  asio::thread_pool threads(2);
  weir::adaptive_limit limit(threads.get_executor(), aimd_options{.initial = 1, .max = 1});
  limited_call c = limit.async_acquire(asio::use_future).get();
  auto waiting = limit.async_acquire(asio::use_future);
  c.success();
  c = waiting.get();
  BOOST_TEST(static_cast<bool>(c));
  auto deferred = limit.async_acquire(asio::deferred);
  c.success();
  c = std::move(deferred)(asio::use_future).get();
  auto tuple = asio::co_spawn(
      threads,
      [&]() -> asio::awaitable<bool> {
        auto [ec, d] = co_await limit.async_acquire(asio::as_tuple(asio::use_awaitable));
        co_return !ec && d;
      },
      asio::use_future);
  c.success();
  BOOST_TEST(tuple.get());
  threads.join();
  BOOST_TEST(limit.metrics().in_flight == 0);
}

BOOST_AUTO_TEST_CASE(closed_limit_turns_everybody_away_and_no_sample_reopens_it) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(), aimd_options{.initial = 1, .increase = 10});
  limited_call held = limit.try_acquire();
  answer waiting;
  limit.async_acquire(waiting.handler());
  time.settle();
  limit.close();
  limit.close();
  held.success();  // raises the limit
  BOOST_TEST(limit.limit() == 11);
  answer late;
  limit.async_acquire(late.handler());
  time.run();
  BOOST_TEST((waiting.code == errc::semaphore_closed));
  BOOST_TEST((late.code == errc::semaphore_closed));
  BOOST_TEST(!limit.try_acquire());
  limit.measure().success();
  BOOST_TEST(limit.metrics().samples == 2U);
}

BOOST_AUTO_TEST_CASE(destroyed_while_calls_are_out_and_a_grant_is_in_flight) {
  weir::test::virtual_time time;
  std::optional<weir::adaptive_limit> limit(std::in_place, time.get_executor(),
                                            aimd_options{.initial = 2, .max = 2});
  int told = 0;
  limit->drive([&](int) { ++told; });
  limited_call held = limit->try_acquire();
  limited_call other = limit->try_acquire();
  limited_call measured = limit->measure();
  answer granted;
  answer waiting;
  limit->async_acquire(granted.handler());
  limit->async_acquire(waiting.handler());
  time.settle();
  other.success();
  limit.reset();
  time.run();
  BOOST_TEST(!*granted.code);
  BOOST_TEST((waiting.code == errc::semaphore_closed));
  BOOST_TEST(told == 1);
  held.dropped();  // changes the limit of what has gone: nobody is told
  measured.success();
  granted.call.ignore();
  BOOST_TEST(told == 1);
}

BOOST_AUTO_TEST_CASE(destroyed_with_its_context_while_somebody_waits) {
  std::optional<weir::adaptive_limit> limit;
  limited_call held;
  {
    asio::io_context context;
    limit.emplace(context.get_executor(), aimd_options{.initial = 1});
    held = limit->try_acquire();
    limit->async_acquire(
        [p = std::make_shared<int>()](error_code, limited_call) { BOOST_ERROR("ran"); });
    limit.reset();  // the handler is posted to a context that never runs it
  }
  held.success();
}

BOOST_AUTO_TEST_CASE(place_of_a_refused_call_goes_to_nobody_for_whom_the_new_limit_has_none) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(), aimd_options{.initial = 2, .backoff = 0.5});
  limited_call held = limit.try_acquire();
  limited_call refused = limit.try_acquire();
  answer waiting;
  limit.async_acquire(waiting.handler());
  time.settle();
  refused.dropped();
  time.settle();
  BOOST_TEST(!waiting.code);
  held.success();
  time.settle();
  BOOST_TEST(static_cast<bool>(waiting.call));
}

BOOST_AUTO_TEST_CASE(places_stay_exact_when_the_limit_changes_while_calls_are_out) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(),
                             aimd_options{.initial = 10, .min = 2, .max = 12, .backoff = 0.5});
  std::vector<limited_call> out;
  while (auto c = limit.try_acquire()) out.push_back(std::move(c));
  BOOST_TEST(out.size() == 10U);
  time.advance(1ms);
  out.back().dropped();
  out.pop_back();
  BOOST_TEST(limit.limit() == 5);
  // Nine are out under a limit of five: the place of each but the last four goes to nobody.
  while (out.size() > 5) {
    BOOST_TEST(!limit.try_acquire());
    out.pop_back();
  }
  BOOST_TEST(!limit.try_acquire());
  out.pop_back();
  BOOST_TEST(static_cast<bool>(limit.try_acquire()));
  for (int i = 0; i < 200; ++i) {
    while (auto c = limit.try_acquire()) out.push_back(std::move(c));
    out.front().success();
    out.erase(out.begin());
  }
  BOOST_TEST(limit.limit() == 12);
  while (auto c = limit.try_acquire()) out.push_back(std::move(c));
  BOOST_TEST(out.size() == 12U);
  BOOST_TEST(limit.metrics().in_flight == 12);
}

// --- what it drives ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(target_is_told_of_the_limit_at_once_and_of_each_change) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(), aimd_options{.initial = 4, .backoff = 0.5});
  std::vector<int> told;
  std::vector<int> second;
  limit.drive([&](int n) { told.push_back(n); });
  limit.measure().ignore();
  time.advance(1ms);
  limit.measure().dropped();
  limit.measure().dropped();  // in the same instant: no change
  limit.drive([&](int n) { second.push_back(n); });
  time.advance(1ms);
  limit.measure().dropped();
  limit.drive(nullptr);
  limit.drive(nullptr);
  time.advance(1ms);
  limit.measure().dropped();
  BOOST_TEST(told == (std::vector<int>{4, 2}), boost::test_tools::per_element());
  BOOST_TEST(second == (std::vector<int>{2, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(target_may_use_the_limit_that_tells_it) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(), aimd_options{.initial = 4, .backoff = 0.5});
  std::vector<int> told;
  limit.drive([&](int n) {
    told.push_back(n);
    BOOST_TEST(limit.limit() == n);
    if (n == 1) return;
    time.advance(1ms);
    limit.measure().dropped();  // another change, from inside
    BOOST_TEST(told.back() == n);
    if (n == 2) limit.drive([&](int m) { told.push_back(-m); });
  });
  BOOST_TEST(told == (std::vector<int>{4, 2, -1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(measured_calls_take_no_place_and_are_counted) {
  weir::test::virtual_time time;
  weir::adaptive_limit limit(time.get_executor(), aimd_options{.initial = 1});
  std::vector<limited_call> out;
  for (int i = 0; i < 5; ++i) out.push_back(limit.measure());
  BOOST_TEST(limit.metrics().in_flight == 5);
  BOOST_TEST(static_cast<bool>(limit.try_acquire()));
  out.clear();
  BOOST_TEST(limit.metrics().in_flight == 0);
}

BOOST_AUTO_TEST_CASE(pool_that_is_driven_has_as_many_workers_as_its_service_serves_at_once) {
  weir::test::virtual_time time;
  service s(time.get_executor(), 8);
  weir::worker_pool pool(time.get_executor(), {.workers = 100, .max_per_user = 0});
  weir::adaptive_limit limit(time.get_executor(), gradient_options{.initial = 100});
  limit.drive([&](int n) { pool.resize(n); });
  time.spawn([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 20'000; ++i) {
      const auto work = [&](weir::task_context&) -> asio::awaitable<void> {
        limited_call c = limit.measure();
        co_await s.serve();
        c.success();
      };
      auto op = pool.async_submit({.id = {}, .user = {}, .fn = work}, asio::use_awaitable);
      co_await std::move(op);
      if (i == 10'000) s.longest = 0ms;
    }
  });
  time.run();
  BOOST_TEST(pool.metrics().workers == limit.limit());
  BOOST_TEST(limit.limit() >= 8);
  BOOST_TEST(limit.limit() <= 20);
  BOOST_TEST((s.longest <= 30ms));  // with the hundred of the start, 130
  BOOST_TEST(pool.metrics().completed == 20'000U);
  BOOST_TEST(limit.metrics().in_flight == 0);
}

BOOST_AUTO_TEST_CASE(limit_of_its_own_settles_and_follows_when_the_capacity_halves) {
  weir::test::virtual_time time;
  service s(time.get_executor(), 16);
  weir::adaptive_limit limit(time.get_executor(), gradient_options{.initial = 100});
  bool ended = false;
  for (int i = 0; i < 150; ++i)
    time.spawn([&]() -> asio::awaitable<void> {
      while (!ended) {
        limited_call c = co_await limit.async_acquire(asio::use_awaitable);
        co_await s.serve();
        c.success();
      }
    });
  time.run_for(10s);
  BOOST_TEST(limit.limit() >= 16);
  BOOST_TEST(limit.limit() <= 34);
  s.places.resize(8);
  time.run_for(2s);
  s.longest = 0ms;
  time.run_for(5s);
  BOOST_TEST(limit.limit() <= 20);
  BOOST_TEST((s.longest <= 40ms));
  const auto m = limit.metrics();
  BOOST_TEST(m.samples >= 0.93 * (10 * 1600 + 7 * 800));
  BOOST_TEST(m.dropped == 0U);
  ended = true;
  time.run();
}

// --- in any order --------------------------------------------------------------------------------

/// Calls of every kind under a limit that changes at each of them, with whatever the kit does to
/// them meanwhile.
void crowd(simulation& sim) {
  auto& draw = sim.draw();
  const int most = draw.between(1, 4);
  weir::adaptive_limit limit(
      sim.get_executor(),
      aimd_options{.initial = draw.between(1, most), .max = most, .increase = 2, .backoff = 0.5});
  int told = 0;
  limit.drive([&](int n) { told = n; });
  int inside = 0;
  std::uint64_t began = 0;
  const auto one = [&](limited_call c) -> asio::awaitable<void> {
    struct inside_scope {
      int& count;
      explicit inside_scope(int& n) : count(n) { ++count; }
      ~inside_scope() { --count; }
    } const scope(inside);
    ++began;
    BOOST_TEST_REQUIRE(inside <= most);
    BOOST_TEST_REQUIRE(inside <= limit.metrics().in_flight);
    const int how = draw.between(0, 3);
    co_await sleep_for(draw.between(0, 3) * 1ms);
    if (how == 0) c.success();
    if (how == 1) c.dropped();
    if (how == 2) c.ignore();
  };
  for (int i = 0; i < 6; ++i)
    sim.spawn([&]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      for (int round = 0; round < 3; ++round) {
        limited_call c;
        if (draw.chance(0.3))
          c = limit.try_acquire();
        else
          c = co_await limit.async_acquire(asio::use_awaitable);
        if (c) co_await one(std::move(c));
        co_await sleep_for(draw.between(0, 1) * 1ms);
      }
    });
  sim.run();
  const auto m = limit.metrics();
  BOOST_TEST_REQUIRE(m.in_flight == 0);
  BOOST_TEST_REQUIRE(m.waiting == 0U);
  BOOST_TEST_REQUIRE(m.samples + m.ignored >= began);
  BOOST_TEST_REQUIRE(told == m.limit);
  std::vector<limited_call> all;
  while (auto c = limit.try_acquire()) all.push_back(std::move(c));
  BOOST_TEST_REQUIRE(static_cast<int>(all.size()) == m.limit);
}

WEIR_SIMULATION_TEST_CASE(no_place_is_lost_or_made_in_any_order, 2000) { crowd(sim); }

BOOST_AUTO_TEST_CASE(no_place_is_lost_when_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000, crowd, {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_CASE(no_place_is_lost_when_an_allocation_fails) {
  int failed = 0;
  int served = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    simulation sim(seed, {.fail_allocation = 0.2});
    weir::adaptive_limit limit(sim.get_executor(), aimd_options{.initial = 2, .max = 2});
    for (int i = 0; i < 6; ++i) try {
        limit.drive([](int) {});
        limit.async_acquire([&](error_code ec, limited_call c) {
          BOOST_TEST_REQUIRE(!ec);
          ++served;
          c.success();
        });
      } catch (const std::bad_alloc&) {
        ++failed;
      }
    sim.run();
    const limited_call both[] = {limit.try_acquire(), limit.try_acquire()};
    for (const auto& c : both) BOOST_TEST_REQUIRE(static_cast<bool>(c));
    BOOST_TEST_REQUIRE(limit.metrics().in_flight == 2);
  }
  BOOST_TEST(failed > 100);
  BOOST_TEST(served > 100);
  BOOST_TEST(failed + served == 600);
}

BOOST_AUTO_TEST_SUITE_END()
