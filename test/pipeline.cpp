// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "pipeline_kit.hpp"
#include "sleep_for.hpp"

#include <weir/pipeline.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::system_error;
using weir::errc;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(pipeline)

using namespace weir_test::pipeline_kit;

namespace {

/// What runs in a function, and how much of it there was at most.
struct gauge {
  int now = 0;
  int most = 0;
  int total = 0;

  class scope {
   public:
    explicit scope(gauge& g) : gauge_(g) {
      ++gauge_.total;
      gauge_.most = std::max(gauge_.most, ++gauge_.now);
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope() { --gauge_.now; }

   private:
    gauge& gauge_;
  };
};

/// Runs a pipeline to its end on virtual time, and cancels it at `cancel_at` if that is given.
template <typename R>
std::exception_ptr run(weir::test::virtual_time& time, asio::awaitable<R> pipeline,
                       std::optional<weir::duration> cancel_at = {},
                       asio::cancellation_type type = asio::cancellation_type::terminal) {
  std::exception_ptr out;
  bool ended = false;
  asio::cancellation_signal signal;
  auto wrapped = [](asio::awaitable<R> p) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await std::move(p);
  };
  asio::co_spawn(time.get_executor(), wrapped(std::move(pipeline)),
                 asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) {
                   out = e;
                   ended = true;
                 }));
  if (cancel_at) {
    time.run_for(*cancel_at);
    if (!ended) signal.emit(type);
  }
  time.run();
  BOOST_TEST_REQUIRE(ended);
  return out;
}

weir::error_code code_of(const std::exception_ptr& e) {
  if (!e) return {};
  try {
    std::rethrow_exception(e);
  } catch (const system_error& error) {
    return error.code();
  } catch (...) {
    return errc::retry_exhausted;  // stands for "anything else"
  }
}

std::string text_of(const std::exception_ptr& e) {
  if (!e) return "none";
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

// --- what each part does -------------------------------------------------------------------------

WEIR_COROUTINE_TEST_CASE(ranges_are_read_and_those_handed_over_are_moved_out_of) {
  const ints kept = upto(3);
  BOOST_TEST(co_await (weir::from(kept) | weir::collect()) == kept);
  BOOST_TEST(co_await (weir::from(std::views::iota(0, 3)) | weir::collect()) == kept);
  std::istringstream words("0 1 2");
  BOOST_TEST(co_await (weir::from(std::ranges::istream_view<int>(words)) | weir::collect()) ==
             kept);
  std::vector<std::unique_ptr<int>> own;
  own.push_back(std::make_unique<int>(7));
  const auto moved = co_await (weir::from(std::move(own)) | weir::collect());
  BOOST_TEST(*moved.at(0) == 7);
}

WEIR_COROUTINE_TEST_CASE(empty_sources_complete) {
  const ints none;
  const auto slow = [](int i) { return after(1ms, i); };
  BOOST_TEST((co_await (weir::from(none) | weir::collect())).empty());
  BOOST_TEST((co_await (weir::from(none) | weir::map(slow) | weir::batch(3, 1ms) | weir::unbatch() |
                        weir::collect()))
                 .empty());
  BOOST_TEST(!(co_await (weir::from(none) | weir::map(slow) | weir::first())).has_value());
  BOOST_TEST((co_await (weir::from(none) | weir::fold(5, std::plus<>()))) == 5);
  BOOST_TEST((time.elapsed() == 0ms));
}

WEIR_COROUTINE_TEST_CASE(fused_stages_do_what_they_say) {
  const auto odd = [](int i) { return i % 2 == 1; };
  const auto square = [](int i) { return i * i; };
  ints seen;
  const auto see = [&](int i) { seen.push_back(i); };
  const auto out = co_await (weir::from(std::views::iota(0)) | weir::filter(odd) |
                             weir::map(square) | weir::tap(see) | weir::scan(0, std::plus<>()) |
                             weir::take_while([](int i) { return i < 40; }) | weir::collect());
  BOOST_TEST(out == (of(1, 10, 35)));
  BOOST_TEST(seen == (of(1, 9, 25, 49)));
  const auto twice = [](int i) { return of(i, i); };
  BOOST_TEST(co_await (weir::from(upto(3)) | weir::flat_map(twice) | weir::take(5) |
                       weir::collect()) == (of(0, 0, 1, 1, 2)));
  BOOST_TEST(co_await (weir::from(upto(3)) | weir::take(0) | weir::collect()) == ints());
}

WEIR_COROUTINE_TEST_CASE(functions_that_are_waited_for_give_items_until_they_return_none) {
  int calls = 0;
  const auto next = [&]() -> asio::awaitable<std::optional<int>> {
    co_await sleep_for(1ms);
    if (++calls > 3) co_return std::nullopt;
    co_return calls;
  };
  BOOST_TEST(co_await (weir::from(next) | weir::collect()) == (of(1, 2, 3)));
  BOOST_TEST(calls == 4);
}

WEIR_COROUTINE_TEST_CASE(intervals_tick_and_leave_out_what_nobody_was_ready_for) {
  ints at;
  const auto slow = [&](std::uint64_t n) -> asio::awaitable<void> {
    at.push_back(static_cast<int>(time.elapsed() / 1ms));
    if (n == 1) co_await sleep_for(35ms);
  };
  co_await (weir::interval(10ms) | weir::take(5) | weir::for_each(slow));
  BOOST_TEST(at.size() == 5U);
  BOOST_TEST(at.at(0) == 10);
  BOOST_TEST(at.at(1) == 20);
  BOOST_TEST((time.elapsed() >= 60ms));
  BOOST_CHECK_EXCEPTION(weir::interval(0ms), system_error, is_invalid);
}

WEIR_COROUTINE_TEST_CASE(batches_are_full_or_late_or_the_last) {
  std::vector<std::pair<ints, int>> got;
  const auto note = [&](ints b) {
    got.emplace_back(std::move(b), static_cast<int>(time.elapsed() / 1ms));
  };
  const ints pauses = of(0, 0, 0, 0, 10, 1, 9, 0);
  int i = 0;
  const auto next = [&]() -> asio::awaitable<std::optional<int>> {
    if (i == 8) co_return std::nullopt;
    co_await sleep_for(ms(pauses[static_cast<std::size_t>(i)]));
    co_return i++;
  };
  co_await (weir::from(next) | weir::batch(3, 5ms) | weir::for_each(note));
  const std::vector<std::pair<ints, int>> expected{
      {{0, 1, 2}, 0}, {{3}, 5}, {{4, 5}, 15}, {{6, 7}, 20}};
  BOOST_TEST((got == expected));
}

WEIR_COROUTINE_TEST_CASE(queues_are_a_source_and_a_sink) {
  weir::bounded_queue<int> in(time.get_executor(), 2, weir::block);
  weir::bounded_queue<int> out(time.get_executor(), 2, weir::block);
  time.spawn([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 10; ++i) co_await in.async_send(i, asio::use_awaitable);
    in.close();
  });
  ints got;
  time.spawn([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 10; ++i) got.push_back(co_await out.async_receive(asio::use_awaitable));
  });
  co_await (weir::from(in) | weir::into(out));
  BOOST_TEST(!out.metrics().closed);
  time.settle();
  BOOST_TEST(got == upto(10));
}

