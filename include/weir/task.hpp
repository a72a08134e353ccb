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
  std::string user = {};  ///< whose slot it takes; may be empty only where no cap is on
  task_function fn = {};  ///< never empty
  int priority = 0;       ///< for a pool that orders by it; fifo does not look
  std::optional<duration> timeout = {};  ///< run deadline; empty: the pool's; zero: none
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
};

static_assert(std::is_trivially_destructible_v<run_options>);

}  // namespace weir

#endif  // WEIR_TASK_HPP
