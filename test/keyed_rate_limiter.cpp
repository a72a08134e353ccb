// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "allocation_counter.hpp"
#include "sleep_for.hpp"

#include <weir/keyed_rate_limiter.hpp>
#include <weir/rate_limiter.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::errc;
using weir::error_code;
using weir::keyed_rate_limiter;
using weir::rate_options;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(keyed_rate_limiter_suite)

namespace {

bool is_invalid(const boost::system::system_error& e) { return e.code() == errc::invalid_argument; }

/// What a request came to.
struct answer {
  std::optional<error_code> code;
  weir::duration at{};

  auto handler(const weir::test::driver& d) {
    return [this, &d](error_code ec) {
      code = ec;
      at = d.elapsed();
    };
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_key_has_a_bucket_of_its_own) {
  weir::test::virtual_time time;
  keyed_rate_limiter<std::string> limiter({.rate = 10, .per = 1s, .burst = 2});
  BOOST_TEST(limiter.try_acquire("ann", 2));
  BOOST_TEST(!limiter.try_acquire("ann"));
  BOOST_TEST(limiter.try_acquire("bob"));
  BOOST_TEST((limiter.when("ann") == time.now() + 100ms));
  BOOST_TEST((limiter.when("bob") == time.now()));
  BOOST_TEST((limiter.when("bob", 2) == time.now() + 100ms));
  BOOST_TEST((limiter.when("nobody", 2) == time.now()));
  BOOST_TEST(limiter.metrics().keys == 2U);
  time.advance(100ms);
  BOOST_TEST(limiter.try_acquire("ann"));
}

BOOST_AUTO_TEST_CASE(waiters_of_a_key_are_served_in_order_and_those_of_another_beside_them) {
  weir::test::virtual_time time;
  keyed_rate_limiter<int> limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 2});
  std::string order;
  const auto wait = [&](int key, int n, char name) {
    limiter.async_acquire(key, n, [&order, name](error_code ec) {
      BOOST_TEST(!ec);
      order.push_back(name);
    });
  };
  wait(1, 2, 'a');
  wait(1, 2, 'b');
  wait(1, 1, 'c');
  wait(2, 1, 'A');
  BOOST_TEST(order.empty());  // never inside the call
  BOOST_TEST(!limiter.try_acquire(1));
  time.run_for(100ms);
  BOOST_TEST(order == "aA");
  BOOST_TEST(!limiter.try_acquire(1));
  BOOST_TEST((limiter.when(1) == time.now() + 300ms));
  time.run();
  BOOST_TEST(order == "aAbc");
  BOOST_TEST((time.elapsed() == 300ms));
}

BOOST_AUTO_TEST_CASE(requests_and_options_that_cannot_be_met_are_invalid_at_once) {
  weir::test::virtual_time time;
  BOOST_CHECK_EXCEPTION(keyed_rate_limiter<int>({.rate = 0}), boost::system::system_error,
                        is_invalid);
  BOOST_CHECK_EXCEPTION(keyed_rate_limiter<int>({}, 0), boost::system::system_error, is_invalid);
  keyed_rate_limiter<int> limiter(time.get_executor(), {.burst = 2});
  BOOST_CHECK_EXCEPTION(limiter.reconfigure({.per = 0s}), boost::system::system_error, is_invalid);
  for (const int n : {0, -1, 3}) {
    BOOST_CHECK_EXCEPTION(limiter.try_acquire(1, n), boost::system::system_error, is_invalid);
    BOOST_CHECK_EXCEPTION(static_cast<void>(limiter.when(1, n)), boost::system::system_error,
                          is_invalid);
    answer a;
    limiter.async_acquire(1, n, a.handler(time));
    time.run();
    BOOST_TEST((a.code == errc::invalid_argument));
  }
  BOOST_TEST(limiter.metrics().keys == 0U);
}