WEIR_COROUTINE_TEST_CASE(stages_can_be_put_together_before_there_is_a_source) {
  const auto doubled = weir::map([](int i) { return i * 2; }) | weir::take(2);
  auto copy = doubled;
  BOOST_TEST(co_await (weir::from(upto(5)) | copy | weir::collect()) == (of(0, 2)));
  BOOST_TEST(co_await (weir::from(upto(5)) | doubled | weir::collect()) == (of(0, 2)));
}

BOOST_AUTO_TEST_CASE(what_cannot_work_is_refused_before_anything_starts) {
  const auto f = [](int i) -> asio::awaitable<int> { co_return i; };
  for (const int n : {0, -1}) {
    const auto refused = [](auto make) { BOOST_CHECK_EXCEPTION(make(), system_error, is_invalid); };
    refused([&] { return weir::map(f, {.concurrency = n}); });
    refused([&] { return weir::map(f, {.buffer = n}); });
    refused([&] { return weir::map(f, {.order = weir::input_order(n)}); });
    refused([&] { return weir::batch(n, 1ms); });
    refused([&] { return weir::batch(1, ms(n)); });
    refused([&] {
      return weir::from([]() -> asio::awaitable<std::optional<int>> { co_return 1; }, n);
    });
  }
  BOOST_CHECK_EXCEPTION(weir::map(f, {.timeout = -1ms}), system_error, is_invalid);
  BOOST_CHECK_EXCEPTION(weir::map(f, {.errors = weir::tolerate(-1)}), system_error, is_invalid);
  BOOST_CHECK_EXCEPTION(weir::map(f, {.order = weir::input_order(1, -1ms)}), system_error,
                        is_invalid);
  BOOST_CHECK_EXCEPTION(weir::from(upto(1)) | weir::map(f, {.order = weir::per_key}), system_error,
                        is_invalid);
}

// --- order, concurrency, backpressure ------------------------------------------------------------

WEIR_COROUTINE_TEST_CASE(completion_order_is_that_in_which_they_are_done) {
  const auto slow = [](int i) { return after(ms(i), i); };
  BOOST_TEST(co_await (weir::from(of(3, 1, 2)) | weir::map(slow, {.concurrency = 3}) |
                       weir::collect()) == (of(1, 2, 3)));
  BOOST_TEST((time.elapsed() == 3ms));
}

