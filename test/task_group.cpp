// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "pool_fixture.hpp"

#include <weir/on_pool.hpp>
#include <weir/semaphore.hpp>
#include <weir/task_group.hpp>
#include <weir/test/boost_test.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <malloc.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace weir_test;
using weir::error_policy;
using weir::group_result;
using weir::unwaited_policy;
using weir::test::simulation;
using weir::test::virtual_time;

namespace {

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
constexpr std::array all_types = {asio::cancellation_type::terminal,
                                  asio::cancellation_type::partial, asio::cancellation_type::total};

struct oops : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string text_of(const std::exception_ptr& e) {
  if (!e) return "";
  try {
    std::rethrow_exception(e);
  } catch (const boost::system::system_error& s) {
    if (s.code() == asio::error::operation_aborted) return "aborted";
    return s.code().message();
  } catch (const std::exception& s) {
    return s.what();
  }
}

const std::string invalid_text = error_code(errc::invalid_argument).message();

/// A member that sleeps, and one that fails after that.
auto sleeping(weir::duration d) {
  return [d, c = counted()]() -> asio::awaitable<void> {
    const counted local;
    co_await sleep_for(d);
  };
}
auto failing(weir::duration d, const char* what) {
  return [d, what, c = counted()]() -> asio::awaitable<void> {
    const counted local;
    co_await sleep_for(d);
    throw oops(what);
  };
}
/// One that goes on for so long whatever it is told.
auto stubborn(weir::duration d) {
  return [d, c = counted()]() -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(d);
  };
}

/// What a wait came to.
template <typename T = void>
struct ended {
  int calls = 0;
  std::string error;
  group_result<T> result;
  auto handler() {
    return [this](const std::exception_ptr& e, group_result<T> r) {
      ++calls;
      error = text_of(e);
      result = std::move(r);
    };
  }
};

/// What a spawn came to.
struct spawned {
  int calls = 0;
  error_code code;
  auto handler() {
    return [this](const error_code& ec) {
      ++calls;
      code = ec;
    };
  }
};

/// What is written to stderr while it lives, which then goes there no more.
class caught_stderr {
 public:
  caught_stderr() : saved_(dup(2)), file_(std::tmpfile()) {
    std::fflush(stderr);
    dup2(fileno(file_), 2);
  }
  caught_stderr(const caught_stderr&) = delete;
  caught_stderr& operator=(const caught_stderr&) = delete;
  ~caught_stderr() {
    restore();
    std::fclose(file_);
  }
  std::string text() {
    restore();
    std::string all(4096, '\0');
    std::rewind(file_);
    all.resize(std::fread(all.data(), 1, all.size(), file_));
    return all;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stderr);
    dup2(saved_, 2);
    close(std::exchange(saved_, -1));
  }
  int saved_;
  std::FILE* file_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(task_group)

// --- policies ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(policies_judge_as_the_table_says) {
  using v = error_policy::verdict;
  struct row {
    error_policy policy;
    error_policy::standing s;
    v expected;
  };
  const row table[] = {
      {weir::first_error_cancels, {100, 0, 3, true}, v::go_on},
      {weir::first_error_cancels, {0, 1, 3, false}, v::fail},
      {weir::collect_all, {0, 100, 3, true}, v::go_on},
      {weir::tolerate(2), {0, 2, 3, false}, v::go_on},
      {weir::tolerate(2), {0, 3, 3, false}, v::fail},
      {weir::tolerate(0), {0, 1, 0, false}, v::fail},
      {weir::quorum(2), {1, 5, 0, false}, v::go_on},  // more may come
      {weir::quorum(2), {2, 5, 3, false}, v::succeed},
      {weir::quorum(2), {1, 2, 1, true}, v::go_on},
      {weir::quorum(2), {1, 3, 0, true}, v::fail},
      {weir::quorum(3), {0, 3, 2, true}, v::fail},
  };
  for (const row& r : table) BOOST_TEST((r.policy.judge(r.s) == r.expected));
}

BOOST_AUTO_TEST_CASE(limits_and_policies_that_cannot_be_met_are_invalid_at_once) {
  asio::io_context context;
  const auto invalid = [](const boost::system::system_error& e) {
    return e.code() == errc::invalid_argument;
  };
  const auto ex = context.get_executor();
  BOOST_CHECK_EXCEPTION(weir::task_group(ex, {}), boost::system::system_error, invalid);
  BOOST_CHECK_EXCEPTION(weir::task_group(ex, {.limit = 0}), boost::system::system_error, invalid);
  BOOST_CHECK_EXCEPTION(weir::task_group(ex, {.limit = -1}), boost::system::system_error, invalid);
  BOOST_CHECK_EXCEPTION(weir::task_group(ex, {.limit = 1, .on_error = weir::quorum(0)}),
                        boost::system::system_error, invalid);
  BOOST_CHECK_EXCEPTION(weir::task_group(ex, {.limit = 1, .on_error = weir::tolerate(-1)}),
                        boost::system::system_error, invalid);
}

WEIR_COROUTINE_TEST_CASE(values_come_in_the_order_of_spawning_whatever_the_order_of_ending) {
  struct no_default {  // nor can it be assigned
    explicit no_default(int v) : value(std::make_unique<const int>(v)) {}
    const std::unique_ptr<const int> unused;
    std::unique_ptr<const int> value;
    no_default(no_default&& o) noexcept : value(std::move(o.value)) {}
  };
  weir::task_group<no_default> g(time.get_executor(), {.limit = 3});
  for (int i = 0; i < 6; ++i) {
    auto member = [i]() -> asio::awaitable<no_default> {
      co_await sleep_for((6 - i) * 1ms);
      co_return no_default(i);
    };
    co_await g.async_spawn(std::move(member), asio::use_awaitable);
  }
  auto result = co_await g.async_wait(asio::use_awaitable);
  BOOST_TEST(result.succeeded == 6U);
  const auto values = std::move(result).values();
  BOOST_TEST_REQUIRE(values.size() == 6U);
  for (int i = 0; i < 6; ++i) BOOST_TEST(*values[static_cast<std::size_t>(i)].value == i);
}