BOOST_AUTO_TEST_CASE(key_is_found_by_a_view_without_an_allocation) {
  keyed_rate_limiter<std::string> limiter({.rate = 1, .per = 1h, .burst = 100});
  const std::string_view view = "a key that is too long to be stored in the string itself";
  BOOST_TEST(limiter.try_acquire(view));
  const allocation_counter counter;
  bool all = true;
  for (int i = 0; i < 50; ++i) all = limiter.try_acquire(view) && all;
  static_cast<void>(limiter.when(view));
  const auto allocations = counter.count();
  BOOST_TEST(all);
  BOOST_TEST(allocations == 0U);
}

BOOST_AUTO_TEST_CASE(keys_of_a_users_own_type_need_no_more_than_a_hash_and_an_equality) {
  struct tenant {
    int region;
    std::string name;
    bool operator==(const tenant&) const = default;
  };
  struct tenant_hash {
    std::size_t operator()(const tenant& t) const { return static_cast<std::size_t>(t.region); }
  };
  keyed_rate_limiter<tenant, tenant_hash> limiter({});
  BOOST_TEST(limiter.try_acquire({1, "a"}));
  BOOST_TEST(limiter.try_acquire({1, "b"}));
  BOOST_TEST(!limiter.try_acquire({1, "a"}));
}

BOOST_AUTO_TEST_CASE(only_full_buckets_are_evicted_and_a_new_key_is_refused_where_there_is_none) {
  weir::test::virtual_time time;
  keyed_rate_limiter<int> limiter(time.get_executor(), {.rate = 1, .per = 1s, .burst = 5}, 3);
  BOOST_TEST(limiter.try_acquire(1, 5));
  BOOST_TEST(limiter.try_acquire(2, 2));
  BOOST_TEST(limiter.try_acquire(3, 3));
  BOOST_TEST(!limiter.try_acquire(4));
  answer refused;
  limiter.async_acquire(4, refused.handler(time));
  time.settle();
  BOOST_TEST((refused.code == errc::rate_limited));
  BOOST_TEST(limiter.metrics().no_place == 2U);
  BOOST_TEST((limiter.when(4) == time.now() + 2s));
  // The oldest is not the one that is full first.
  time.advance(2s);
  BOOST_TEST(limiter.try_acquire(4, 5));
  BOOST_TEST(limiter.metrics().evicted == 1U);
  BOOST_TEST(!limiter.try_acquire(2));
  BOOST_TEST(!limiter.try_acquire(1, 3));
  BOOST_TEST(limiter.try_acquire(1, 2));
  BOOST_TEST(limiter.metrics().keys == 3U);
}

BOOST_AUTO_TEST_CASE(bucket_that_is_waited_on_is_not_evicted_though_it_would_be_full) {
  weir::test::virtual_time time;
  keyed_rate_limiter<int> limiter(time.get_executor(), {.rate = 1, .per = 1ms, .burst = 1}, 1);
  asio::cancellation_signal signal;
  answer first;
  BOOST_TEST(limiter.try_acquire(1));
  limiter.async_acquire(1, asio::bind_cancellation_slot(signal.slot(), first.handler(time)));
  BOOST_TEST(!limiter.try_acquire(2));
  signal.emit(asio::cancellation_type::total);
  // It has given back, but has not heard of it.
  time.settle();
  BOOST_TEST((first.code == asio::error::operation_aborted));
  time.advance(5ms);
  BOOST_TEST(limiter.try_acquire(2));
  BOOST_TEST(limiter.metrics().evicted == 1U);
}

BOOST_AUTO_TEST_CASE(bucket_is_kept_until_the_handler_of_one_that_was_served_has_run) {
  weir::test::virtual_time time;
  asio::io_context busy;  // not run for a while
  keyed_rate_limiter<int> limiter(time.get_executor(), {.rate = 1, .per = 1ms, .burst = 2}, 1);
  asio::cancellation_signal signal;
  answer served;
  limiter.async_acquire(1, asio::bind_cancellation_slot(
                               signal.slot(), asio::bind_executor(busy, served.handler(time))));
  time.advance(5ms);
  BOOST_TEST(!limiter.try_acquire(2));  // though the bucket is full by now
  limiter.reconfigure({.rate = 1, .per = 1ms, .burst = 4});
  BOOST_TEST(limiter.try_acquire(1, 4));  // and so it is by the new options
  signal.emit(asio::cancellation_type::terminal);
  busy.run();
  BOOST_TEST((served.code == asio::error::operation_aborted));
  BOOST_TEST(limiter.try_acquire(1, 1));  // what it gives back reaches its key
  BOOST_TEST(!limiter.try_acquire(1, 1));
  time.advance(5ms);
  BOOST_TEST(limiter.try_acquire(2));
}