WEIR_COROUTINE_TEST_CASE(input_order_is_that_in_which_they_came) {
  const auto slow = [](int i) { return after(ms(i), i); };
  BOOST_TEST(co_await (weir::from(of(3, 1, 2)) |
                       weir::map(slow, {.concurrency = 3, .order = weir::input_order(3)}) |
                       weir::collect()) == (of(3, 1, 2)));
  BOOST_TEST((time.elapsed() == 3ms));
}

// fulcrumgenomics/fgumi PR#697, gadget-inc/silo PR#382.
WEIR_COROUTINE_TEST_CASE(slow_head_holds_back_no_more_than_the_window) {
  int taken = 0;
  int passed = 0;
  int most = 0;
  const auto in = [&](int) { most = std::max(most, ++taken - passed); };
  const auto slow = [](int i) { return after(i == 0 ? weir::duration(1s) : 1ms, i); };
  const auto out = co_await (weir::from(std::views::iota(0, 10000)) | weir::tap(in) |
                             weir::map(slow, {.concurrency = 8, .order = weir::input_order(64)}) |
                             weir::tap([&](int) { ++passed; }) | weir::collect());
  BOOST_TEST(out == upto(10000));
  BOOST_TEST(most == 64);
}

// The same two: what is behind a head that fails or is late goes on.
WEIR_COROUTINE_TEST_CASE(head_that_throws_or_is_late_releases_its_successors) {
  std::vector<std::exception_ptr> errors;
  const auto throws = [](int i) -> asio::awaitable<int> {
    co_await sleep_for(i == 0 ? 10ms : 1ms);
    if (i == 0) throw std::runtime_error("head");
    co_return i;
  };
  BOOST_TEST(co_await (weir::from(upto(4)) |
                       weir::map(throws, {.concurrency = 4,
                                          .order = weir::input_order(4),
                                          .errors = weir::collect_errors(errors)}) |
                       weir::collect()) == (of(1, 2, 3)));
  BOOST_TEST(errors.size() == 1U);
  BOOST_TEST(text_of(errors.at(0)) == "head");

  const auto never = [](int i) { return after(i == 0 ? weir::duration(24h) : 1ms, i); };
  const auto start = time.elapsed();
  BOOST_TEST(co_await (weir::from(upto(4)) |
                       weir::map(never, {.concurrency = 2,
                                         .order = weir::input_order(3, 5ms, weir::skip)}) |
                       weir::collect()) == (of(1, 2, 3)));
  BOOST_TEST((time.elapsed() - start == 6ms));  // the last one found the window full

  weir::error_code code;
  try {
    co_await (weir::from(upto(4)) |
              weir::map(never, {.concurrency = 2, .order = weir::input_order(3, 5ms, weir::fail)}) |
              weir::collect());
  } catch (const system_error& e) {
    code = e.code();
  }
  BOOST_TEST(code == errc::deadline_exceeded);
}

WEIR_COROUTINE_TEST_CASE(late_item_that_does_not_listen_holds_its_worker_and_nobody_else) {
  const auto deaf = [](int i) -> asio::awaitable<int> {
    if (i == 0) {
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      co_await sleep_for(50ms);
    }
    co_await sleep_for(1ms);
    co_return i;
  };
  ints at;
  const auto note = [&](int) { at.push_back(static_cast<int>(time.elapsed() / 1ms)); };
  co_await (weir::from(upto(4)) |
            weir::map(deaf, {.concurrency = 2, .order = weir::input_order(4, 5ms, weir::skip)}) |
            weir::for_each(note));
  BOOST_TEST(at == (of(5, 5, 5)));
  BOOST_TEST((time.elapsed() == 50ms || time.elapsed() == 51ms));
}

WEIR_COROUTINE_TEST_CASE(timeouts_cut_items_that_never_complete_and_the_error_rule_decides) {
  const auto f = [](int i) { return after(i % 2 ? weir::duration(1h) : 1ms, i); };
  std::vector<std::exception_ptr> errors;
  BOOST_TEST(
      co_await (
          weir::from(upto(5)) |
          weir::map(f, {.concurrency = 2, .errors = weir::collect_errors(errors), .timeout = 5ms}) |
          weir::collect()) == (of(0, 2, 4)));
  BOOST_TEST(errors.size() == 2U);
  BOOST_TEST(code_of(errors.at(0)) == errc::deadline_exceeded);
}

WEIR_COROUTINE_TEST_CASE(concurrency_is_used_and_not_exceeded) {
  gauge g;
  const auto f = [&](int i) -> asio::awaitable<int> {
    const gauge::scope in(g);
    co_await sleep_for(1ms);
    co_return i;
  };
  co_await (weir::from(upto(40)) | weir::map(f, {.concurrency = 8}) | weir::collect());
  BOOST_TEST(g.most == 8);
  BOOST_TEST((time.elapsed() == 5ms));
  const auto sink = [&](int) -> asio::awaitable<void> {
    const gauge::scope in(g);
    co_await sleep_for(1ms);
  };
  g = {};
  co_await (weir::from(upto(6)) | weir::for_each(sink));
  BOOST_TEST(g.most == 1);
  g = {};
  co_await (weir::from(upto(6)) | weir::for_each(sink, {.concurrency = 3}));
  BOOST_TEST(g.most == 3);
}

