// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_ELSEWHERE_HPP
#define WEIR_PIPELINE_ELSEWHERE_HPP

#include <weir/detail/call_on.hpp>
#include <weir/detail/run_on.hpp>
#include <weir/pipeline/map.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

// `map` whose function runs somewhere else than on the pipeline's strand: for what computes, or
// blocks.

namespace weir {

namespace detail {

/// It is no lambda, for the coroutine that it is handed to would have a type that each file which
/// is compiled has for itself, and g++ warns of that.
template <typename F, typename T>
struct bound_item {
  decltype(auto) operator()() { return std::invoke(*f, std::move(item)); }

  F* f;
  T item;
};

template <typename F>
class on_executor {
 public:
  on_executor(boost::asio::any_io_executor ex, F f) : executor_(std::move(ex)), f_(std::move(f)) {}

  template <typename T>
  requires takes_item<F, T>
  auto operator()(T item) -> boost::asio::awaitable<std::decay_t<result_of_item<F, T>>> {
    if constexpr (waits_for_item<F, T>)
      return run_on(executor_, wait(std::move(item)), launch::posted, "map");
    else
      return call_on(executor_, bound_item<F, T>{&f_, std::move(item)});
  }

 private:
  template <typename T>
  boost::asio::awaitable<result_of_item<F, T>> wait(T item) {
    co_return co_await std::invoke(f_, std::move(item));
  }

  boost::asio::any_io_executor executor_;
  F f_;
};

template <typename F, typename T>
struct pool_call {
  auto operator()(task_context&) { return std::invoke(*f, std::move(item)); }

  std::shared_ptr<F> f;  // a task that does not end when it is told to may outlive the pipeline
  T item;
};

template <typename F>
class on_pool_workers {
 public:
  on_pool_workers(worker_pool& pool, const run_options& options, F f)
      : pool_(&pool),
        user_(options.user),
        priority_(options.priority),
        timeout_(options.timeout),
        lane_(options.lane),
        f_(std::make_shared<F>(std::move(f))) {}

  template <typename T>
  requires takes_item<F, T>
  auto operator()(T item) -> boost::asio::awaitable<result_of_item<F, T>> {
    pool_call<F, T> call{f_, std::move(item)};
    return co_spawn(
        *pool_,
        {.id = {}, .user = user_, .priority = priority_, .timeout = timeout_, .lane = lane_},
        std::move(call), boost::asio::use_awaitable);
  }

 private:
  worker_pool* pool_;
  std::string user_;
  int priority_;
  std::optional<duration> timeout_;
  std::string lane_;
  std::shared_ptr<F> f_;
};

}  // namespace detail

/// `map` whose `f` runs on `ex`, each item on a strand of its own: on a `thread_pool`, for as many
/// items at once as there are threads and `concurrency` allows. `f` returns a value or an
/// `awaitable`, and is called by several threads at once. For one that computes let `concurrency`
/// be above the number of threads, so that one that is done finds the next.
///
/// Cancellation: an `awaitable` is cancelled. A call that returns a value is not made if it has not
/// begun, and else waited for.
///
/// Lifetime: the context of `ex` outlives the pipeline.
template <std::convertible_to<boost::asio::any_io_executor> Executor, typename F>
auto map(const Executor& ex, F f, map_options options = {}) {
  return map(detail::on_executor<F>(ex, std::move(f)), options);
}

/// `map` whose `f` runs as a task of `pool` for each item, as `run` says, under the pool's limits
/// beside the stage's. `f` returns a value, which is default-constructible, or an `awaitable` of
/// one, and is called by several threads at once.
///
/// A rejection, by a pool that others fill or for more items of one user than it may have, is a
/// failure of the item, which `retrying` cannot mend but a smaller `concurrency` does.
///
/// Lifetime: the pool outlives the pipeline.
template <typename F>
auto map(worker_pool& pool, run_options run, F f, map_options options = {}) {
  return map(detail::on_pool_workers<F>(pool, run, std::move(f)), options);
}

}  // namespace weir

#endif  // WEIR_PIPELINE_ELSEWHERE_HPP