BOOST_AUTO_TEST_CASE(table_shrinks_to_what_is_in_use_when_new_keys_come) {
  weir::test::virtual_time time;
  keyed_rate_limiter<int> limiter(time.get_executor(), {.rate = 1, .per = 1s, .burst = 2}, 1000);
  for (int key = 0; key < 1000; ++key) BOOST_TEST_REQUIRE(limiter.try_acquire(key));
  BOOST_TEST(limiter.metrics().keys == 1000U);
  time.advance(1s);
  for (int key = 1000; key < 1990; ++key) {
    BOOST_TEST_REQUIRE(limiter.try_acquire(key));
    time.advance(100ms);
  }
  BOOST_TEST(limiter.metrics().keys <= 12U);
}

BOOST_AUTO_TEST_CASE(flood_of_new_keys_stays_within_the_table_and_harms_nobody_who_is_in_it) {
  weir::test::virtual_time time;
  keyed_rate_limiter<int> limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 2}, 64);
  BOOST_TEST(limiter.try_acquire(-1, 2));
  int served = 0;
  for (int i = 0; i < 10'000; ++i) {
    limiter.try_acquire(i);
    if (i % 10 == 0) {
      time.advance(1ms);
      served += limiter.try_acquire(-1);
    }
    BOOST_TEST_REQUIRE(limiter.metrics().keys <= 64U);
  }
  BOOST_TEST(served == 10);
  BOOST_TEST(limiter.metrics().no_place > 0U);
}

BOOST_AUTO_TEST_CASE(cancelled_waiter_pays_back_exactly_and_those_behind_move_up) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    weir::test::virtual_time time;
    keyed_rate_limiter<int> limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 5});
    BOOST_TEST(limiter.try_acquire(1, 5));
    asio::cancellation_signal signal;
    answer large;
    answer small;
    limiter.async_acquire(1, 5, asio::bind_cancellation_slot(signal.slot(), large.handler(time)));
    limiter.async_acquire(1, 1, small.handler(time));
    time.run_for(50ms);
    signal.emit(type);
    time.run();
    BOOST_TEST((large.code == asio::error::operation_aborted));
    BOOST_TEST((small.at == 100ms));
    BOOST_TEST((limiter.when(1, 5) == time.now() + 500ms));
  }
}

BOOST_AUTO_TEST_CASE(one_that_is_served_and_cancelled_in_the_same_tick_pays_back) {
  weir::test::virtual_time time;
  keyed_rate_limiter<int> limiter(time.get_executor(), {}, 1);
  asio::cancellation_signal signal;
  answer a;
  limiter.async_acquire(1, asio::bind_cancellation_slot(signal.slot(), a.handler(time)));
  BOOST_TEST(!limiter.try_acquire(1));
  BOOST_TEST(!limiter.try_acquire(2));  // it may still give back
  signal.emit(asio::cancellation_type::total);
  time.run();
  BOOST_TEST((a.code == asio::error::operation_aborted));
  BOOST_TEST(limiter.try_acquire(1));
}

// golang/go#63615.
BOOST_AUTO_TEST_CASE(request_of_a_coroutine_that_is_cancelled_already_consumes_nothing) {
  weir::test::virtual_time time;
  keyed_rate_limiter<int> limiter(time.get_executor(), {});
  asio::cancellation_signal signal;
  bool aborted = false;
  const auto body = [&]() -> asio::awaitable<void> {
    co_await sleep_for(1ms);
    signal.emit(asio::cancellation_type::terminal);
    try {
      co_await limiter.async_acquire(1, asio::use_awaitable);
    } catch (const boost::system::system_error& e) {
      aborted = e.code() == asio::error::operation_aborted;
    }
  };
  asio::co_spawn(time.get_executor(), body,
                 asio::bind_cancellation_slot(signal.slot(), asio::detached));
  time.run();
  BOOST_TEST(aborted);
  BOOST_TEST(limiter.try_acquire(1));
}