WEIR_COROUTINE_TEST_CASE(slow_sink_holds_the_source_to_the_sum_of_the_buffers) {
  int read = 0;
  int done = 0;
  int most = 0;
  const auto count = [&](int) { most = std::max(most, ++read - done); };
  const auto quick = [](int i) -> asio::awaitable<int> { co_return i; };
  const auto slow = [&](const ints& b) -> asio::awaitable<void> {
    co_await sleep_for(1ms);
    done += static_cast<int>(b.size());
  };
  co_await (weir::from(std::views::iota(0, 1000)) | weir::tap(count) |
            weir::map(quick, {.concurrency = 4, .buffer = 6}) |
            weir::map(quick, {.concurrency = 2, .order = weir::input_order(5)}) | weir::batch(7) |
            weir::for_each(slow, {.concurrency = 1, .buffer = 1}));
  // 4 + 6 in the first map, 5 in the second, a batch that is complete, and one with the sink.
  BOOST_TEST(most <= 4 + 6 + 5 + 7 + 7);
  BOOST_TEST(most >= 7 + 7);
  BOOST_TEST(read == 1000);
}

// --- ends ----------------------------------------------------------------------------------------

WEIR_COROUTINE_TEST_CASE(first_error_comes_out_when_all_else_has_ended) {
  gauge g;
  const auto f = [&](int i) -> asio::awaitable<int> {
    const gauge::scope in(g);
    co_await sleep_for(i == 2 ? 1ms : 10ms);
    if (i == 2) throw std::runtime_error("root cause");
    co_return i;
  };
  std::string what;
  try {
    co_await (weir::from(upto(100)) | weir::map(f, {.concurrency = 4}) |
              weir::map([](int i) { return after(5ms, i); }, {.concurrency = 2}) | weir::collect());
  } catch (const std::runtime_error& e) {
    what = e.what();
  }
  BOOST_TEST(what == "root cause");
  BOOST_TEST(g.now == 0);
  BOOST_TEST((time.elapsed() == 1ms));
}

WEIR_COROUTINE_TEST_CASE(error_rules_do_what_they_say) {
  const auto f = [](int i) -> asio::awaitable<int> {
    if (i % 3 == 0) throw std::runtime_error(std::to_string(i));
    co_return i;
  };
  const auto by = [&](weir::error_rule rule) {
    return weir::from(upto(7)) | weir::map(f, {.order = weir::input_order(2), .errors = rule}) |
           weir::collect();
  };
  const auto outcome = [&](weir::error_rule rule) -> asio::awaitable<std::string> {
    std::string text;
    try {
      for (const int i : co_await by(rule)) text += std::to_string(i);
    } catch (const std::exception& e) {
      text = std::string("error ") + e.what();
    }
    co_return text;
  };
  BOOST_TEST(co_await outcome(weir::fail_fast) == "error 0");
  BOOST_TEST(co_await outcome(weir::tolerate(2)) == "error 6");
  BOOST_TEST(co_await outcome(weir::tolerate(3)) == "1245");
  std::vector<std::exception_ptr> errors;
  BOOST_TEST(co_await outcome(weir::collect_errors(errors)) == "1245");
  BOOST_TEST(errors.size() == 3U);
  std::string handled;
  auto handler = [&](const std::exception_ptr& e) {
    handled += text_of(e);
    if (handled.size() == 3) throw std::logic_error("enough");
  };
  BOOST_TEST(co_await outcome(weir::on_error(handler)) == "error enough");
  BOOST_TEST(handled == "036");
  // The same for a function that waits for nothing.
  const auto now = [](int i) {
    if (i % 3 == 0) throw std::runtime_error(std::to_string(i));
    return i;
  };
  BOOST_TEST(co_await (weir::from(upto(7)) | weir::map(now, {.errors = weir::tolerate(3)}) |
                       weir::collect()) == (of(1, 2, 4, 5)));
}

namespace {

/// Throws when it is moved, or read, for the `when`th time.
struct bomb {
  explicit bomb(int* fuse) : fuse_(fuse) {}
  bomb(bomb&& other) : fuse_(other.fuse_) { burn(); }
  bomb(const bomb& other) : fuse_(other.fuse_) { burn(); }
  bomb& operator=(const bomb&) = default;
  void burn() const {
    if (--*fuse_ == 0) throw std::runtime_error("move");
  }
  int* fuse_;
};

}  // namespace