WEIR_COROUTINE_TEST_CASE(root_cause_is_the_first_error_and_never_a_cancellation_that_it_caused) {
  weir::task_group g(time.get_executor(), {.limit = 8, .on_error = weir::first_error_cancels});
  for (int i = 0; i < 5; ++i) BOOST_TEST(!g.try_spawn(sleeping(1h)));
  BOOST_TEST(!g.try_spawn(failing(2ms, "second")));
  BOOST_TEST(!g.try_spawn(failing(1ms, "first")));
  auto worse = []() -> asio::awaitable<void> {
    bool asked = false;
    try {
      co_await sleep_for(1h);
    } catch (const boost::system::system_error&) {
      asked = true;
    }
    if (asked) throw oops("while it was cancelled");
  };
  BOOST_TEST(!g.try_spawn(std::move(worse)));
  auto [e, result] = co_await g.async_wait(as_tuple);
  BOOST_TEST(text_of(e) == "first");
  BOOST_TEST(text_of(result.first_error) == "first");
  BOOST_TEST(result.failed == 2U);
  BOOST_TEST(result.cancelled == 6U);
  BOOST_TEST(result.outcomes.empty());
  BOOST_TEST((time.elapsed() == 1ms));
  BOOST_TEST(counted::alive == 0);
}

WEIR_COROUTINE_TEST_CASE(collect_all_keeps_value_error_and_cancellation_apart_in_spawn_order) {
  weir::task_group<int> g(time.get_executor(), {.limit = 8, .on_error = weir::collect_all});
  auto one = []() -> asio::awaitable<int> { co_return 1; };
  auto fails = []() -> asio::awaitable<int> {
    co_await sleep_for(1ms);
    throw oops("two");
  };
  auto forever = []() -> asio::awaitable<int> {
    co_await sleep_for(1h);
    co_return 3;
  };
  // It was cancelled, but not by the group: for the group that is an error like any other.
  auto aborts = []() -> asio::awaitable<int> {
    throw boost::system::system_error(asio::error::operation_aborted);
    co_return 4;
  };
  auto returns_all_the_same = []() -> asio::awaitable<int> {
    co_await asio::this_coro::throw_if_cancelled(false);
    weir::steady_timer t(co_await asio::this_coro::executor, 1h);
    co_await t.async_wait(as_tuple);
    co_return 5;
  };
  for (int i = 0; i < 1; ++i) {
    BOOST_TEST(!g.try_spawn(forever));
    BOOST_TEST(!g.try_spawn(fails));
    BOOST_TEST(!g.try_spawn(one));
    BOOST_TEST(!g.try_spawn(aborts));
    BOOST_TEST(!g.try_spawn(returns_all_the_same));
  }
  co_await sleep_for(2ms);
  g.cancel();
  const auto result = co_await g.async_wait(asio::use_awaitable);
  BOOST_TEST_REQUIRE(result.outcomes.size() == 5U);
  BOOST_TEST(result.outcomes[0].cancelled());
  BOOST_TEST(text_of(result.outcomes[1].error()) == "two");
  BOOST_TEST(result.outcomes[2].value() == 1);
  BOOST_TEST(text_of(result.outcomes[3].error()) == "aborted");
  BOOST_TEST(result.outcomes[4].value() == 5);
  BOOST_TEST(result.succeeded == 2U);
  BOOST_TEST(result.failed == 2U);
  BOOST_TEST(result.cancelled == 1U);
  BOOST_TEST(text_of(result.first_error) == "aborted");
}

WEIR_COROUTINE_TEST_CASE(quorum_succeeds_at_k_and_cancels_the_rest) {
  weir::task_group g(time.get_executor(), {.limit = 8, .on_error = weir::quorum(2)});
  for (const auto d : {1ms, 2ms, 3'600'000ms}) BOOST_TEST(!g.try_spawn(sleeping(d)));
  BOOST_TEST(!g.try_spawn(failing(0ms, "does not matter")));
  co_await sleep_for(3ms);
  BOOST_TEST((g.try_spawn(sleeping(0ms)) == errc::group_closed));
  const auto result = co_await g.async_wait(asio::use_awaitable);
  BOOST_TEST((time.elapsed() == 3ms));
  BOOST_TEST(result.succeeded == 2U);
  BOOST_TEST(result.failed == 1U);
  BOOST_TEST(result.cancelled == 1U);
  BOOST_TEST(result.outcomes.size() == 4U);
  BOOST_TEST(text_of(result.first_error) == "does not matter");
}

WEIR_COROUTINE_TEST_CASE(quorum_fails_when_too_few_are_left_and_nobody_can_join) {
  weir::task_group g(time.get_executor(), {.limit = 8, .on_error = weir::quorum(2)});
  BOOST_TEST(!g.try_spawn(failing(1ms, "first")));
  BOOST_TEST(!g.try_spawn(failing(2ms, "second")));
  BOOST_TEST(!g.try_spawn(sleeping(1h)));
  co_await sleep_for(5ms);
  BOOST_TEST(g.members() == 1U);  // another may still come, and make it two
  auto [e, result] = co_await g.async_wait(as_tuple);
  BOOST_TEST(text_of(e) == "first");
  BOOST_TEST(result.cancelled == 1U);
  BOOST_TEST((time.elapsed() == 5ms));
}

WEIR_COROUTINE_TEST_CASE(quorum_of_more_members_than_there_are_is_invalid_and_does_not_wait) {
  weir::task_group g(time.get_executor(), {.limit = 8, .on_error = weir::quorum(3)});
  BOOST_TEST(!g.try_spawn(sleeping(1h)));
  BOOST_TEST(!g.try_spawn(failing(0ms, "an error")));
  co_await sleep_for(1ms);
  auto [e, result] = co_await g.async_wait(as_tuple);
  BOOST_TEST(text_of(e) == invalid_text);
  BOOST_TEST((time.elapsed() == 1ms));
  weir::task_group empty(time.get_executor(), {.limit = 8, .on_error = weir::quorum(1)});
  auto [e2, nothing] = co_await empty.async_wait(as_tuple);
  BOOST_TEST(text_of(e2) == invalid_text);
}

WEIR_COROUTINE_TEST_CASE(quorum_counts_those_who_wait_for_room_until_they_give_up) {
  weir::task_group g(time.get_executor(), {.limit = 1, .on_error = weir::quorum(2)});
  asio::cancellation_signal signal;
  spawned second;
  ended<> end;
  BOOST_TEST(!g.try_spawn(sleeping(1h)));
  g.async_spawn(sleeping(1h), asio::bind_cancellation_slot(signal.slot(), second.handler()));
  g.async_wait(end.handler());
  co_await sleep_for(1ms);
  BOOST_TEST(end.calls == 0);
  signal.emit(asio::cancellation_type::total);
  co_await sleep_for(1ms);
  BOOST_TEST((second.code == asio::error::operation_aborted));
  BOOST_TEST(end.calls == 1);
  BOOST_TEST(end.result.cancelled == 1U);
}

