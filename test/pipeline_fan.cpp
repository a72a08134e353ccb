// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "pipeline_kit.hpp"
#include "sleep_for.hpp"

#include <weir/pipeline.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::system_error;
using weir::errc;
using weir::slow_consumer;
using weir::subscriber;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(pipeline_fan)

using namespace weir_test::pipeline_kit;

namespace {}  // namespace

// --- several sources -----------------------------------------------------------------------------

WEIR_COROUTINE_TEST_CASE(merge_is_fair_among_inputs_that_always_have_one) {
  const auto out =
      co_await (weir::merge(weir::from(std::views::iota(0)), weir::from(std::views::iota(1000)),
                            weir::from(std::views::iota(2000))) |
                weir::take(9) | weir::collect());
  BOOST_TEST(out == of(0, 1000, 2000, 1, 1001, 2001, 2, 1002, 2002));
}

WEIR_COROUTINE_TEST_CASE(merge_gives_what_comes_first_and_ends_with_the_last_of_its_inputs) {
  const auto slow = [](int i) { return after(ms(10 * i), i); };
  const auto slower = [](int i) { return after(ms(15 * i), -i); };
  const auto out = co_await (
      weir::merge(weir::from(upto(4)) | weir::map(slow), weir::from(upto(3)) | weir::map(slower)) |
      weir::collect());
  // 10, 30 and 60 ms; 15 and 45.
  BOOST_TEST(out == of(0, 0, 1, -1, 2, -2, 3));
}

WEIR_COROUTINE_TEST_CASE(concat_gives_one_after_the_other_and_asks_none_before_its_turn) {
  bool asked = false;
  const auto second = [&](int i) -> asio::awaitable<int> {
    asked = true;
    co_return i;
  };
  const auto first = [&](int i) -> asio::awaitable<int> {
    co_await sleep_for(1ms);
    BOOST_TEST(!asked);
    co_return i;
  };
  const auto out = co_await (weir::concat(weir::from(upto(3)) | weir::map(first),
                                          weir::from(upto(2)) | weir::map(second)) |
                             weir::collect());
  BOOST_TEST(out == of(0, 1, 2, 0, 1));
}

WEIR_COROUTINE_TEST_CASE(zip_pairs_items_and_ends_with_the_shorter) {
  const auto slow = [](int i) { return after(1ms, i); };
  const auto text = [](int i) { return std::to_string(i); };
  const auto out = co_await (
      weir::zip(weir::from(std::views::iota(0)) |
                    weir::map(slow, {.concurrency = 4, .order = weir::input_order(4)}),
                weir::from(upto(3)) | weir::map(text)) |
      weir::map([](const auto& t) { return std::to_string(std::get<0>(t)) + std::get<1>(t); }) |
      weir::fold(std::string(), std::plus<>()));
  BOOST_TEST(out == "001122");
}

// --- lanes, rate, retry --------------------------------------------------------------------------

WEIR_COROUTINE_TEST_CASE(items_of_a_key_keep_their_order_and_others_overtake_them) {
  std::map<int, ints> out;
  std::map<int, int> inside;
  const auto f = [&](int i) -> asio::awaitable<int> {
    BOOST_TEST(++inside[i % 3] == 1);
    co_await sleep_for(i % 3 == 0 ? 10ms : 1ms);
    --inside[i % 3];
    co_return i;
  };
  ints all;
  const auto note = [&](int i) {
    out[i % 3].push_back(i);
    all.push_back(i);
  };
  co_await (weir::from(upto(12)) | weir::keyed([](int i) { return i % 3; }, 3) |
            weir::map(f, {.concurrency = 3, .order = weir::per_key}) | weir::for_each(note));
  for (const auto& [key, items] : out) BOOST_TEST(std::is_sorted(items.begin(), items.end()));
  BOOST_TEST(all.size() == 12U);
  // The slow key held back none of the others.
  BOOST_TEST(all.back() == 9);
  BOOST_TEST((time.elapsed() == 40ms));
  BOOST_CHECK_EXCEPTION(weir::keyed([](int i) { return i; }, 0), system_error, is_invalid);
}

WEIR_COROUTINE_TEST_CASE(late_item_of_a_key_lets_the_others_of_its_key_go_when_it_has_ended) {
  const auto f = [](int i) { return after(i == 0 ? weir::duration(24h) : 1ms, i); };
  std::vector<std::exception_ptr> errors;
  const auto out = co_await (weir::from(upto(6)) | weir::keyed([](int) { return 1; }, 4) |
                             weir::map(f, {.concurrency = 2,
                                           .order = weir::per_key,
                                           .errors = weir::collect_errors(errors),
                                           .timeout = 5ms}) |
                             weir::collect());
  BOOST_TEST(out == of(1, 2, 3, 4, 5));
  BOOST_TEST(errors.size() == 1U);
  BOOST_TEST((time.elapsed() == 10ms));
}