// A12.
BOOST_AUTO_TEST_CASE(exceptions_from_anything_of_the_user_come_out_and_nothing_is_left) {
  const auto quick = [](int i) -> asio::awaitable<int> { co_return i; };
  const auto boom = [](int i) {
    if (i == 3) throw std::runtime_error("boom");
    return true;
  };
  const auto boom_later = [](int i) -> asio::awaitable<int> {
    co_await sleep_for(1ms);
    if (i == 3) throw std::runtime_error("boom");
    co_return i;
  };
  const auto sink = [](int) {};
  weir::test::virtual_time time;
  const weir::test::leak_check leaks(time);
  const auto expect = [&](auto pipeline) {
    BOOST_TEST(text_of(run(time, std::move(pipeline))) == "boom");
  };
  const auto src = [] { return weir::from(upto(6)); };
  const auto q = weir::map(quick, {.concurrency = 2});
  expect(weir::from(upto(6) | std::views::transform([&](int i) { return boom(i), i; })) | q |
         weir::for_each(sink));
  expect(src() | weir::filter(boom) | q | weir::for_each(sink));
  expect(src() | q | weir::tap([&](int i) { boom(i); }) | q | weir::for_each(sink));
  expect(src() | weir::map(boom_later, {.concurrency = 2}) | weir::for_each(sink));
  expect(src() | q | weir::take_while(boom) | weir::for_each(sink));
  expect(src() | q | weir::scan(0, [&](int, int i) { return boom(i), i; }) | weir::collect());
  expect(src() | q | weir::fold(0, [&](int, int i) { return boom(i), i; }));
  expect(src() | q | weir::for_each([&](int i) { boom(i); }));
  expect(src() | q | weir::batch(2, 1ms) | weir::unbatch() |
         weir::for_each([&](int i) { boom(i); }));
  expect(src() | q |
         weir::for_each([&](int i) -> asio::awaitable<void> { co_await boom_later(i); }));
  expect(weir::from(
             []() -> asio::awaitable<std::optional<int>> { throw std::runtime_error("boom"); }) |
         q | weir::for_each(sink));
  // At each move of an item there is.
  for (int when = 1;; ++when) {
    int fuse = when;
    const auto e = run(time, weir::from(upto(2)) | weir::map([&](int) { return bomb(&fuse); }) |
                                 weir::map([](bomb b) -> asio::awaitable<bomb> { co_return b; }) |
                                 weir::batch(2) | weir::unbatch() | weir::for_each([](bomb) {}));
    if (fuse > 0) {
      BOOST_TEST(!e);
      BOOST_TEST(when > 10);
      break;
    }
    BOOST_TEST(text_of(e) == "move");
  }
}

WEIR_COROUTINE_TEST_CASE(consumer_that_stops_early_ends_everything_above) {
  gauge g;
  int started = 0;
  const auto f = [&](int i) -> asio::awaitable<int> {
    const gauge::scope in(g);
    ++started;
    co_await sleep_for(i < 3 ? 1ms : weir::duration(24h));
    co_return i;
  };
  const auto out = co_await (weir::from(std::views::iota(0)) | weir::map(f, {.concurrency = 6}) |
                             weir::map([](int i) { return after(1ms, i); }, {.concurrency = 6}) |
                             weir::take(3) | weir::collect());
  BOOST_TEST(out.size() == 3U);
  BOOST_TEST(g.now == 0);
  BOOST_TEST(started <= 12);
  BOOST_TEST((time.elapsed() == 2ms));
  const auto one =
      co_await (weir::from(std::views::iota(0)) | weir::map(f, {.concurrency = 6}) | weir::first());
  BOOST_TEST((one && *one < 3));
  BOOST_TEST(g.now == 0);
}

// sourcegraph/conc#88.
WEIR_COROUTINE_TEST_CASE(failure_ends_those_who_hold_all_workers_and_wait_for_it) {
  const auto f = [](int i) -> asio::awaitable<int> {
    if (i == 9) throw std::runtime_error("the tenth");
    co_await sleep_for(24h);
    co_return i;
  };
  std::string what;
  try {
    co_await (weir::from(upto(90)) | weir::map(f, {.concurrency = 10}) | weir::collect());
  } catch (const std::runtime_error& e) {
    what = e.what();
  }
  BOOST_TEST(what == "the tenth");
  BOOST_TEST((time.elapsed() == 0ms));
}

BOOST_AUTO_TEST_CASE(cancellation_of_any_type_ends_everything_at_once) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    weir::test::virtual_time time;
    gauge g;
    const auto f = [&](int i) -> asio::awaitable<int> {
      const gauge::scope in(g);
      co_await sleep_for(3ms);
      co_return i;
    };
    const auto e = run(time,
                       weir::from(std::views::iota(0)) | weir::map(f, {.concurrency = 3}) |
                           weir::batch(100) | weir::for_each([](const ints&) {}),
                       10ms, type);
    BOOST_TEST((code_of(e) == asio::error::operation_aborted));
    BOOST_TEST(g.now == 0);
    BOOST_TEST((time.elapsed() == 10ms));
  }
}