WEIR_COROUTINE_TEST_CASE(tolerate_lets_n_errors_pass_and_the_next_cancels_with_the_first_as_cause) {
  for (const int errors : {2, 3}) {
    weir::task_group g(time.get_executor(), {.limit = 8, .on_error = weir::tolerate(2)});
    for (int i = 0; i < errors; ++i)
      BOOST_TEST(!g.try_spawn(failing(std::chrono::milliseconds(i), i == 0 ? "first" : "later")));
    BOOST_TEST(!g.try_spawn(sleeping(1s)));
    auto [e, result] = co_await g.async_wait(as_tuple);
    BOOST_TEST(text_of(e) == (errors == 3 ? "first" : ""));
    BOOST_TEST(result.succeeded == (errors == 3 ? 0U : 1U));
    BOOST_TEST(result.failed == static_cast<std::size_t>(errors));
    BOOST_TEST(text_of(result.outcomes[1].error()) == "later");
  }
}

// --- spawning ------------------------------------------------------------------------------------

WEIR_COROUTINE_TEST_CASE(limit_holds_and_waiting_producers_are_served_in_order) {
  weir::task_group g(time.get_executor(), {.limit = 3});
  BOOST_TEST(g.limit() == 3U);
  int inside = 0;
  int most = 0;
  std::string order;
  for (char c = 'a'; c < 'u'; ++c) {
    auto member = [&inside, &most, &order, c]() -> asio::awaitable<void> {
      most = std::max(most, ++inside);
      order.push_back(c);
      co_await sleep_for(std::chrono::milliseconds(c % 3));
      --inside;
    };
    g.async_spawn(std::move(member), asio::detached);
  }
  BOOST_TEST(g.members() == 3U);
  BOOST_TEST(g.waiters() == 17U);
  BOOST_TEST((g.try_spawn(sleeping(0ms)) == errc::group_limit));
  co_await g.async_wait(asio::use_awaitable);
  BOOST_TEST(most == 3);
  BOOST_TEST(order == "abcdefghijklmnopqrst");
}

BOOST_AUTO_TEST_CASE(nothing_runs_inside_the_call_that_spawns) {
  virtual_time time;
  weir::task_group g(time.get_executor(), {.limit = 2});
  std::mutex held;
  spawned s;
  ended<> end;
  // From inside a handler of the context, where a dispatch would run at once.
  asio::post(time.context(), [&] {
    const std::lock_guard lock(held);
    const auto member = [&held]() -> asio::awaitable<void> {
      if (held.try_lock())
        held.unlock();
      else
        throw oops("ran inside");
      co_return;
    };
    g.async_spawn(member, s.handler());
    BOOST_TEST(!g.try_spawn(member));
    BOOST_TEST(s.calls == 0);
    g.async_wait(end.handler());
  });
  time.run();
  BOOST_TEST(s.calls == 1);
  BOOST_TEST(end.calls == 1);
  BOOST_TEST(end.error == "");
}

WEIR_COROUTINE_TEST_CASE(member_that_throws_before_it_suspends_is_an_error_like_any_other) {
  for (const bool coroutine : {true, false}) {
    weir::task_group g(time.get_executor(), {.limit = 1});
    auto in_frame = []() -> asio::awaitable<void> {
      throw oops("at once");
      co_return;
    };
    auto in_call = []() -> asio::awaitable<void> { throw oops("at once"); };
    BOOST_TEST(!(coroutine ? g.try_spawn(in_frame) : g.try_spawn(in_call)));
    auto [ec] = co_await g.async_spawn(sleeping(1ms), as_tuple);
    BOOST_TEST((ec == errc::group_closed));
    auto [e, result] = co_await g.async_wait(as_tuple);
    BOOST_TEST(text_of(e) == "at once");
    BOOST_TEST(result.failed == 1U);
  }
  BOOST_TEST(counted::alive == 0);
}

// sourcegraph/conc#106, #88
WEIR_COROUTINE_TEST_CASE(producer_that_waits_for_room_is_turned_away_when_the_group_fails) {
  weir::task_group g(time.get_executor(), {.limit = 10});
  int accepted = 0;
  error_code last;
  for (int i = 0; i < 90 && !last; ++i) {
    // All but one hold their slots until somebody cancels them.
    auto op = i == 9 ? g.async_spawn(failing(5ms, "number 10"), as_tuple)
                     : g.async_spawn(sleeping(1h), as_tuple);
    std::tie(last) = co_await std::move(op);
    if (!last) ++accepted;
  }
  BOOST_TEST(accepted == 10);
  BOOST_TEST((last == errc::group_closed));
  BOOST_TEST((time.elapsed() == 5ms));
  auto [e, result] = co_await g.async_wait(as_tuple);
  BOOST_TEST(text_of(e) == "number 10");
  BOOST_TEST(result.cancelled == 9U);
}

WEIR_COROUTINE_TEST_CASE(waiting_producer_is_turned_away_before_stubborn_members_have_ended) {
  weir::task_group g(time.get_executor(), {.limit = 1});
  spawned s;
  BOOST_TEST(!g.try_spawn(stubborn(1h)));
  g.async_spawn(sleeping(0ms), s.handler());
  co_await sleep_for(0ms);
  g.cancel();
  BOOST_TEST(counted::alive == 1);  // what waited is dropped at once
  co_await sleep_for(0ms);
  BOOST_TEST((s.code == errc::group_closed));
  auto [e, result] = co_await g.async_wait(as_tuple);
  BOOST_TEST(text_of(e) == "aborted");
  BOOST_TEST((time.elapsed() == 1h));
}

WEIR_COROUTINE_TEST_CASE(members_may_spawn_until_the_last_has_ended_and_nobody_else_once_waited) {
  weir::task_group g(time.get_executor(), {.limit = 8});
  int made = 0;
  std::function<asio::awaitable<void>(int)> tree = [&](int depth) -> asio::awaitable<void> {
    ++made;
    co_await sleep_for(1ms);
    for (int i = 0; depth > 0 && i < 2; ++i) {
      auto child = [&tree, depth] { return tree(depth - 1); };
      if (i == 0)
        BOOST_TEST(!g.try_spawn(child));
      else
        co_await g.async_spawn(std::move(child), asio::use_awaitable);
    }
  };
  auto root = [&tree] { return tree(2); };
  co_await g.async_spawn(std::move(root), asio::use_awaitable);
  ended<> end;
  g.async_wait(end.handler());
  BOOST_TEST((g.try_spawn(sleeping(0ms)) == errc::group_closed));
  auto [ec] = co_await g.async_spawn(sleeping(0ms), as_tuple);
  BOOST_TEST((ec == errc::group_closed));
  co_await sleep_for(10ms);
  BOOST_TEST(end.calls == 1);
  BOOST_TEST(made == 7);
  BOOST_TEST(end.result.succeeded == 7U);
  BOOST_TEST((g.try_spawn(sleeping(0ms)) == errc::group_closed));
}

