// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_HEDGE_HPP
#define WEIR_HEDGE_HPP

#include <weir/clock.hpp>
#include <weir/detail/attempts.hpp>
#include <weir/retry.hpp>
#include <weir/retry_budget.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>

namespace weir {

/// When to ask again without having been answered. Trivially destructible, so that it may be
/// written inside a `co_await` with g++ 12.
struct hedge_options {
  duration after =
      std::chrono::milliseconds(50);  ///< from one attempt to the next; zero: all at once
  int max = 2;                        ///< attempts, the first one included; at least 1
  retry_budget* budget = nullptr;     ///< pays for all attempts but the first; outlives the call
};

/// Runs `f`, and again where it has not answered within `after`, up to `max` times at once: the
/// first to succeed wins. What is slow by chance, and only then, is asked twice, which takes the
/// tail off a latency for a few percent of load; take `after` from its 95th percentile.
///
/// The others are cancelled when one has won, and awaited: no work of this is left when it returns,
/// and what they held has been given back. A loser that succeeded in the same tick is destroyed.
///
/// An attempt that fails is followed by the next at once. When every attempt has failed, the first
/// failure passes through. The budget refuses an attempt for good: what runs is waited for.
///
/// \param f `awaitable<T>()` or `awaitable<T>(const attempt&)`, called once for each attempt, by
/// the caller's coroutine. It must be idempotent, for more than one may have its effect.
///
/// Errors: system_error with `invalid_argument` if `max` is below 1 or `after` below zero.
///
/// Cancellation: all types that the caller's coroutine accepts reach every attempt as they are, and
/// no further one starts. When they have ended: the result, if one of them succeeded all the same,
/// else `operation_aborted`.
///
/// Executor: each attempt runs on a strand of its own over the caller's executor, and is posted.
///
/// Lifetime: the attempts may refer to what the caller's coroutine holds; `f` is kept until they
/// have ended.
///
/// \code
/// const auto ask = [&](const weir::attempt& a) { return ask_replica(a.number); };
/// const answer first = co_await weir::hedge(ask, {.after = 20ms, .max = 3});
/// \endcode
///
/// Source: Dean, Barroso, "The Tail at Scale", Communications of the ACM 56(2), 2013.
template <typename F>
boost::asio::awaitable<detail::attempt_result_t<F>> hedge(F f, hedge_options options = {});

}  // namespace weir

#include <weir/impl/hedge.hpp>

#endif  // WEIR_HEDGE_HPP