BOOST_AUTO_TEST_CASE(pipelines_that_never_wait_can_be_cancelled_and_let_others_run) {
  weir::test::virtual_time time;
  asio::cancellation_signal signals[2];
  std::uint64_t items = 0;
  int ended = 0;
  const auto on_end = [&](const std::exception_ptr& e, auto&&...) {
    BOOST_TEST((code_of(e) == asio::error::operation_aborted));
    ++ended;
  };
  const auto endless = [] { return weir::from(std::views::iota(std::uint64_t{0})); };
  const auto none = [](std::uint64_t) { return false; };
  const auto count = [&](std::uint64_t) { ++items; };
  asio::co_spawn(time.get_executor(), endless() | weir::filter(none) | weir::first(),
                 asio::bind_cancellation_slot(signals[0].slot(), on_end));
  asio::co_spawn(time.get_executor(), endless() | weir::for_each(count),
                 asio::bind_cancellation_slot(signals[1].slot(), on_end));
  // Neither keeps this from being run.
  asio::post(time.get_executor(), [&] {
    for (auto& s : signals) s.emit(asio::cancellation_type::terminal);
  });
  time.run();
  BOOST_TEST(ended == 2);
  BOOST_TEST(items > 0U);
}

BOOST_AUTO_TEST_CASE(batch_flushes_or_drops_its_tail_as_chosen_when_it_is_cancelled) {
  for (const auto tail : {weir::on_cancel::drop, weir::on_cancel::flush}) {
    weir::test::virtual_time time;
    std::vector<ints> written;
    const auto f = [](int i) { return after(1ms, i); };
    const auto write = [&](ints b) -> asio::awaitable<void> {
      co_await sleep_for(2ms);
      written.push_back(std::move(b));
    };
    const auto e = run(time,
                       weir::from(std::views::iota(0)) | weir::map(f) | weir::batch(3, 1h, tail) |
                           weir::for_each(write),
                       7500us);
    BOOST_TEST((code_of(e) == asio::error::operation_aborted));
    if (tail == weir::on_cancel::flush)
      BOOST_TEST((written == std::vector<ints>{{0, 1, 2}, {3, 4, 5}, {6}}));
    else
      BOOST_TEST((written == std::vector<ints>{{0, 1, 2}}));
  }
}

BOOST_AUTO_TEST_CASE(second_cancellation_ends_a_flush) {
  weir::test::virtual_time time;
  asio::cancellation_signal signal;
  std::exception_ptr out;
  const auto write = [](const ints&) -> asio::awaitable<void> { co_await sleep_for(24h); };
  asio::co_spawn(
      time.get_executor(),
      weir::from(upto(2)) | weir::map([](int i) { return after(ms(2 * i), i); }) |
          weir::batch(3, 1h, weir::on_cancel::flush) | weir::for_each(write),
      asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { out = e; }));
  time.run_for(1ms);
  signal.emit(asio::cancellation_type::terminal);
  time.run_for(1ms);
  BOOST_TEST(!out);
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST((code_of(out) == asio::error::operation_aborted));
  BOOST_TEST((time.elapsed() == 2ms));
}

// A2.
WEIR_COROUTINE_TEST_CASE(what_is_in_a_queue_that_is_closed_comes_through) {
  weir::bounded_queue<int> queue(time.get_executor(), 5);
  for (int i = 0; i < 5; ++i) BOOST_TEST(!queue.try_send(int(i)));
  queue.close();
  const auto slow = [](int i) { return after(1ms, i); };
  BOOST_TEST(co_await (weir::from(queue) | weir::map(slow) | weir::collect()) == upto(5));
}

// A3.
WEIR_COROUTINE_TEST_CASE(queue_that_is_closed_ends_a_pipeline_that_waits_for_room_in_it) {
  weir::bounded_queue<int> queue(time.get_executor(), 2, weir::block);
  time.spawn([&]() -> asio::awaitable<void> {
    co_await sleep_for(1ms);
    queue.close();
  });
  weir::error_code code;
  try {
    co_await (weir::from(upto(5)) | weir::into(queue));
  } catch (const system_error& e) {
    code = e.code();
  }
  BOOST_TEST(code == errc::queue_closed);
  BOOST_TEST((time.elapsed() == 1ms));
}