WEIR_COROUTINE_TEST_CASE(members_that_would_all_wait_for_each_others_slots_are_told) {
  for (const int limit : {1, 3}) {
    weir::task_group g(time.get_executor(), {.limit = limit, .on_error = weir::collect_all});
    int told = 0;
    for (int i = 0; i < limit; ++i) {
      auto member = [&g, &told, i]() -> asio::awaitable<void> {
        co_await sleep_for(std::chrono::milliseconds(i));
        auto [ec] = co_await g.async_spawn(sleeping(1ms), as_tuple);
        if (ec == errc::group_limit) ++told;
      };
      co_await g.async_spawn(std::move(member), asio::use_awaitable);
    }
    const auto result = co_await g.async_wait(asio::use_awaitable);
    BOOST_TEST(told == 1);
    BOOST_TEST(result.succeeded == static_cast<std::size_t>(2 * limit - 1));
  }
}

WEIR_COROUTINE_TEST_CASE(member_that_ends_while_its_spawn_waits_is_not_counted_as_waiting) {
  weir::task_group g(time.get_executor(), {.limit = 2, .on_error = weir::collect_all});
  spawned first;
  spawned second;
  auto leaves_one = [&]() -> asio::awaitable<void> {
    g.async_spawn(sleeping(5ms), first.handler());
    g.async_spawn(sleeping(5ms), second.handler());
    co_await sleep_for(1ms);
  };
  auto waits = [&]() -> asio::awaitable<void> {
    co_await sleep_for(2ms);
    auto [ec] = co_await g.async_spawn(sleeping(1ms), as_tuple);
    BOOST_TEST(!ec);
  };
  BOOST_TEST(!g.try_spawn(leaves_one));
  BOOST_TEST(!g.try_spawn(waits));
  const auto result = co_await g.async_wait(asio::use_awaitable);
  BOOST_TEST(first.calls == 1);
  BOOST_TEST(!second.code);
  BOOST_TEST(result.succeeded == 5U);
}

BOOST_AUTO_TEST_CASE(cancelled_wait_for_room_drops_its_member_and_those_behind_are_served) {
  for (const auto type : all_types) {
    virtual_time time;
    weir::task_group g(time.get_executor(), {.limit = 1});
    asio::cancellation_signal signal;
    asio::cancellation_signal late;
    spawned gives_up;
    spawned behind;
    ended<> end;
    BOOST_TEST(!g.try_spawn(sleeping(5ms)));
    g.async_spawn(sleeping(1ms), asio::bind_cancellation_slot(signal.slot(), gives_up.handler()));
    g.async_spawn(sleeping(1ms), asio::bind_cancellation_slot(late.slot(), behind.handler()));
    time.run_for(1ms);
    signal.emit(type);
    BOOST_TEST(counted::alive == 3);  // two callables and a frame
    time.run_for(4ms);
    late.emit(type);  // it has been accepted
    g.async_wait(end.handler());
    time.run();
    BOOST_TEST((gives_up.code == asio::error::operation_aborted));
    BOOST_TEST(!behind.code);
    BOOST_TEST(end.result.succeeded == 2U);
    BOOST_TEST(counted::alive == 0);
  }
}

BOOST_AUTO_TEST_CASE(accepted_member_is_not_affected_by_a_cancellation_in_the_same_tick) {
  virtual_time time;
  weir::task_group g(time.get_executor(), {.limit = 1});
  asio::cancellation_signal signal;
  spawned s;
  ended<> end;
  BOOST_TEST(!g.try_spawn(sleeping(1ms)));
  g.async_spawn(sleeping(1ms), asio::bind_cancellation_slot(signal.slot(), s.handler()));
  weir::steady_timer t(time.get_executor(), 1ms);
  t.async_wait([&](auto) { signal.emit(asio::cancellation_type::total); });
  time.run();
  g.async_wait(end.handler());
  time.run();
  BOOST_TEST(s.calls == 1);
  BOOST_TEST(end.result.succeeded == (s.code ? 1U : 2U));
}

// --- the wait ------------------------------------------------------------------------------------

WEIR_COROUTINE_TEST_CASE(empty_group_succeeds_at_once_and_a_second_wait_is_invalid) {
  weir::task_group g(time.get_executor(), {.limit = 1});
  ended<> end;
  g.async_wait(end.handler());
  BOOST_TEST(end.calls == 0);
  auto [e, none] = co_await g.async_wait(as_tuple);
  BOOST_TEST(text_of(e) == invalid_text);
  BOOST_TEST(end.calls == 1);
  BOOST_TEST(end.error == "");
  BOOST_TEST((g.try_spawn(sleeping(0ms)) == errc::group_closed));
}

WEIR_COROUTINE_TEST_CASE(member_that_waits_for_its_own_group_is_told_that_it_cannot) {
  weir::task_group g(time.get_executor(), {.limit = 1});
  auto member = [&g]() -> asio::awaitable<void> { co_await g.async_wait(asio::use_awaitable); };
  BOOST_TEST(!g.try_spawn(member));
  auto [e, result] = co_await g.async_wait(as_tuple);
  BOOST_TEST(text_of(e) == invalid_text);
}

BOOST_AUTO_TEST_CASE(cancelled_wait_cancels_the_members_and_lasts_until_they_have_ended) {
  for (const auto type : all_types) {
    virtual_time time;
    weir::task_group g(time.get_executor(), {.limit = 4});
    asio::cancellation_signal signal;
    ended<> end;
    BOOST_TEST(!g.try_spawn(sleeping(1h)));
    BOOST_TEST(!g.try_spawn(stubborn(1s)));
    auto throws = []() -> asio::awaitable<void> {
      co_await asio::this_coro::throw_if_cancelled(false);
      weir::steady_timer t(co_await asio::this_coro::executor, 1h);
      co_await t.async_wait(as_tuple);
      throw oops("inner failure");
    };
    BOOST_TEST(!g.try_spawn(throws));
    g.async_wait(asio::bind_cancellation_slot(signal.slot(), end.handler()));
    time.run_for(1ms);
    signal.emit(type);
    signal.emit(type);
    time.settle();
    BOOST_TEST(end.calls == 0);
    BOOST_TEST(g.members() == 1U);
    time.run();
    BOOST_TEST(end.calls == 1);
    BOOST_TEST((time.elapsed() == 1s));
    BOOST_TEST(end.error == "aborted");
    BOOST_TEST(text_of(end.result.first_error) == "inner failure");
    BOOST_TEST(end.result.succeeded == 1U);
    BOOST_TEST(end.result.cancelled == 1U);
  }
}