WEIR_COROUTINE_TEST_CASE(throttle_lets_through_no_more_than_the_limiter) {
  weir::rate_limiter limiter(time.get_executor(), {.rate = 10, .per = 1s, .burst = 2});
  ints at;
  const auto note = [&](int) { at.push_back(static_cast<int>(time.elapsed() / 1ms)); };
  co_await (weir::from(upto(5)) | weir::throttle(limiter) | weir::for_each(note));
  BOOST_TEST(at == of(0, 0, 100, 200, 300));
}

WEIR_COROUTINE_TEST_CASE(token_of_a_throttle_that_is_ended_goes_back) {
  weir::rate_limiter limiter(time.get_executor(), {.rate = 1, .per = 1s, .burst = 1});
  const auto slow = [](int i) { return after(1ms, i); };
  const auto out = co_await (weir::from(std::views::iota(0)) | weir::throttle(limiter) |
                             weir::map(slow, {.concurrency = 3}) | weir::first());
  BOOST_TEST(*out == 0);
  BOOST_TEST(limiter.available() == 0);  // one was used, and the one that was waited for is back
}

WEIR_COROUTINE_TEST_CASE(retried_items_keep_their_place) {
  std::map<int, int> tries;
  const auto flaky = [&](const int& i) -> asio::awaitable<int> {
    co_await sleep_for(1ms);
    if (++tries[i] < 3 && i % 2) throw system_error(asio::error::connection_reset);
    co_return i;
  };
  const auto out = co_await (weir::from(upto(5)) |
                             weir::map(weir::retrying(flaky, {.max_attempts = 3, .seed = 1}),
                                       {.concurrency = 5, .order = weir::input_order(5)}) |
                             weir::collect());
  BOOST_TEST(out == upto(5));
  BOOST_TEST(tries[1] == 3);
  BOOST_TEST(tries[2] == 1);
}

// --- progress ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(progress_is_a_count_a_rate_and_what_is_left) {
  const weir::time_point start{};
  const struct {
    std::uint64_t total, count;
    weir::duration elapsed;
    double share, rate;
    weir::duration left;
  } table[] = {
      {100, 0, 0s, 0, 0, -1s},    {100, 0, 5s, 0, 0, -1s},    {100, 25, 5s, 0.25, 5, 15s},
      {100, 100, 10s, 1, 10, 0s}, {100, 120, 10s, 1, 12, 0s}, {0, 30, 10s, -1, 3, -1s},
  };
  for (const auto& row : table) {
    weir::progress_meter meter(row.total, start);
    meter.add(row.count);
    const weir::progress p = meter.read(start + row.elapsed);
    BOOST_TEST(p.count == row.count);
    BOOST_TEST(p.share.value_or(-1) == row.share);
    BOOST_TEST(p.per_second == row.rate);
    BOOST_TEST((p.left.value_or(-1s) == row.left));
  }
}

WEIR_COROUTINE_TEST_CASE(tap_progress_counts_each_stage) {
  weir::progress_meter in(10);
  weir::progress_meter out(10);
  const auto slow = [&](int i) -> asio::awaitable<int> {
    co_await sleep_for(1ms);
    if (i == 5) BOOST_TEST((in.read().count > out.read().count && out.read().per_second > 0));
    co_return i;
  };
  co_await (weir::from(upto(10)) | weir::tap_progress(in) | weir::map(slow) |
            weir::tap_progress(out) | weir::collect());
  BOOST_TEST(in.read().count == 10U);
  BOOST_TEST((out.read().share == 1.0));
}

// --- several sinks -------------------------------------------------------------------------------

WEIR_COROUTINE_TEST_CASE(broadcast_gives_everything_to_everybody_and_returns_what_they_return) {
  int seen = 0;
  const auto out = co_await (
      weir::from(upto(5)) |
      weir::broadcast(weir::map([](int i) { return i * 2; }) | weir::collect(),
                      weir::for_each([&](int) { ++seen; }), weir::fold(0, std::plus<>())));
  BOOST_TEST(std::get<0>(out) == of(0, 2, 4, 6, 8));
  BOOST_TEST(seen == 5);
  BOOST_TEST(std::get<2>(out) == 10);
}