// A4.
BOOST_AUTO_TEST_CASE(item_that_arrives_with_a_cancellation_is_delivered_or_stays) {
  weir::test::for_each_seed(
      500,
      [](simulation& sim) {
        weir::bounded_queue<int> queue(sim.get_executor(), 8);
        int sent = 0;
        int delivered = 0;
        sim.spawn([&]() -> asio::awaitable<void> {
          co_await (weir::from(queue) | weir::for_each([&](int) { ++delivered; }));
        });
        sim.spawn([&]() -> asio::awaitable<void> {
          for (int i = 0; i < 6; ++i) {
            co_await sleep_for(ms(1));
            if (!queue.try_send(int(i))) ++sent;
          }
        });
        sim.run_for(10ms);
        queue.close();
        sim.run();
        const auto m = queue.metrics();
        BOOST_TEST_REQUIRE(m.in_flight == 0U);
        // At most the one that had been received when the end came.
        const int left = static_cast<int>(m.size);
        BOOST_TEST_REQUIRE(delivered + left <= sent);
        BOOST_TEST_REQUIRE(delivered + left >= sent - 1);
      },
      {.simulation = {.cancel = 0.05}});
}

// A5 and A14.
BOOST_AUTO_TEST_CASE(context_that_is_destroyed_takes_the_pipeline_with_it) {
  for (int stop_after = 0; stop_after < 60; ++stop_after) {
    gauge g;
    {
      asio::io_context context;
      const auto f = [&](counted c) -> asio::awaitable<counted> {
        const gauge::scope in(g);
        co_await asio::post(asio::use_awaitable);
        if (c.value % 3 == 0) co_await sleep_for(24h);
        co_return c;
      };
      const auto slow = [&](const std::vector<counted>&) -> asio::awaitable<void> {
        const gauge::scope in(g);
        co_await sleep_for(24h);
      };
      asio::co_spawn(context,
                     weir::from(std::views::iota(0)) | weir::map([](int i) { return counted(i); }) |
                         weir::map(f, {.concurrency = 4, .order = weir::input_order(8, 1h)}) |
                         weir::batch(2, 1h) | weir::for_each(slow),
                     asio::detached);
      for (int i = 0; i < stop_after; ++i) context.poll_one();
    }
    BOOST_TEST_REQUIRE(g.now == 0);
    BOOST_TEST_REQUIRE(counted::alive == 0);
  }
}

BOOST_AUTO_TEST_CASE(pipeline_runs_on_threads_and_its_functions_one_at_a_time) {
  asio::thread_pool threads(4);
  int unguarded = 0;
  int inside = 0;
  int overlaps = 0;
  const auto f = [&](int i) -> asio::awaitable<int> {
    for (int k = 0; k < 3; ++k) {
      if (++inside != 1) ++overlaps;
      ++unguarded;
      --inside;
      co_await asio::post(asio::use_awaitable);
    }
    co_return i;
  };
  const auto sum = asio::co_spawn(threads,
                                  weir::from(upto(500)) | weir::map(f, {.concurrency = 8}) |
                                      weir::fold(0, std::plus<>()),
                                  asio::use_future)
                       .get();
  threads.join();
  BOOST_TEST(sum == 499 * 500 / 2);
  BOOST_TEST(unguarded == 1500);
  BOOST_TEST(overlaps == 0);
}

// --- properties ----------------------------------------------------------------------------------

namespace {

/// A pipeline that is drawn, and what is known of it while it runs.
struct drawn {
  explicit drawn(simulation& s) : sim(s) {
    auto& draw = s.draw();
    items = draw.between(0, 12);
    stages[0].draw(draw, items);
    stages[1].draw(draw, items);
    batch = draw.between(1, 4);
    wait = ms(draw.between(1, 3));
    take = draw.chance(0.3) ? static_cast<std::size_t>(draw.between(0, 6)) : 1000U;
    tail = draw.chance(0.5) ? weir::on_cancel::flush : weir::on_cancel::drop;
    for (int i = 0; i < items; ++i) sink_takes.push_back(draw.between(0, 2));
  }

  struct stage {
    int concurrency = 1;
    int buffer = 1;
    int window = 0;  ///< 0: completion order
    int deadline = 0;
    int tolerated = 0;
    ints takes;
    std::vector<bool> fails;

    gauge running;
    int taken = 0;
    int passed = 0;
    int failed = 0;

    void draw(weir::test::random& draw, int items) {
      concurrency = draw.between(1, 4);
      buffer = draw.between(1, 3);
      window = draw.chance(0.5) ? draw.between(1, 5) : 0;
      deadline = window && draw.chance(0.3) ? 2 : 0;
      tolerated = draw.chance(0.7) ? 1000 : draw.between(0, 2);
      for (int i = 0; i < items; ++i) {
        takes.push_back(draw.between(0, 3));
        fails.push_back(draw.chance(0.1));
      }
    }
    int places() const { return window ? window : concurrency + buffer; }
    weir::map_options options() const {
      return {.concurrency = concurrency,
              .buffer = buffer,
              .order = window ? weir::input_order(window, ms(deadline), weir::skip)
                              : weir::completion_order,
              .errors = weir::tolerate(tolerated)};
    }
    bool surely_passes(int i) const {
      const auto n = static_cast<std::size_t>(i);
      return !fails[n] && (!deadline || takes[n] < deadline);
    }
  };