BOOST_AUTO_TEST_CASE(cancelled_wait_of_a_group_that_has_failed_is_not_swallowed_by_the_failure) {
  virtual_time time;
  weir::task_group g(time.get_executor(), {.limit = 4});
  asio::cancellation_signal signal;
  ended<> end;
  BOOST_TEST(!g.try_spawn(stubborn(1s)));
  BOOST_TEST(!g.try_spawn(failing(1ms, "inner failure")));
  g.async_wait(asio::bind_cancellation_slot(signal.slot(), end.handler()));
  time.run_for(2ms);
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST(end.error == "aborted");
  BOOST_TEST(text_of(end.result.first_error) == "inner failure");
}

BOOST_AUTO_TEST_CASE(cancellation_reaches_the_members_of_nested_groups) {
  virtual_time time;
  weir::task_group outer(time.get_executor(), {.limit = 2});
  std::string inner_error;
  auto member = [&]() -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    weir::task_group inner(executor, {.limit = 2});
    BOOST_TEST(!inner.try_spawn(sleeping(1h)));
    BOOST_TEST(!inner.try_spawn(stubborn(1s)));
    std::exception_ptr e;
    try {
      co_await inner.async_wait(asio::use_awaitable);
    } catch (...) {
      e = std::current_exception();
    }
    BOOST_TEST(inner.members() == 0U);
    inner_error = text_of(e);
    std::rethrow_exception(e);
  };
  ended<> end;
  BOOST_TEST(!outer.try_spawn(member));
  outer.async_wait(end.handler());
  time.run_for(1ms);
  outer.cancel();
  time.run();
  BOOST_TEST((time.elapsed() == 1s));
  BOOST_TEST(inner_error == "aborted");
  BOOST_TEST(end.error == "aborted");
  BOOST_TEST(end.result.cancelled == 1U);
  BOOST_TEST(counted::alive == 0);
}

// alitto/pond#138
BOOST_AUTO_TEST_CASE(member_that_is_cancelled_before_it_has_begun_never_begins) {
  virtual_time time;
  weir::task_group g(time.get_executor(), {.limit = 2});
  bool began = false;
  auto member = [&began, c = counted()]() -> asio::awaitable<void> {
    began = true;
    co_return;
  };
  BOOST_TEST(!g.try_spawn(sleeping(0ms)));
  time.settle();
  BOOST_TEST(!g.try_spawn(std::move(member)));
  g.cancel();
  g.cancel();
  ended<> end;
  g.async_wait(end.handler());
  BOOST_TEST((g.try_spawn(sleeping(0ms)) == errc::group_closed));
  time.run();
  BOOST_TEST(!began);
  BOOST_TEST(end.error == "aborted");
  BOOST_TEST(end.result.cancelled == 1U);
  BOOST_TEST(counted::alive == 1);  // `member`, which has been moved from
}

WEIR_COROUTINE_TEST_CASE(all_that_a_member_held_is_gone_when_its_slot_is) {
  weir::task_group g(time.get_executor(), {.limit = 1});
  struct last_words {
    weir::task_group<>* group;
    int* seen;
    last_words(weir::task_group<>& g, int& s) : group(&g), seen(&s) {}
    last_words(last_words&& o) noexcept : group(std::exchange(o.group, nullptr)), seen(o.seen) {}
    ~last_words() {
      // It may call the group: no lock is held.
      if (group) *seen += static_cast<int>(group->members());
    }
  };
  int seen = 0;
  auto member = [words = last_words(g, seen)]() -> asio::awaitable<void> {
    const auto& mine = words;
    co_await sleep_for(1ms);
    BOOST_TEST(mine.group);  // captures live as long as the frame
  };
  co_await g.async_spawn(std::move(member), asio::use_awaitable);
  co_await g.async_wait(asio::use_awaitable);
  BOOST_TEST(seen == 1);
}

WEIR_COROUTINE_TEST_CASE(what_a_member_did_to_its_coroutine_is_not_there_for_the_next) {
  weir::task_group g(time.get_executor(), {.limit = 1});
  auto first = []() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  };
  co_await g.async_spawn(std::move(first), asio::use_awaitable);
  co_await g.async_spawn(sleeping(1h), asio::use_awaitable);
  co_await sleep_for(1ms);
  g.cancel();
  auto [e, result] = co_await g.async_wait(as_tuple);
  BOOST_TEST(result.cancelled == 1U);
  BOOST_TEST((time.elapsed() == 1ms));
}