// aws-solutions#915, #657, kyuubi#5217: limits that are reloaded in the middle.
BOOST_AUTO_TEST_CASE(reconfiguration_is_exact_for_those_in_the_table_out_of_it_and_in_line) {
  weir::test::virtual_time time;
  keyed_rate_limiter<int> limiter(time.get_executor(), {.rate = 1, .per = 1h, .burst = 4});
  BOOST_TEST(limiter.try_acquire(1, 1));
  BOOST_TEST(limiter.try_acquire(2, 4));
  std::deque<answer> waiting(5);
  const int wants[] = {1, 4, 1, 4, 1};
  for (std::size_t i = 0; i < 5; ++i) limiter.async_acquire(2, wants[i], waiting[i].handler(time));
  time.settle();
  limiter.reconfigure({.rate = 1, .per = 1s, .burst = 3});
  BOOST_TEST(limiter.try_acquire(1, 3));  // what had gathered, to the new burst
  BOOST_TEST(!limiter.try_acquire(1));
  BOOST_TEST(limiter.try_acquire(3, 3));  // never seen
  BOOST_CHECK_EXCEPTION(limiter.try_acquire(2, 4), boost::system::system_error, is_invalid);
  time.run_for(10s);
  for (const std::size_t large : {1U, 3U})
    BOOST_TEST((waiting[large].code == errc::invalid_argument));
  // Both that were turned away have paid back: nobody waits for what they would have had.
  for (std::size_t i = 0; i < 5; i += 2) {
    BOOST_TEST_REQUIRE(waiting[i].code.has_value());
    BOOST_TEST(!*waiting[i].code);
    BOOST_TEST((waiting[i].at == 1s * (i / 2 + 1)));
  }
  // A key that is full is full afterwards, whether it was in the table or not.
  time.advance(1h);
  limiter.reconfigure({.rate = 1, .per = 1s, .burst = 10});
  for (const int key : {1, 2, 3, 4}) BOOST_TEST(limiter.try_acquire(key, 10));
}

// tokio#8020.
BOOST_AUTO_TEST_CASE(closed_stays_closed_whatever_is_reconfigured) {
  weir::test::virtual_time time;
  keyed_rate_limiter<int> limiter(time.get_executor(), {});
  BOOST_TEST(limiter.try_acquire(1));
  answer waiting;
  limiter.async_acquire(1, waiting.handler(time));
  time.settle();
  limiter.close();
  limiter.close();
  limiter.reconfigure({.rate = 100, .per = 1ms, .burst = 100});
  BOOST_TEST((limiter.options().burst == 100));
  BOOST_TEST(!limiter.try_acquire(1));
  BOOST_TEST(!limiter.try_acquire(2));
  answer late;
  limiter.async_acquire(1, late.handler(time));
  answer other;
  limiter.async_acquire(2, other.handler(time));
  time.run();
  BOOST_TEST((time.elapsed() == 0s));
  for (const answer* a : {&waiting, &late, &other})
    BOOST_TEST((a->code == errc::rate_limiter_closed));
}

// seastar#1323.
BOOST_AUTO_TEST_CASE(destroyed_while_somebody_waits_and_a_grant_is_in_flight) {
  weir::test::virtual_time time;
  auto limiter = std::make_unique<keyed_rate_limiter<int>>(time.get_executor(), rate_options{});
  asio::cancellation_signal signal;
  answer granted;
  answer revoked;
  answer waiting;
  limiter->async_acquire(1, granted.handler(time));
  limiter->async_acquire(1, waiting.handler(time));
  limiter->async_acquire(2, asio::bind_cancellation_slot(signal.slot(), revoked.handler(time)));
  limiter.reset();
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST(!*granted.code);
  BOOST_TEST((waiting.code == errc::rate_limiter_closed));
  BOOST_TEST((revoked.code == asio::error::operation_aborted));
  BOOST_TEST((time.elapsed() == 0s));
}

