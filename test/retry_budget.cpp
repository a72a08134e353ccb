// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/error.hpp>
#include <weir/retry_budget.hpp>
#include <weir/test/random.hpp>

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using weir::retry_budget;
using weir::retry_budget_options;

BOOST_AUTO_TEST_SUITE(retry_budget_suite)

namespace {

constexpr weir::time_point start{std::chrono::hours(1)};

int withdraw_all(retry_budget& b, weir::time_point now) {
  int n = 0;
  while (b.try_withdraw(now)) ++n;
  return n;
}

}  // namespace

BOOST_AUTO_TEST_CASE(options_out_of_range_are_invalid) {
  BOOST_TEST(retry_budget_options{}.valid());
  for (const retry_budget_options& o :
       {retry_budget_options{.ratio = -0.1}, retry_budget_options{.ratio = 1001},
        retry_budget_options{.ratio = std::numeric_limits<double>::quiet_NaN()},
        retry_budget_options{.min_per_second = -1}, retry_budget_options{.window = 0s},
        retry_budget_options{.window = 2h}}) {
    BOOST_TEST(!o.valid());
    BOOST_CHECK_EXCEPTION(retry_budget{o}, boost::system::system_error,
                          [](const auto& e) { return e.code() == weir::errc::invalid_argument; });
  }
}

BOOST_AUTO_TEST_CASE(each_call_pays_for_its_share_of_a_retry) {
  retry_budget b({.ratio = 0.2, .min_per_second = 0});
  BOOST_TEST(!b.try_withdraw(start));
  for (int i = 0; i < 4; ++i) b.deposit(start);
  BOOST_TEST(!b.try_withdraw(start));
  b.deposit(start);
  BOOST_TEST(b.available(start) == 1);
  BOOST_TEST(b.try_withdraw(start));
  BOOST_TEST(!b.try_withdraw(start));
}

BOOST_AUTO_TEST_CASE(who_calls_seldom_may_retry_all_the_same) {
  retry_budget b({.ratio = 0, .min_per_second = 2, .window = 10s});
  BOOST_TEST(withdraw_all(b, start) == 20);
  BOOST_TEST(withdraw_all(b, start + 9s) == 0);
  BOOST_TEST(withdraw_all(b, start + 10s) == 20);
}

BOOST_AUTO_TEST_CASE(quiet_time_does_not_save_up) {
  retry_budget b({.ratio = 1, .min_per_second = 0, .window = 10s});
  for (int i = 0; i < 100; ++i) b.deposit(start);
  BOOST_TEST(b.available(start + 8s) == 100);
  BOOST_TEST(b.available(start + 10s) == 0);
  BOOST_TEST(withdraw_all(b, start + 1h) == 0);
}

BOOST_AUTO_TEST_CASE(storm_of_retries_starves_itself) {
  retry_budget b({.ratio = 0.1, .min_per_second = 1, .window = 10s});
  int calls = 0;
  int retries = 0;
  // Everything fails for a minute, and each call would retry ten times.
  for (auto t = start; t < start + 60s; t += 10ms) {
    b.deposit(t);
    ++calls;
    for (int i = 0; i < 10; ++i) retries += b.try_withdraw(t);
  }
  BOOST_TEST(calls == 6000);
  BOOST_TEST(retries <= 0.1 * calls + 60 + 10 + 1);
  BOOST_TEST(retries >= 0.1 * calls);
}

BOOST_AUTO_TEST_CASE(time_that_runs_backwards_mints_nothing_and_freezes_nothing) {
  retry_budget b({.ratio = 0, .min_per_second = 1, .window = 10s});
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto now = start + 20ms * i;
    taken += b.try_withdraw(now);
    taken += b.try_withdraw(now - 5s);
  }
  BOOST_TEST(taken >= 20);
  BOOST_TEST(taken <= 30);
}

BOOST_AUTO_TEST_CASE(never_more_than_the_window_pays_for_in_any_program) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    weir::test::random draw(seed);
    const retry_budget_options o{.ratio = draw.between(0, 20) / 10.0,
                                 .min_per_second = draw.between(0, 5),
                                 .window = 1s * draw.between(1, 10)};
    retry_budget b(o);
    std::deque<std::pair<weir::time_point, double>> seen;  // what happened, by its price
    auto now = start;
    for (int i = 0; i < 500; ++i) {
      now += 1ms * draw.between(0, 200);
      while (!seen.empty() && seen.front().first <= now - o.window) seen.pop_front();
      if (draw.chance(0.5)) {
        b.deposit(now);
        seen.emplace_back(now, o.ratio);
      } else if (b.try_withdraw(now)) {
        seen.emplace_back(now, -1);
        // Against what the last window holds, and a slot more, for it moves by tenths.
        double level = o.min_per_second * std::chrono::duration<double>(o.window).count();
        for (const auto& [at, price] : seen)
          if (price > 0 || at > now - o.window * 9 / 10) level += price;
        BOOST_TEST_REQUIRE(level >= -1e-3);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(threads_share_one_budget) {
  retry_budget b({.ratio = 0.5, .min_per_second = 0});
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        b.deposit(start);
        if (b.try_withdraw(start)) ++taken;
      }
    });
  for (auto& t : threads) t.join();
  taken += withdraw_all(b, start);
  BOOST_TEST(taken == 2000);
}

BOOST_AUTO_TEST_SUITE_END()