BOOST_AUTO_TEST_CASE(member_that_comes_back_on_another_executor_ends_on_its_strand) {
  virtual_time time;
  asio::io_context& other = time.make_context();
  weir::task_group g(time.get_executor(), {.limit = 1});
  const auto member = [&other]() -> asio::awaitable<void> {
    co_await asio::post(asio::bind_executor(other, asio::use_awaitable));
  };
  ended<> end;
  for (int i = 0; i < 3; ++i) g.async_spawn(member, asio::detached);
  g.async_wait(end.handler());
  time.run();
  BOOST_TEST(end.result.succeeded == 3U);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
WEIR_COROUTINE_TEST_CASE(group_of_void_does_not_grow_with_its_members) {
  weir::task_group g(time.get_executor(), {.limit = 4});
  std::size_t settled = 0;
  for (int i = 0; i < 20'000; ++i) {
    co_await g.async_spawn(sleeping(0ms), asio::use_awaitable);
    if (i == 1000) settled = mallinfo2().uordblks;
  }
  BOOST_TEST(mallinfo2().uordblks < settled + 20'000);  // a byte each would be more
  const auto result = co_await g.async_wait(asio::use_awaitable);
  BOOST_TEST(result.succeeded == 20'000U);
  BOOST_TEST(result.outcomes.empty());
}
#endif

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  asio::thread_pool threads(3);
  weir::task_group<int> g(threads.get_executor(), {.limit = 2});
  const auto member = []() -> asio::awaitable<int> {
    co_await asio::post(asio::use_awaitable);
    co_return 1;
  };
  g.async_spawn(member, asio::use_future).get();
  auto deferred = g.async_spawn(member, asio::deferred);
  std::move(deferred)(asio::use_future).get();
  auto awaiting = asio::co_spawn(
      threads,
      [&]() -> asio::awaitable<void> {
        co_await g.async_spawn(member, asio::use_awaitable);
        co_await g.async_spawn(member, asio::deferred);
      },
      asio::use_future);
  awaiting.get();
  BOOST_TEST(g.async_wait(asio::use_future).get().values().size() == 4U);
  weir::task_group<int> h(threads.get_executor(), {.limit = 2});
  h.async_spawn(member, asio::detached);
  auto later = h.async_wait(asio::deferred);
  BOOST_TEST(std::move(later)(asio::use_future).get().succeeded == 1U);
  threads.join();
}

WEIR_COROUTINE_TEST_CASE(deadlock_report_names_the_group_and_who_waits) {
  std::string text;
  try {
    virtual_time inner;
    weir::semaphore never(inner.get_executor(), 1, "never");
    const auto held = never.try_acquire();
    inner.spawn("parent", [&]() -> asio::awaitable<void> {
      weir::task_group g(co_await asio::this_coro::executor,
                         {.limit = 1, .unwaited = unwaited_policy::log, .name = "crawl"});
      const auto member = [&]() -> asio::awaitable<void> {
        const auto p = co_await never.async_acquire(asio::use_awaitable);
      };
      co_await g.async_spawn(member, asio::use_awaitable);
      g.async_spawn(member, asio::detached);
      co_await g.async_wait(asio::use_awaitable);
    });
    inner.run();
  } catch (const weir::test::deadlock_error& e) {
    text = e.what();
  }
  for (const char* part :
       {"[group spawn] of 'crawl'", "[group wait] of 'crawl'", "[semaphore acquire] of 'never'",
        "1 group member of 'crawl'", "#1 parent"})
    BOOST_TEST(text.find(part) != std::string::npos, text);
  // The members, too, are part of who has the group.
  BOOST_TEST(text.find("did not spawn") == std::string::npos, text);
  co_return;
}

// --- the end of the handle, and of the context ---------------------------------------------------

BOOST_AUTO_TEST_CASE(group_that_is_destroyed_without_a_wait_says_so_and_cancels_its_members) {
  virtual_time time;
  caught_stderr caught;
  spawned waiting;
  {
    weir::task_group g(time.get_executor(),
                       {.limit = 1, .unwaited = unwaited_policy::log, .name = "forgotten"});
    BOOST_TEST(!g.try_spawn(sleeping(1h)));
    time.settle();
    g.async_spawn(sleeping(1h), waiting.handler());
  }
  const std::string text = caught.text();
  BOOST_TEST(text.find("'forgotten' is destroyed without async_wait") != std::string::npos, text);
  BOOST_TEST(text.find(" 1 ") != std::string::npos, text);
  time.run();
  BOOST_TEST((waiting.code == errc::group_closed));
  BOOST_TEST((time.elapsed() < 1h));
  BOOST_TEST(counted::alive == 0);
}

BOOST_AUTO_TEST_CASE(group_that_had_no_member_or_was_waited_for_is_destroyed_in_silence) {
  virtual_time time;
  caught_stderr caught;
  ended<> end;
  { weir::task_group g(time.get_executor(), {.limit = 1}); }
  {
    weir::task_group g(time.get_executor(), {.limit = 1});
    BOOST_TEST(!g.try_spawn(sleeping(1h)));
    g.async_wait(end.handler());
    time.settle();
  }
  time.run();
  BOOST_TEST(caught.text() == "");
  BOOST_TEST(end.calls == 1);
  BOOST_TEST(end.error == "aborted");
}

BOOST_AUTO_TEST_CASE(exception_on_its_way_past_a_group_is_not_hidden_by_a_termination) {
  virtual_time time;
  caught_stderr caught;
  std::string error;
  time.spawn([&]() -> asio::awaitable<void> {
    try {
      weir::task_group g(time.get_executor(), {.limit = 1, .unwaited = unwaited_policy::terminate});
      BOOST_TEST(!g.try_spawn(sleeping(1h)));
      co_await sleep_for(1ms);
      throw oops("the real story");
    } catch (const oops& e) {
      error = e.what();
    }
  });
  time.run();
  BOOST_TEST(error == "the real story");
  BOOST_TEST(caught.text().find("without async_wait") != std::string::npos);
  BOOST_TEST(counted::alive == 0);
}

BOOST_AUTO_TEST_CASE(policy_terminate_terminates) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    std::set_terminate([] { _exit(42); });
    if (!std::freopen("/dev/null", "w", stderr)) _exit(1);
    asio::io_context context;
    {
      weir::task_group g(context.get_executor(),
                         {.limit = 1, .unwaited = unwaited_policy::terminate});
      if (g.try_spawn(sleeping(1ms))) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  BOOST_TEST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 42);
}

/// Coroutines of every kind, each suspended, with a group as a local of the one that waits for it.
template <typename Executor>
void suspend_everything(const Executor& ex) {
  const auto parent = [](int kind) -> asio::awaitable<void> {
    const counted here;
    const auto executor = co_await asio::this_coro::executor;
    // It would terminate, were it not for the end of the context.
    weir::task_group g(executor, {.limit = 2, .unwaited = unwaited_policy::terminate});
    auto member = [&g, c = counted()]() -> asio::awaitable<void> {
      const counted local;
      const auto own = co_await asio::this_coro::executor;
      weir::task_group inner(own, {.limit = 1});
      co_await inner.async_spawn(sleeping(1h), asio::use_awaitable);
      co_await inner.async_wait(asio::use_awaitable);
    };
    co_await g.async_spawn(sleeping(0ms), asio::use_awaitable);  // leaves a runner that is parked
    co_await sleep_for(1ms);
    co_await g.async_spawn(std::move(member), asio::use_awaitable);
    if (kind == 0) co_await sleep_for(1h);
    co_await g.async_spawn(sleeping(1h), asio::use_awaitable);
    if (kind == 1) co_await g.async_spawn(sleeping(1h), asio::use_awaitable);
    co_await g.async_wait(asio::use_awaitable);
  };
  for (int kind = 0; kind < 3; ++kind) {
    asio::co_spawn(ex, parent(kind), asio::detached);
    asio::co_spawn(asio::make_strand(ex), parent(kind), asio::detached);
  }
}

BOOST_AUTO_TEST_CASE(context_that_is_destroyed_takes_suspended_groups_with_it) {
  caught_stderr caught;
  {
    virtual_time time;
    suspend_everything(time.get_executor());
    time.run_for(5ms);
    BOOST_TEST(counted::alive > 20);
  }
  BOOST_TEST(counted::alive == 0);
  {
    virtual_time time;
    suspend_everything(time.get_executor());
    time.run_for(1ms);  // much has not begun
  }
  BOOST_TEST(counted::alive == 0);
  BOOST_TEST(caught.text() == "");
}

BOOST_AUTO_TEST_CASE(thread_pool_that_is_destroyed_takes_suspended_groups_with_it) {
  caught_stderr caught;
  {
    asio::thread_pool threads(2);
    suspend_everything(threads.get_executor());
    while (counted::alive < 30) std::this_thread::yield();
    threads.stop();
  }
  BOOST_TEST(counted::alive == 0);
  BOOST_TEST(caught.text() == "");
}

BOOST_AUTO_TEST_CASE(handler_that_is_pending_when_group_and_context_go_is_destroyed) {
  {
    virtual_time time;
    weir::task_group g(time.get_executor(), {.limit = 1});
    g.async_wait([c = counted()](const std::exception_ptr&, const group_result<>&) {});
  }
  {
    asio::io_context context;
    weir::task_group g(context.get_executor(), {.limit = 1, .unwaited = unwaited_policy::log});
    BOOST_TEST(!g.try_spawn(sleeping(0ms)));
    g.async_spawn(sleeping(0ms), [c = counted()](const error_code&) {});
    g.async_wait([c = counted()](const std::exception_ptr&, const group_result<>&) {});
  }
  BOOST_TEST(counted::alive == 0);
}

BOOST_AUTO_TEST_CASE(member_whose_frame_is_destroyed_is_an_error_of_the_group) {
  virtual_time time;
  weir::task_group g(time.get_executor(), {.limit = 2, .on_error = weir::collect_all});
  std::optional<asio::any_completion_handler<void()>> handler;  // dropped instead of called
  const auto lost = [&handler, c = counted()]() -> asio::awaitable<void> {
    const counted local;
    co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(
        [&](auto h) { handler.emplace(std::move(h)); }, asio::use_awaitable);
  };
  ended<> end;
  spawned waiting;
  BOOST_TEST(!g.try_spawn(lost));
  BOOST_TEST(!g.try_spawn(sleeping(1h)));
  g.async_spawn(sleeping(1h), waiting.handler());
  g.async_wait(end.handler());
  time.settle();
  handler.reset();
  time.run();
  BOOST_TEST(end.calls == 1);
  BOOST_TEST(end.error == "aborted");
  BOOST_TEST((waiting.code == errc::group_closed));
  BOOST_TEST(end.result.failed == 1U);
  BOOST_TEST(end.result.cancelled == 1U);
  BOOST_TEST(text_of(end.result.outcomes[0].error()) == "aborted");
  BOOST_TEST(end.result.outcomes[1].cancelled());
  // `lost` itself still holds one.
  BOOST_TEST(counted::alive == 1);
}

BOOST_AUTO_TEST_CASE(group_does_not_keep_an_idle_context_running) {
  asio::io_context context;
  weir::task_group g(context.get_executor(), {.limit = 2});
  const auto member = []() -> asio::awaitable<void> { co_return; };
  BOOST_TEST(!g.try_spawn(member));
  context.run();  // returns, though a runner is parked
  context.restart();
  BOOST_TEST(!g.try_spawn(member));
  ended<> end;
  context.run();
  context.restart();
  g.async_wait(end.handler());
  context.run();
  BOOST_TEST(end.result.succeeded == 2U);
}

// --- any order -----------------------------------------------------------------------------------

/// A small random program, and what has to hold of it in any order.
class crowd {
 public:
  explicit crowd(simulation& sim) : sim_(sim) {}

  void run() {
    const int limit = sim_.draw().between(1, 3);
    const int n = sim_.draw().between(1, 3);
    static constexpr error_policy::kind kinds[] = {
        error_policy::kind::first_error_cancels, error_policy::kind::collect_all,
        error_policy::kind::quorum, error_policy::kind::tolerate};
    const auto kind = kinds[sim_.draw().below(4)];
    policy_ = error_policy(
        kind, kind == error_policy::kind::quorum || kind == error_policy::kind::tolerate ? n : 0);
    limit_ = limit;
    members_ = sim_.draw().between(0, 6);
    cancel_at_ = sim_.draw().between(0, 9);
    sim_.spawn("parent", [this] { return parent(); });
    sim_.run();
    BOOST_TEST_REQUIRE(counted::alive == 0);
  }

 private:
  weir::duration some_time() { return std::chrono::milliseconds(sim_.draw().between(0, 3)); }

  asio::awaitable<void> member(int depth, bool fails, bool ignores, weir::duration d) {
    const counted local;
    struct inside_scope {
      int& n;
      explicit inside_scope(int& i) : n(i) { ++n; }
      ~inside_scope() { --n; }
    } const scope(inside_);
    BOOST_TEST_REQUIRE(inside_ <= limit_);
    if (ignores) co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await sleep_for(d);
    if (depth > 0) {
      auto child = make(depth - 1);
      auto [ec] = co_await group_->async_spawn(std::move(child), as_tuple);
      if (!ec) ++accepted_;
    }
    if (fails) {
      errors_.push_back("error " + std::to_string(errors_.size()));
      throw oops(errors_.back());
    }
    ++successes_;
  }

  std::function<asio::awaitable<void>()> make(int depth) {
    const bool fails = sim_.draw().chance(0.3);
    const bool ignores = sim_.draw().chance(0.2);
    const auto d = some_time();
    return [this, depth, fails, ignores, d, c = counted()] {
      return member(depth, fails, ignores, d);
    };
  }

  asio::awaitable<void> parent() {
    const auto executor = co_await asio::this_coro::executor;
    weir::task_group g(executor, {.limit = limit_, .on_error = policy_});
    group_ = &g;
    std::optional<weir::steady_timer> canceller;
    if (cancel_at_ < 4) {
      canceller.emplace(sim_.get_executor(), std::chrono::milliseconds(cancel_at_));
      canceller->async_wait([this](const error_code& ec) {
        if (ec || !group_) return;  // it may be due already when it is cancelled
        cancelled_ = true;
        group_->cancel();
      });
    }
    bool aborted = false;
    try {
      for (int i = 0; i < members_; ++i) {
        if (sim_.draw().chance(0.3)) {
          if (!g.try_spawn(make(0))) ++accepted_;
          continue;
        }
        auto one = make(sim_.draw().between(0, 1));
        auto [ec] = co_await g.async_spawn(std::move(one), as_tuple);
        if (!ec) ++accepted_;
        if (ec == asio::error::operation_aborted) aborted = true;
      }
      if (sim_.draw().chance(0.3)) co_await sleep_for(some_time());
    } catch (const boost::system::system_error&) {
      aborted = true;
    }
    if (aborted) g.cancel();
    // It may have been cancelled before, or be now, and waits all the same.
    co_await asio::this_coro::throw_if_cancelled(false);
    auto [e, result] = co_await g.async_wait(as_tuple);
    if (canceller) canceller->cancel();
    check(e, result, g, cancelled_ || aborted);
    group_ = nullptr;
  }

  void check(const std::exception_ptr& e, const group_result<>& r, weir::task_group<>& g,
             bool cancelled) {
    BOOST_TEST_REQUIRE(inside_ == 0);
    BOOST_TEST_REQUIRE(counted::alive == 0);
    BOOST_TEST_REQUIRE(g.members() == 0U);
    BOOST_TEST_REQUIRE(g.waiters() == 0U);
    BOOST_TEST_REQUIRE(r.succeeded == successes_);
    BOOST_TEST_REQUIRE(r.succeeded + r.failed + r.cancelled == accepted_);
    const bool keeps = policy_.is() != error_policy::kind::first_error_cancels;
    BOOST_TEST_REQUIRE(r.outcomes.size() == (keeps ? accepted_ : 0U));
    const std::string error = text_of(e);
    BOOST_TEST_REQUIRE(r.failed == errors_.size());
    BOOST_TEST_REQUIRE(text_of(r.first_error) == (errors_.empty() ? "" : errors_.front()));
    const auto n = static_cast<std::size_t>(policy_.number());
    if (error == "aborted") {
      // Only because somebody asked: the parent may also have been cancelled in its wait.
      return;
    }
    switch (policy_.is()) {
      case error_policy::kind::first_error_cancels:
      case error_policy::kind::tolerate:
        if (error.empty())
          BOOST_TEST_REQUIRE(r.failed <= n);
        else
          BOOST_TEST_REQUIRE(error == errors_.front());
        if (!cancelled && error.empty()) BOOST_TEST_REQUIRE(r.cancelled == 0U);
        break;
      case error_policy::kind::collect_all:
        BOOST_TEST_REQUIRE(error.empty());
        if (!cancelled) BOOST_TEST_REQUIRE(r.cancelled == 0U);
        break;
      case error_policy::kind::quorum:
        if (error.empty())
          BOOST_TEST_REQUIRE(r.succeeded >= n);
        else if (error == invalid_text)
          BOOST_TEST_REQUIRE(accepted_ < n);
        else
          BOOST_TEST_REQUIRE(error == errors_.front());
        break;
    }
  }

  simulation& sim_;
  error_policy policy_ = weir::first_error_cancels;
  int limit_ = 1;
  int members_ = 0;
  int cancel_at_ = 0;
  weir::task_group<>* group_ = nullptr;
  int inside_ = 0;
  std::size_t accepted_ = 0;
  std::size_t successes_ = 0;
  std::vector<std::string> errors_;
  bool cancelled_ = false;
};

WEIR_SIMULATION_TEST_CASE(every_member_ends_once_and_the_cause_is_right_in_any_order, 2000) {
  crowd(sim).run();
}

BOOST_AUTO_TEST_CASE(parent_that_is_cancelled_at_any_await_leaves_nothing_behind) {
  weir::test::for_each_seed(2000, [](simulation& sim) { crowd(sim).run(); },
                            {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_CASE(no_member_is_lost_or_made_when_allocations_fail) {
  // With callbacks: what an initiation throws into a coroutine that awaits it goes past that.
  const auto body = [](simulation& sim) {
    weir::task_group g(sim.get_executor(), {.limit = 2, .on_error = weir::collect_all});
    std::size_t accepted = 0;
    std::size_t ran = 0;
    const auto accept = [&](const error_code& ec) {
      if (!ec) ++accepted;
      BOOST_TEST_REQUIRE((!ec || ec == errc::group_limit));
    };
    for (int i = 0; i < 6; ++i) {
      auto member = [&ran, c = counted()]() -> asio::awaitable<void> {
        co_await sleep_for(1ms);
        ++ran;
      };
      try {
        if (sim.draw().chance(0.5))
          accept(g.try_spawn(std::move(member)));
        else
          g.async_spawn(std::move(member), accept);
      } catch (const std::bad_alloc&) {
      }
      if (sim.draw().chance(0.5)) sim.run_for(1ms);
    }
    ended<> end;
    for (bool waits = false; !waits;) {
      try {
        g.async_wait(end.handler());
        waits = true;
      } catch (const std::bad_alloc&) {
      }
    }
    sim.run();
    BOOST_TEST_REQUIRE(end.calls == 1);
    BOOST_TEST_REQUIRE(end.result.succeeded == accepted);
    BOOST_TEST_REQUIRE(ran == accepted);
    BOOST_TEST_REQUIRE(counted::alive == 0);
  };
  weir::test::for_each_seed(2000, body, {.simulation = {.fail_allocation = 0.1}});
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(on_pool, virtual_pool)

BOOST_AUTO_TEST_CASE(member_runs_on_the_pool_and_its_result_comes_back) {
  auto& p = make({.workers = 2});
  weir::task_group<std::string> g(time.get_executor(), {.limit = 4});
  for (const char* user : {"ann", "bob"}) {
    auto member = weir::on(p, {.user = std::string(user)},
                           [](task_context& ctx) -> asio::awaitable<std::string> {
                             co_await sleep_for(1ms);
                             co_return std::string(ctx.user());
                           });
    BOOST_TEST(!g.try_spawn(std::move(member)));
  }
  auto plain = weir::on(p, {.user = "cleo"}, [](task_context&) { return std::string("plain"); });
  BOOST_TEST(!g.try_spawn(std::move(plain)));
  ended<std::string> end;
  g.async_wait(end.handler());
  time.run();
  BOOST_TEST(end.error == "");
  BOOST_TEST((std::move(end.result).values() == std::vector<std::string>{"ann", "bob", "plain"}));
  BOOST_TEST(p.metrics().completed == 3U);
}

BOOST_AUTO_TEST_CASE(rejection_by_the_pool_is_the_error_of_the_member) {
  auto& p = make({.workers = 1, .max_per_user = 1});
  weir::task_group g(time.get_executor(), {.limit = 4});
  for (int i = 0; i < 2; ++i) BOOST_TEST(!g.try_spawn(weir::on(p, {.user = "ann"}, sleeper(1h))));
  ended<> end;
  g.async_wait(end.handler());
  time.run();
  BOOST_TEST(end.error == error_code(errc::user_limit_reached).message());
  BOOST_TEST(end.result.cancelled == 1U);
  BOOST_TEST((time.elapsed() < 1h));
  BOOST_TEST(p.metrics().cancelled == 1U);
}

BOOST_AUTO_TEST_CASE(cancelling_the_group_cancels_what_runs_and_what_is_queued) {
  auto& p = make({.workers = 1, .max_per_user = 0});
  weir::task_group g(time.get_executor(), {.limit = 4});
  for (int i = 0; i < 3; ++i) BOOST_TEST(!g.try_spawn(weir::on(p, {}, sleeper(1h))));
  time.run_for(1ms);
  g.cancel();
  ended<> end;
  g.async_wait(end.handler());
  time.run();
  BOOST_TEST(end.result.cancelled == 3U);
  BOOST_TEST(p.metrics().cancelled == 3U);
  BOOST_TEST((time.elapsed() < 1h));
}

BOOST_AUTO_TEST_SUITE_END()
