// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "allocation_counter.hpp"

#include <weir/detail/inline_strand.hpp>

#include <boost/asio/execution_context.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(inline_strand)

namespace {

using strand = weir::detail::inline_strand;

/// Runs `body(i)` on `count` threads, which start together.
template <typename Body>
void race(int count, Body body) {
  std::barrier start(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&start, &body, i] {
      start.arrive_and_wait();
      body(i);
    });
  for (std::thread& t : threads) t.join();
}

thread_local std::uintptr_t base_of_this_thread = 0;

std::uintptr_t address_of(const char& local) { return reinterpret_cast<std::uintptr_t>(&local); }

}  // namespace

BOOST_AUTO_TEST_CASE(idle_strand_runs_where_it_is_called) {
  boost::asio::execution_context context;
  strand s(context);
  std::thread::id ran_on;
  s.run([&]() noexcept { ran_on = std::this_thread::get_id(); });
  BOOST_TEST((ran_on == std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(function_has_run_when_run_returns) {
  boost::asio::execution_context context;
  strand s(context);
  int plain = 0;  // not atomic: a race would be one for the sanitizer to find
  for (int i = 0; i < 1000; ++i) {
    s.run([&]() noexcept { ++plain; });
    BOOST_TEST_REQUIRE(plain == i + 1);
  }
}

BOOST_AUTO_TEST_CASE(thread_knows_whether_it_is_inside) {
  boost::asio::execution_context context;
  strand a(context);
  strand b(context);
  bool inside = false;
  bool in_other = true;
  BOOST_TEST(!a.running_in_this_thread());
  a.run([&]() noexcept {
    inside = a.running_in_this_thread();
    in_other = b.running_in_this_thread();
  });
  BOOST_TEST(inside);
  BOOST_TEST(!in_other);
  BOOST_TEST(!a.running_in_this_thread());
}

BOOST_AUTO_TEST_CASE(run_inside_the_same_strand_nests) {
  boost::asio::execution_context context;
  strand s(context);
  std::vector<int> order;
  order.reserve(3);
  s.run([&]() noexcept {
    order.push_back(1);
    s.run([&]() noexcept { order.push_back(2); });
    order.push_back(3);
  });
  BOOST_TEST(order == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(run_on_another_strand_inside_one_is_done_on_the_spot) {
  boost::asio::execution_context context;
  strand a(context);
  strand b(context);
  std::vector<int> order;
  order.reserve(4);
  bool in_both = false;
  bool back_in_a = false;
  a.run([&]() noexcept {
    order.push_back(1);
    b.run([&]() noexcept {
      order.push_back(2);
      in_both = a.running_in_this_thread() && b.running_in_this_thread();
      a.run([&]() noexcept { order.push_back(3); });
    });
    back_in_a = a.running_in_this_thread() && !b.running_in_this_thread();
    order.push_back(4);
  });
  BOOST_TEST(order == (std::vector<int>{1, 2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(in_both);
  BOOST_TEST(back_in_a);
}

BOOST_AUTO_TEST_CASE(idle_strand_allocates_nothing) {
  boost::asio::execution_context context;
  strand a(context);
  strand b(context);
  int runs = 0;
  const allocation_counter allocations;
  for (int i = 0; i < 100; ++i)
    a.run([&]() noexcept {
      ++runs;
      b.run([&]() noexcept { ++runs; });
    });
  const std::size_t count = allocations.count();
  BOOST_TEST(count == 0U);
  BOOST_TEST(runs == 200);
}

BOOST_AUTO_TEST_CASE(only_one_thread_is_inside_at_a_time) {
  boost::asio::execution_context context;
  strand s(context);
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  race(4, [&](int) {
    for (int i = 0; i < 5000; ++i)
      s.run([&]() noexcept {
        if (inside.fetch_add(1) != 0) overlapped = true;
        inside.fetch_sub(1);
      });
  });
  BOOST_TEST(!overlapped);
}

BOOST_AUTO_TEST_CASE(hundred_thousand_contended_runs_are_counted_exactly_on_a_flat_stack) {
  boost::asio::execution_context context;
  strand s(context);
  long plain = 0;  // guarded by the strand alone
  std::atomic<bool> too_deep{false};
  race(4, [&](int) {
    const char base = 0;
    base_of_this_thread = address_of(base);
    for (int i = 0; i < 25000; ++i)
      s.run([&]() noexcept {
        ++plain;
        // Runs on the thread that holds the strand. Nested once for each run that was left over,
        // its stack would grow far beyond a few frames.
        const char here = 0;
        if (base_of_this_thread - address_of(here) > 64 * 1024U) too_deep = true;
      });
  });
  BOOST_TEST(plain == 100000);
  BOOST_TEST(!too_deep);
}

BOOST_AUTO_TEST_CASE(strands_crossed_in_one_order_make_progress_under_contention) {
  boost::asio::execution_context context;
  strand outer(context);
  strand inner(context);
  long through_outer = 0;
  long in_inner = 0;
  race(4, [&](int i) {
    for (int n = 0; n < 5000; ++n) {
      if (i % 2 == 0)
        outer.run([&]() noexcept {
          ++through_outer;
          inner.run([&]() noexcept { ++in_inner; });
        });
      else
        inner.run([&]() noexcept { ++in_inner; });
    }
  });
  BOOST_TEST(through_outer == 10000);
  BOOST_TEST(in_inner == 20000);
}

BOOST_AUTO_TEST_CASE(strands_can_be_made_and_dropped_in_any_number) {
  boost::asio::execution_context context;
  int runs = 0;
  for (int i = 0; i < 2000; ++i) {
    strand s(context);
    s.run([&]() noexcept { ++runs; });
  }
  BOOST_TEST(runs == 2000);
}

BOOST_AUTO_TEST_SUITE_END()
