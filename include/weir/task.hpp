// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TASK_HPP
#define WEIR_TASK_HPP

#include <weir/clock.hpp>
#include <weir/detail/task_function.hpp>
#include <weir/task_context.hpp>

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// What a pool runs: a move-only callable `awaitable<void>(task_context&)`, or one that returns
/// `void` and so runs without a coroutine frame.
///
/// A small trivially copyable callable is stored in place, any other on the heap, once. The
/// callable lives until its coroutine has ended, so captures may be used after an await.
using task_function = detail::task_function;

/// A piece of work to hand over to a pool.
struct task {
  std::string id = {};    ///< for logs and reports; empty: one is made
  std::string user = {};  ///< whose slot it takes; may be empty only where users have no limit
  task_function fn = {};  ///< never empty
  int priority = 0;       ///< for a pool that orders by it; fifo does not look
  std::optional<duration> timeout = {};  ///< run deadline; empty: the pool's; zero: none

  /// Tasks of one lane run one after another, in the order in which they were accepted; those of
  /// different lanes, and those of none (empty), run beside each other.
  ///
  /// - The next has its turn when the frame of the one before it has ended, whatever ended it: a
  ///   lane orders, it does not depend. So a task that fails, times out or is cancelled holds up
  ///   nobody for longer than it runs, and one that is stuck holds its lane until it ends.
  /// - A task that has its turn stands in line for a worker like any other, and the others of its
  ///   lane do not: so a lane with a thousand tasks keeps the one task of another waiting for one
  ///   of them. Until then they are queued like all others: they take room and their users'
  ///   slots, can be given up, and are shed when they have waited for too long.
  /// - The order of acceptance is kept also against priorities, which count among those that have
  ///   their turn.
  /// - A retry inside a task keeps its place; a task that is submitted again goes behind all
  /// others.
  /// - A task that awaits another of its own lane waits for itself, up to its deadline.
  std::string lane = {};
};

/// The same for `co_spawn`, where the callable is a parameter of its own.
///
/// The strings are copied during the call. The type is trivially destructible on purpose: one
/// written inside a `co_await` expression is then safe with g++ 12 (see README).
struct run_options {
  std::string_view id = {};              ///< empty: one is made
  std::string_view user = {};            ///< whose slot it takes
  int priority = 0;                      ///< as in `task`
  std::optional<duration> timeout = {};  ///< as in `task`
  std::string_view lane = {};            ///< as in `task`
};

static_assert(std::is_trivially_destructible_v<run_options>);

}  // namespace weir

#endif  // WEIR_TASK_HPP