WEIR_COROUTINE_TEST_CASE(slow_subscriber_blocks_misses_or_is_cut_off_as_it_chose) {
  const auto slow = [](int) { return sleep_for(10ms); };
  const auto ticks = [&] {
    return weir::from(upto(20)) | weir::map([](int i) { return after(1ms, i); });
  };
  for (const auto policy : {slow_consumer::block, slow_consumer::drop, slow_consumer::disconnect}) {
    const auto start = time.elapsed();
    int quick = 0;
    int late = 0;
    std::uint64_t missed = 0;
    weir::duration quick_took{};
    const auto count = [&](int) {
      ++quick;
      quick_took = time.elapsed() - start;
    };
    auto hard = weir::tap([&](int) { ++late; }) | weir::for_each(slow);
    auto branch =
        subscriber(std::move(hard), {.buffer = 3, .when_slow = policy, .missed = &missed});
    auto all = ticks() | weir::broadcast(weir::for_each(count), std::move(branch));
    co_await std::move(all);
    BOOST_TEST(quick == 20);
    BOOST_TEST(late + static_cast<int>(missed) == 20);
    if (policy == slow_consumer::block)
      BOOST_TEST((missed == 0U && quick_took > 100ms));
    else
      BOOST_TEST((missed > 0U && quick_took == 20ms));
    if (policy == slow_consumer::disconnect) BOOST_TEST(late < 8);
  }
  BOOST_CHECK_EXCEPTION(subscriber(weir::collect(), {.buffer = 0}), system_error, is_invalid);
}

WEIR_COROUTINE_TEST_CASE(branch_that_has_enough_leaves_and_the_last_ends_what_is_above) {
  int read = 0;
  const auto count = [&](int) { ++read; };
  const auto out = co_await (weir::from(std::views::iota(0)) | weir::tap(count) |
                             weir::broadcast(weir::first(), weir::take(40) | weir::collect()));
  BOOST_TEST(*std::get<0>(out) == 0);
  BOOST_TEST(std::get<1>(out) == upto(40));
  BOOST_TEST(read < 40 + 20);
}

WEIR_COROUTINE_TEST_CASE(error_of_a_branch_ends_all) {
  const auto boom = [](int i) -> asio::awaitable<void> {
    co_await sleep_for(1ms);
    if (i == 1) throw std::runtime_error("branch");
  };
  std::string what;
  try {
    co_await (
        weir::from(std::views::iota(0)) |
        weir::broadcast(weir::for_each([](int) { return sleep_for(24h); }), weir::for_each(boom)));
  } catch (const std::runtime_error& e) {
    what = e.what();
  }
  BOOST_TEST(what == "branch");
  BOOST_TEST((time.elapsed() == 2ms));
}

WEIR_COROUTINE_TEST_CASE(partition_deals_each_item_to_one) {
  const auto even = [](const std::unique_ptr<int>& p) { return *p % 2 == 0; };
  const auto value = [](std::unique_ptr<int> p) { return *p; };
  const auto out =
      co_await (weir::from(upto(7)) | weir::map([](int i) { return std::make_unique<int>(i); }) |
                weir::partition(even, weir::map(value) | weir::collect(),
                                weir::map(value) | weir::collect()));
  BOOST_TEST(std::get<0>(out) == of(0, 2, 4, 6));
  BOOST_TEST(std::get<1>(out) == of(1, 3, 5));
}

BOOST_AUTO_TEST_CASE(batch_in_one_branch_is_flushed_when_all_is_cancelled) {
  weir::test::virtual_time time;
  asio::cancellation_signal signal;
  std::exception_ptr out;
  std::vector<ints> written;
  int seen = 0;
  const auto write = [&](ints b) -> asio::awaitable<void> {
    co_await sleep_for(1ms);
    written.push_back(std::move(b));
  };
  asio::co_spawn(
      time.get_executor(),
      weir::from(std::views::iota(0)) | weir::map([](int i) { return after(1ms, i); }) |
          weir::broadcast(weir::for_each([&](int) { ++seen; }),
                          weir::batch(10, 1h, weir::on_cancel::flush) | weir::for_each(write)),
      asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { out = e; }));
  time.run_for(3500us);
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST((written == std::vector<ints>{{0, 1, 2}}));
  BOOST_TEST(seen == 3);
  BOOST_TEST(static_cast<bool>(out));
  BOOST_TEST((time.elapsed() == 4500us));
}

// --- properties ----------------------------------------------------------------------------------

namespace {

/// Two drawn sources, merged, worked on by key, and dealt to two branches and a third of items that
/// are few.
struct drawn {
  explicit drawn(simulation& s) : sim(s) {
    auto& draw = s.draw();
    for (int& n : items) n = draw.between(0, 8);
    for (int i = 0; i < 16; ++i) takes.push_back(draw.between(0, 3));
    concurrency = draw.between(1, 4);
    buffer = draw.between(1, 3);
    lanes = draw.between(1, 4);
    port = draw.between(1, 3);
    policy = draw.chance(0.5)   ? slow_consumer::block
             : draw.chance(0.5) ? slow_consumer::drop
                                : slow_consumer::disconnect;
    take = draw.chance(0.3) ? static_cast<std::size_t>(draw.between(0, 5)) : 1000U;
    if (draw.chance(0.2)) fails = draw.between(0, 15);
  }

