// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_ON_POOL_HPP
#define WEIR_ON_POOL_HPP

#include <weir/worker_pool.hpp>

#include <boost/asio/use_awaitable.hpp>

#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

/// What `on` returns: the arguments of a `co_spawn` that is still to come.
template <typename F>
class pool_member {
 public:
  template <typename G>
  pool_member(worker_pool& pool, const run_options& options, G&& f, std::source_location where)
      : pool_(&pool),
        id_(options.id),
        user_(options.user),
        priority_(options.priority),
        timeout_(options.timeout),
        lane_(options.lane),
        function_(std::forward<G>(f)),
        where_(where) {}

  /// An `awaitable` of what the function yields. Once.
  auto operator()() {
    return co_spawn(
        *pool_,
        {.id = id_, .user = user_, .priority = priority_, .timeout = timeout_, .lane = lane_},
        std::move(function_), boost::asio::use_awaitable, where_);
  }

 private:
  worker_pool* pool_;
  std::string id_;
  std::string user_;
  int priority_;
  std::optional<duration> timeout_;
  std::string lane_;
  F function_;
  std::source_location where_;
};

}  // namespace detail

/// A callable without parameters that runs `f` on the pool, under its limits, for whoever calls and
/// awaits it: a member for a `task_group`, which then has a limit of its own and that of the pool.
///
/// `f` and its results are as for `co_spawn` onto a pool. A rejection by the pool is the error of
/// the member. Cancelling the member (its group, say) removes the task from the pool's queue or
/// cancels it.
///
/// Lifetime: the pool outlives the call; the strings are copied. It is called once.
///
/// \code
/// auto member = weir::on(pool, {.user = "ann"}, [](weir::task_context&) { return 42; });
/// co_await group.async_spawn(std::move(member), boost::asio::use_awaitable);
/// \endcode
template <typename F>
auto on(worker_pool& pool, run_options options, F&& f,
        std::source_location where = std::source_location::current()) {
  return detail::pool_member<std::decay_t<F>>(pool, options, std::forward<F>(f), where);
}

}  // namespace weir

#endif  // WEIR_ON_POOL_HPP