BOOST_AUTO_TEST_CASE(destroyed_with_its_context_while_somebody_waits) {
  std::optional<keyed_rate_limiter<int>> limiter;
  {
    asio::io_context context;
    limiter.emplace(context.get_executor(), rate_options{});
    BOOST_TEST(limiter->try_acquire(1));
    limiter->async_acquire(1, [p = std::make_shared<int>()](error_code) { BOOST_ERROR("ran"); });
    limiter.reset();  // the handler is posted to a context that never runs it
  }
}

BOOST_AUTO_TEST_CASE(waiter_is_named_in_a_report_by_the_limiters_name) {
  weir::test::virtual_time time;
  keyed_rate_limiter<std::string> limiter(time.get_executor(), {.rate = 1, .per = 1h}, 10, "users");
  BOOST_TEST(limiter.try_acquire("ann"));
  std::string report;
  try {
    const weir::test::leak_check leaks(time);
    time.spawn("ann's request", limiter.async_acquire("ann", asio::use_awaitable));
    time.settle();
  } catch (const weir::test::leak_error& e) {
    report = e.what();
  }
  BOOST_TEST(report.find("[rate limiter acquire] of 'users'") != std::string::npos, report);
  time.run();
}

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  asio::thread_pool threads(2);
  keyed_rate_limiter<std::string> limiter(threads.get_executor(),
                                          {.rate = 1000, .per = 1s, .burst = 1});
  std::vector<std::future<void>> waits;
  for (int i = 0; i < 20; ++i)
    waits.push_back(limiter.async_acquire(std::to_string(i % 3), asio::use_future));
  {
    std::string key = "deferred";
    auto op = limiter.async_acquire(std::string_view(key), 1, asio::deferred);
    key = "another";  // the operation has a key of its own
    std::move(op)(asio::use_future).get();
  }
  BOOST_TEST(limiter.try_acquire("another"));
  auto tuple = asio::co_spawn(
      threads,
      [&]() -> asio::awaitable<bool> {
        auto [ec] = co_await limiter.async_acquire("tuple", 1, asio::as_tuple(asio::use_awaitable));
        co_return !ec;
      },
      asio::use_future);
  BOOST_TEST(tuple.get());
  for (auto& w : waits) w.get();
  threads.join();
}

rate_options draw_options(weir::test::random& draw) {
  return {.rate = draw.between(1, 3), .per = 1ms * draw.between(1, 3), .burst = draw.between(1, 4)};
}