  asio::awaitable<counted> work(counted c) {
    const int key = c.value % 4;
    struct scope {
      explicit scope(int& c) : count(c) { ++count; }
      ~scope() { --count; }
      int& count;
    };
    const scope in(inside[static_cast<std::size_t>(key)]);
    const scope all(running);
    BOOST_TEST_REQUIRE(inside[static_cast<std::size_t>(key)] == 1);
    BOOST_TEST_REQUIRE(running <= concurrency);
    if (const int t = takes[static_cast<std::size_t>(c.value)]) co_await sleep_for(ms(t));
    if (c.value == fails) throw std::runtime_error("drawn");
    co_return c;
  }

  asio::awaitable<void> body() {
    const auto make = [](int i) { return counted(i); };
    const auto key = [](const counted& c) { return c.value % 4; };
    const auto f = [this](counted c) { return work(std::move(c)); };
    const auto note = [this](int branch) {
      return [this, branch](const counted& c) -> asio::awaitable<void> {
        out[branch].push_back(c.value);
        co_await sleep_for(ms(takes[static_cast<std::size_t>(15 - c.value)]));
      };
    };
    auto slow = subscriber(weir::for_each(note(1)),
                           {.buffer = port, .when_slow = policy, .missed = &missed});
    auto few = weir::take(take) | weir::for_each(note(2));
    auto pipeline =
        weir::merge(weir::from(std::views::iota(0, items[0])) | weir::map(make),
                    weir::from(std::views::iota(8, 8 + items[1])) | weir::map(make)) |
        weir::keyed(key, lanes) |
        weir::map(f, {.concurrency = concurrency, .buffer = buffer, .order = weir::per_key}) |
        weir::broadcast(weir::for_each(note(0)), std::move(slow), std::move(few));
    try {
      co_await std::move(pipeline);
    } catch (const std::runtime_error& e) {
      error = e.what();
    }
    nothing_left();
  }

  void nothing_left() const {
    BOOST_TEST_REQUIRE(counted::alive == 0);
    BOOST_TEST_REQUIRE(running == 0);
  }

  void check(bool may_be_cancelled) const {
    nothing_left();
    for (const ints& branch : out)
      for (int key = 0; key < 4; ++key)
        for (const int source : {0, 8}) {
          ints of_key;
          for (const int i : branch)
            if (i % 4 == key && i / 8 == source / 8) of_key.push_back(i);
          BOOST_TEST_REQUIRE(std::is_sorted(of_key.begin(), of_key.end()));
          BOOST_TEST_REQUIRE((std::adjacent_find(of_key.begin(), of_key.end()) == of_key.end()));
        }
    if (may_be_cancelled) return;
    const bool had = (fails < items[0] && fails >= 0) || (fails >= 8 && fails - 8 < items[1]);
    BOOST_TEST_REQUIRE(error == (had ? "drawn" : ""));
    if (had) return;
    const auto all = static_cast<std::size_t>(items[0] + items[1]);
    BOOST_TEST_REQUIRE(out[0].size() == all);
    BOOST_TEST_REQUIRE(out[1].size() + missed == all);
    if (policy == slow_consumer::block) BOOST_TEST_REQUIRE(missed == 0U);
    BOOST_TEST_REQUIRE(out[2].size() == std::min(all, take));
  }

  simulation& sim;
  int items[2]{};
  ints takes;
  int concurrency;
  int buffer;
  int lanes;
  int port;
  slow_consumer policy{};
  std::size_t take;
  int fails = -1;
  int inside[4]{};
  int running = 0;
  ints out[3];
  std::uint64_t missed = 0;
  std::string error;
};

}  // namespace

WEIR_SIMULATION_TEST_CASE(every_branch_gets_every_item_in_the_order_of_its_key, 2000) {
  drawn d(sim);
  sim.spawn("pipeline", d.body());
  sim.run();
  d.check(false);
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_a_fan_that_is_cancelled_at_any_await) {
  weir::test::for_each_seed(2000,
                            [](simulation& sim) {
                              const weir::test::leak_check leaks(sim);
                              drawn d(sim);
                              sim.spawn("pipeline", d.body());
                              sim.run();
                              d.check(true);
                            },
                            {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_a_fan_whose_simulation_ends_in_the_middle) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::optional<drawn> d;
    {
      simulation sim(seed);
      d.emplace(sim);
      sim.spawn("pipeline", d->body());
      sim.run_for(ms(sim.draw().between(0, 12)));
    }
    d->nothing_left();
  }
}

BOOST_AUTO_TEST_SUITE_END()
