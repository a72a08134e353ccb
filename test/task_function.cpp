// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "allocation_counter.hpp"

#include <weir/detail/task_function.hpp>
#include <weir/task_context.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace asio = boost::asio;

namespace {

using weir::task_context;
using function = weir::detail::task_function;

/// Calls `f` with a context that no target here looks at: only a pool can make a real one.
asio::awaitable<void> start(function& f) {
  alignas(task_context) static std::byte place[sizeof(task_context)];
  return f(*reinterpret_cast<task_context*>(place));
}

/// The same for a target that returns void.
void call(function& f) { std::ignore = start(f); }

/// Counts its instances.
struct counter {
  static inline int alive = 0;
  static inline int calls = 0;

  counter() { ++alive; }
  counter(const counter&) { ++alive; }
  counter(counter&&) noexcept { ++alive; }
  counter& operator=(const counter&) = default;
  ~counter() { --alive; }

  void operator()(task_context&) const { ++calls; }
};

struct counter_fixture {
  counter_fixture() { counter::alive = counter::calls = 0; }
  ~counter_fixture() { BOOST_TEST(counter::alive == 0); }
};

int plain_calls = 0;
void plain(task_context&) { ++plain_calls; }
asio::awaitable<void> plain_coroutine(task_context&) {
  ++plain_calls;
  co_return;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(task_function, counter_fixture)

BOOST_AUTO_TEST_CASE(type_is_move_only_and_moves_without_throwing) {
  static_assert(!std::is_copy_constructible_v<function>);
  static_assert(!std::is_copy_assignable_v<function>);
  static_assert(std::is_nothrow_move_constructible_v<function>);
  static_assert(std::is_nothrow_move_assignable_v<function>);
  static_assert(std::is_nothrow_default_constructible_v<function>);
  BOOST_TEST(sizeof(function) == 4 * sizeof(void*));
}

BOOST_AUTO_TEST_CASE(only_what_takes_a_context_and_returns_nothing_converts) {
  const auto takes_nothing = [] {};
  const auto returns_int = [](task_context&) { return 1; };
  const auto awaits_int = [](task_context&) -> asio::awaitable<int> { co_return 1; };
  const auto right = [](task_context&) {};
  static_assert(!std::is_constructible_v<function, decltype(takes_nothing)>);
  static_assert(!std::is_constructible_v<function, decltype(returns_int)>);
  static_assert(!std::is_constructible_v<function, decltype(awaits_int)>);
  static_assert(!std::is_constructible_v<function, int>);
  static_assert(std::is_convertible_v<decltype(right), function>);
  const auto owns = [p = std::unique_ptr<int>()](task_context&) {};
  static_assert(std::is_constructible_v<function, decltype(right)&>);
  static_assert(std::is_constructible_v<function, std::remove_const_t<decltype(owns)>>);
  BOOST_TEST(true);  // all of it was checked when this was compiled
}

BOOST_AUTO_TEST_CASE(default_and_nullptr_are_empty) {
  function none;
  function null = nullptr;
  BOOST_TEST(!none);
  BOOST_TEST(!null);
  none.reset();
  BOOST_TEST(!none);
}

BOOST_AUTO_TEST_CASE(empty_std_function_is_empty) {
  function f = std::function<void(task_context&)>();
  BOOST_TEST(!f);
  const std::function<asio::awaitable<void>(task_context&)> empty;
  function g = empty;
  BOOST_TEST(!g);
}

BOOST_AUTO_TEST_CASE(null_function_pointer_is_empty) {
  void (*null)(task_context&) = nullptr;
  function f = null;
  BOOST_TEST(!f);
  asio::awaitable<void> (*null_coroutine)(task_context&) = nullptr;
  function g = null_coroutine;
  BOOST_TEST(!g);
}

BOOST_AUTO_TEST_CASE(std_function_and_function_pointer_that_are_set_are_called) {
  plain_calls = 0;
  function by_pointer = &plain;
  function by_name = plain;
  function coroutine = &plain_coroutine;
  function by_function = std::function<void(task_context&)>(plain);
  BOOST_TEST((by_pointer && by_name && coroutine && by_function));
  BOOST_TEST(!start(by_pointer).valid());
  BOOST_TEST(!start(by_name).valid());
  BOOST_TEST(!start(by_function).valid());
  BOOST_TEST(plain_calls == 3);
  BOOST_TEST(start(coroutine).valid());
  BOOST_TEST(plain_calls == 3);  // it has been made, but nobody awaits it
}

BOOST_AUTO_TEST_CASE(void_target_gives_an_empty_awaitable) {
  int calls = 0;
  function f = [&calls](task_context&) { ++calls; };
  const auto work = start(f);
  BOOST_TEST(!work.valid());
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(coroutine_target_gives_an_awaitable_that_runs_it) {
  int steps = 0;
  function f = [&steps](task_context&) -> asio::awaitable<void> {
    ++steps;
    co_return;
  };
  auto work = start(f);
  BOOST_TEST(work.valid());
  BOOST_TEST(steps == 0);
  asio::io_context context;
  asio::co_spawn(context, std::move(work), asio::detached);
  context.run();
  BOOST_TEST(steps == 1);
}

BOOST_AUTO_TEST_CASE(exception_of_the_call_comes_out_and_the_target_lives_on) {
  int calls = 0;
  function f = [&calls, alive = counter()](task_context&) {
    if (++calls == 1) throw std::runtime_error("of the target");
  };
  BOOST_CHECK_THROW(call(f), std::runtime_error);
  BOOST_TEST(static_cast<bool>(f));
  BOOST_TEST(counter::alive == 1);
  call(f);
  BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(move_only_captures_are_taken) {
  auto owned = std::make_unique<int>(42);
  int seen = 0;
  function f = [owned = std::move(owned), &seen](task_context&) { seen = *owned; };
  function g = std::move(f);
  call(g);
  BOOST_TEST(seen == 42);
}

BOOST_AUTO_TEST_CASE(mutable_target_keeps_its_state_between_calls_and_moves) {
  int seen = 0;
  function f = [n = 0, &seen](task_context&) mutable { seen = ++n; };
  call(f);
  function g = std::move(f);
  call(g);
  BOOST_TEST(seen == 2);
}

BOOST_AUTO_TEST_CASE(small_trivial_target_allocates_nothing) {
  int a = 0;
  int b = 0;
  int c = 0;
  const auto target = [&a, &b, &c](task_context&) { ++a, ++b, ++c; };
  static_assert(sizeof target == 3 * sizeof(void*));
  const allocation_counter allocations;
  {
    function f = target;
    function g = std::move(f);
    f = std::move(g);
    call(f);
    function pointer = &plain;
    call(pointer);
  }
  const std::size_t count = allocations.count();
  BOOST_TEST(count == 0U);
  BOOST_TEST(a + b + c == 3);
}

BOOST_AUTO_TEST_CASE(large_target_is_allocated_exactly_once) {
  std::array<std::intptr_t, 4> large{1, 2, 3, 4};
  std::intptr_t sum = 0;
  const auto target = [large, &sum](task_context&) { sum = large[0] + large[3]; };
  const allocation_counter allocations;
  {
    function f = target;
    function g = std::move(f);
    function h;
    h = std::move(g);
    call(h);
  }
  const std::size_t count = allocations.count();
  BOOST_TEST(count == 1U);
  BOOST_TEST(sum == 5);
}

BOOST_AUTO_TEST_CASE(small_target_that_is_not_trivial_is_allocated_exactly_once) {
  const allocation_counter allocations;
  {
    function f = counter();
    function g = std::move(f);
    call(g);
  }
  const std::size_t count = allocations.count();
  BOOST_TEST(count == 1U);
  BOOST_TEST(counter::calls == 1);
}

BOOST_AUTO_TEST_CASE(overaligned_target_is_aligned) {
  struct alignas(64) wide {
    std::uintptr_t* address;
    void operator()(task_context&) const { *address = reinterpret_cast<std::uintptr_t>(this); }
  };
  std::uintptr_t address = 1;
  function f = wide{&address};
  function g = std::move(f);
  call(g);
  BOOST_TEST(address % 64 == 0U);
}

BOOST_AUTO_TEST_CASE(copy_constructor_that_throws_leaves_nothing) {
  struct thrower {
    counter one;
    bool armed = true;
    thrower() = default;
    thrower(const thrower& other) : one(other.one), armed(other.armed) {
      if (armed) throw std::runtime_error("of the copy");
    }
    void operator()(task_context&) const {}
  };
  const thrower target;
  BOOST_TEST(counter::alive == 1);
  BOOST_CHECK_THROW(function{target}, std::runtime_error);
  BOOST_TEST(counter::alive == 1);
  function kept = counter();
  BOOST_CHECK_THROW(kept = function(target), std::runtime_error);
  BOOST_TEST(static_cast<bool>(kept));
  BOOST_TEST(counter::alive == 2);
}

BOOST_AUTO_TEST_CASE(no_memory_leaves_nothing) {
  const counter target;
  bool thrown = false;
  {
    const allocation_failure none_left;
    try {
      function f = target;
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
  }
  BOOST_TEST(thrown);
  BOOST_TEST(counter::alive == 1);
}

BOOST_AUTO_TEST_CASE(target_is_destroyed_exactly_once) {
  {
    function f = counter();
    BOOST_TEST(counter::alive == 1);
    call(f);
    BOOST_TEST(counter::alive == 1);
  }
  BOOST_TEST(counter::alive == 0);
  function f = counter();
  f.reset();
  BOOST_TEST(!f);
  BOOST_TEST(counter::alive == 0);
  f.reset();
  BOOST_TEST(counter::alive == 0);
}

BOOST_AUTO_TEST_CASE(move_takes_the_target_and_leaves_the_source_empty) {
  function f = counter();
  function g = std::move(f);
  BOOST_TEST(!f);  // NOLINT(bugprone-use-after-move): that is what is tested
  BOOST_TEST(static_cast<bool>(g));
  BOOST_TEST(counter::alive == 1);
}

BOOST_AUTO_TEST_CASE(move_assignment_destroys_what_was_there) {
  function f = counter();
  function g = counter();
  BOOST_TEST(counter::alive == 2);
  g = std::move(f);
  BOOST_TEST(counter::alive == 1);
  BOOST_TEST(!f);  // NOLINT(bugprone-use-after-move): that is what is tested
  call(g);
  BOOST_TEST(counter::calls == 1);
  g = function();
  BOOST_TEST(!g);
  BOOST_TEST(counter::alive == 0);
  f = counter();
  BOOST_TEST(static_cast<bool>(f));
  BOOST_TEST(counter::alive == 1);
}

BOOST_AUTO_TEST_CASE(self_move_changes_nothing) {
  function f = counter();
  function& same = f;
  f = std::move(same);
  BOOST_TEST(static_cast<bool>(f));
  BOOST_TEST(counter::alive == 1);
  call(f);
  BOOST_TEST(counter::calls == 1);
}

BOOST_AUTO_TEST_SUITE_END()