/// Requests that do not wait, against one bucket for each key that there ever was.
BOOST_AUTO_TEST_CASE(eviction_cannot_be_told_from_a_table_without_an_end) {
  std::uint64_t evicted = 0;
  std::uint64_t no_place = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    BOOST_TEST_INFO_SCOPE("seed " << seed);
    weir::test::virtual_time time;
    weir::test::random draw(seed);
    rate_options o = draw_options(draw);
    const auto max_keys = static_cast<std::size_t>(draw.between(1, 4));
    keyed_rate_limiter<int> limiter(time.get_executor(), o, max_keys);
    std::map<int, weir::token_bucket> model;
    const auto is_full = [&](weir::token_bucket& b) { return b.available(time.now()) == o.burst; };
    for (int i = 0; i < 100; ++i) {
      if (draw.chance(0.3)) time.advance(1ms * draw.between(0, 3));
      if (draw.chance(0.03)) {
        const rate_options before = std::exchange(o, draw_options(draw));
        limiter.reconfigure(o);
        for (auto& [key, bucket] : model) {
          if (bucket.available(time.now()) == before.burst)
            bucket = weir::token_bucket(o, time.now());
          else
            bucket.reconfigure(o, time.now());
        }
      }
      const int key = draw.between(0, 6);
      const int n = draw.between(1, static_cast<int>(o.burst));
      std::size_t in_use = 0;
      for (auto& [k, bucket] : model) in_use += !is_full(bucket);
      auto& bucket = model.try_emplace(key, o, time.now()).first->second;
      const bool stranger = is_full(bucket);
      const auto before = limiter.metrics().no_place;
      const auto when = limiter.when(key, n);
      const bool got = limiter.try_acquire(key, n);
      const auto m = limiter.metrics();
      BOOST_TEST_REQUIRE(m.keys <= max_keys);
      BOOST_TEST_REQUIRE(m.keys >= in_use);
      if (stranger && in_use == max_keys) {
        BOOST_TEST_REQUIRE(!got);
        BOOST_TEST_REQUIRE(m.no_place == before + 1);
        continue;
      }
      BOOST_TEST_REQUIRE(m.no_place == before);
      BOOST_TEST_REQUIRE((when == bucket.when(n, time.now())));
      BOOST_TEST_REQUIRE(got == bucket.try_take(n, time.now()));
    }
    evicted += limiter.metrics().evicted;
    no_place += limiter.metrics().no_place;
  }
  BOOST_TEST(evicted > 10'000U);
  BOOST_TEST(no_place > 1000U);
}

/// The same with waits, cancellations at any time and new options, against a limiter for each key.
BOOST_AUTO_TEST_CASE(waits_end_as_those_of_a_limiter_for_each_key) {
  std::uint64_t evicted = 0;
  std::uint64_t no_place = 0;
  std::uint64_t aborted = 0;
  struct wait {
    asio::cancellation_signal signal;
    asio::cancellation_signal model_signal;
    answer got;
    answer expected;
  };
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    BOOST_TEST_INFO_SCOPE("seed " << seed);
    weir::test::virtual_time time;
    weir::test::random draw(seed);
    rate_options o = draw_options(draw);
    keyed_rate_limiter<int> limiter(time.get_executor(), o,
                                    static_cast<std::size_t>(draw.between(1, 4)));
    std::map<int, std::unique_ptr<weir::rate_limiter>> model;
    std::deque<wait> waits;
    const auto compare = [&] {
      for (const wait& w : waits) {
        BOOST_TEST_REQUIRE(w.got.code.has_value() == w.expected.code.has_value());
        if (!w.got.code) continue;
        BOOST_TEST_REQUIRE(*w.got.code == *w.expected.code);
        BOOST_TEST_REQUIRE((w.got.at == w.expected.at));
      }
    };
    for (int i = 0; i < 60; ++i) {
      if (draw.chance(0.3)) {
        time.run_for(1ms * draw.between(0, 3));
        compare();
      }
      const int key = draw.between(0, 5);
      const int n = draw.between(1, static_cast<int>(o.burst));
      auto& own = model[key];
      if (!own) own = std::make_unique<weir::rate_limiter>(time.get_executor(), o);
      const auto before = limiter.metrics().no_place;
      if (draw.chance(0.05)) {
        time.settle();
        const rate_options old = std::exchange(o, draw_options(draw));
        limiter.reconfigure(o);
        for (auto& [k, l] : model) {
          if (l->waiters() == 0 && l->available() == old.burst)
            l = std::make_unique<weir::rate_limiter>(time.get_executor(), o);
          else
            l->reconfigure(o);
        }
      } else if (draw.chance(0.2) && !waits.empty()) {
        wait& w = waits[draw.below(waits.size())];
        const auto type = static_cast<asio::cancellation_type>(1U << draw.below(3));
        w.signal.emit(type);
        w.model_signal.emit(type);
      } else if (draw.chance(0.3)) {
        const bool got = limiter.try_acquire(key, n);
        if (limiter.metrics().no_place == before) BOOST_TEST_REQUIRE(got == own->try_acquire(n));
      } else {
        wait& w = waits.emplace_back();
        limiter.async_acquire(key, n,
                              asio::bind_cancellation_slot(w.signal.slot(), w.got.handler(time)));
        if (limiter.metrics().no_place == before)
          own->async_acquire(
              n, asio::bind_cancellation_slot(w.model_signal.slot(), w.expected.handler(time)));
        else
          w.expected = {errc::rate_limited, time.elapsed()};
      }
    }
    time.run();
    compare();
    for (const wait& w : waits) {
      BOOST_TEST_REQUIRE(w.got.code.has_value());
      aborted += *w.got.code == asio::error::operation_aborted;
    }
    evicted += limiter.metrics().evicted;
    no_place += limiter.metrics().no_place;
  }
  BOOST_TEST(evicted > 5000U);
  BOOST_TEST(no_place > 1000U);
  BOOST_TEST(aborted > 1000U);
}