  asio::awaitable<counted> work(stage& s, counted c) {
    const gauge::scope in(s.running);
    BOOST_TEST_REQUIRE(s.running.now <= s.concurrency);
    const auto n = static_cast<std::size_t>(c.value);
    if (s.takes[n]) co_await sleep_for(ms(s.takes[n]));
    if (s.fails[n]) {
      ++s.failed;
      throw std::runtime_error("drawn");
    }
    co_return c;
  }

  void enters(stage& s) {
    ++s.taken;
    // An item that is late leaves the books unseen; without a deadline they are exact.
    if (!s.deadline) BOOST_TEST_REQUIRE(s.taken - s.passed - s.failed <= s.places());
  }

  asio::awaitable<void> body() {
    const auto enter0 = [this](const counted&) { enters(stages[0]); };
    const auto leave0 = [this](const counted&) { ++stages[0].passed; };
    const auto enter1 = [this](const counted&) { enters(stages[1]); };
    const auto leave1 = [this](const counted&) { ++stages[1].passed; };
    const auto f0 = [this](counted c) { return work(stages[0], std::move(c)); };
    const auto f1 = [this](counted c) { return work(stages[1], std::move(c)); };
    const auto sink = [this](counted c) -> asio::awaitable<void> {
      out.push_back(c.value);
      if (const int t = sink_takes[static_cast<std::size_t>(c.value)]) co_await sleep_for(ms(t));
      finished.push_back(c.value);
    };
    try {
      co_await (weir::from(std::views::iota(0, items)) |
                weir::map([](int i) { return counted(i); }) | weir::tap(enter0) |
                weir::map(f0, stages[0].options()) | weir::tap(leave0) | weir::tap(enter1) |
                weir::map(f1, stages[1].options()) | weir::tap(leave1) |
                weir::batch(batch, wait, tail) | weir::unbatch() | weir::take(take) |
                weir::for_each(sink));
    } catch (const std::runtime_error& e) {
      error = e.what();
    }
    nothing_left();
  }

  void nothing_left() const {
    BOOST_TEST_REQUIRE(counted::alive == 0);
    for (const stage& s : stages) BOOST_TEST_REQUIRE(s.running.now == 0);
  }

  void check(bool may_be_cancelled) const {
    nothing_left();
    const bool ordered = stages[0].window && stages[1].window;
    if (ordered) BOOST_TEST_REQUIRE(std::is_sorted(out.begin(), out.end()));
    const std::set<int> distinct(out.begin(), out.end());
    BOOST_TEST_REQUIRE(distinct.size() == out.size());
    BOOST_TEST_REQUIRE(out.size() <= take);
    if (!error.empty()) {
      if (!may_be_cancelled) BOOST_TEST_REQUIRE(error == "drawn");
      return;
    }
    if (may_be_cancelled && out.size() != finished.size()) return;
    if (may_be_cancelled) return;
    BOOST_TEST_REQUIRE(finished.size() == out.size());
    // What failed after it had been given up, or when the sink had enough, counts for nothing.
    for (const stage& s : stages)
      if (!s.deadline && take >= 1000) BOOST_TEST_REQUIRE(s.failed <= s.tolerated);
    std::size_t expected = 0;
    for (int i = 0; i < items; ++i)
      if (stages[0].surely_passes(i) && stages[1].surely_passes(i)) {
        ++expected;
        if (take >= 1000) BOOST_TEST_REQUIRE(distinct.contains(i));
      }
    BOOST_TEST_REQUIRE(out.size() >= std::min(expected, take));
  }

  simulation& sim;
  int items;
  stage stages[2];
  int batch;
  weir::duration wait{};
  std::size_t take;
  weir::on_cancel tail;
  ints sink_takes;
  ints out;
  ints finished;
  std::string error;
};

}  // namespace

WEIR_SIMULATION_TEST_CASE(no_item_is_lost_doubled_or_out_of_order_and_all_is_bounded, 2000) {
  drawn d(sim);
  sim.spawn("pipeline", d.body());
  sim.run();
  d.check(false);
}

// A9.
BOOST_AUTO_TEST_CASE(nothing_is_left_when_it_is_cancelled_at_any_await) {
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

BOOST_AUTO_TEST_CASE(nothing_is_left_when_allocations_fail) {
  weir::test::for_each_seed(1000,
                            [](simulation& sim) {
                              const weir::test::leak_check leaks(sim);
                              drawn d(sim);
                              auto body = [&]() -> asio::awaitable<void> {
                                try {
                                  co_await d.body();
                                } catch (const std::bad_alloc&) {
                                }
                              };
                              sim.spawn("pipeline", body);
                              sim.run();
                              d.nothing_left();
                            },
                            {.simulation = {.fail_allocation = 0.05}});
}

BOOST_AUTO_TEST_CASE(nothing_is_left_when_the_simulation_ends_in_the_middle) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
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