/// In any stretch of time, no key gets more than the burst and what comes in it; and in the end
/// all is paid back.
void crowd(simulation& sim) {
  const rate_options o = draw_options(sim.draw());
  keyed_rate_limiter<int> limiter(o, static_cast<std::size_t>(sim.draw().between(2, 4)));
  struct use {
    weir::duration at;
    int n;
  };
  std::map<int, std::vector<use>> used;
  for (int i = 0; i < 6; ++i)
    sim.spawn([&]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      for (int round = 0; round < 4; ++round) {
        const int key = sim.draw().between(0, 4);
        const int n = sim.draw().between(1, static_cast<int>(o.burst));
        const bool waits = sim.draw().chance(0.6);
        try {
          if (waits)
            co_await limiter.async_acquire(key, n, asio::use_awaitable);
          else if (!limiter.try_acquire(key, n))
            continue;
        } catch (const boost::system::system_error& e) {
          if (e.code() == errc::rate_limited) continue;
          throw;
        }
        used[key].push_back({sim.elapsed(), n});
        if (n == 1) co_await sleep_for(1ms * sim.draw().between(0, 3));
      }
    });
  sim.run();
  for (const auto& [key, uses] : used)
    for (auto from = uses.begin(); from != uses.end(); ++from) {
      std::int64_t sum = 0;
      for (auto to = from; to != uses.end(); ++to) {
        sum += to->n;
        // Whoever waited is served when the clock shows the nanosecond in which it is due.
        const auto stretch = to->at - from->at + 1ns;
        BOOST_TEST_REQUIRE((sum - o.burst) * o.per.count() <= o.rate * stretch.count());
      }
    }
  sim.advance(1h);
  for (int key = 0; key < 5; ++key) BOOST_TEST_REQUIRE((limiter.when(key, o.burst) == sim.now()));
}

WEIR_SIMULATION_TEST_CASE(rate_of_each_key_holds_in_any_order, 2000) { crowd(sim); }

BOOST_AUTO_TEST_CASE(rate_of_each_key_holds_when_anybody_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000, crowd, {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_CASE(request_for_which_there_is_no_memory_takes_nothing_and_is_answered) {
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    simulation sim(seed, {.fail_allocation = 0.2});
    keyed_rate_limiter<int> limiter(sim.get_executor(), {.rate = 1, .per = 1h, .burst = 10}, 4);
    std::map<int, int> taken;
    int answered = 0;
    int asked = 0;
    for (int i = 0; i < 20; ++i) {
      const int key = sim.draw().between(0, 3);
      try {
        taken[key] += limiter.try_acquire(key);
      } catch (const std::bad_alloc&) {
        ++failed;
      }
      try {
        limiter.async_acquire(key, [&, key](error_code ec) {
          ++answered;
          taken[key] += !ec;
          failed += ec == boost::system::errc::not_enough_memory;
        });
        ++asked;
      } catch (const std::bad_alloc&) {
        ++failed;
      }
    }
    sim.settle();
    limiter.close();
    sim.run();
    BOOST_TEST_REQUIRE(answered == asked);
    for (const auto& [key, n] : taken)
      if (n < 10) BOOST_TEST_REQUIRE((limiter.when(key, 10 - n) == sim.now()));
  }
  BOOST_TEST(failed > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
