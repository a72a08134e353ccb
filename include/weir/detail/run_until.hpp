// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_RUN_UNTIL_HPP
#define WEIR_DETAIL_RUN_UNTIL_HPP

#include <weir/clock.hpp>
#include <weir/detail/child.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// Throws system_error with `deadline_exceeded`. `cause`, what the work threw when it was
/// cancelled, is nested in it unless it says no more than that.
[[noreturn]] void throw_deadline_exceeded(const std::exception_ptr& cause);

/// Throws system_error with `operation_aborted`; nests `cause` in it by the same rule.
[[noreturn]] void throw_aborted(const std::exception_ptr& cause);

/// For `run_until`: the caller is answered when the work has ended, and not before.
struct answer_at_end {};

/// Runs `work` on a strand of its own and cancels it at `deadline`; `with_timeout` says the rest.
template <typename T, typename OnEnd>
boost::asio::awaitable<T> run_until(boost::asio::awaitable<T> work, time_point deadline,
                                    duration answer_after, OnEnd on_end) {
  namespace this_coro = boost::asio::this_coro;
  using boost::asio::cancellation_type;
  constexpr bool structured = std::is_same_v<OnEnd, answer_at_end>;

  if (deadline <= steady_clock::now()) throw_deadline_exceeded(nullptr);
  fault_point();
  const auto executor = co_await this_coro::executor;
  const auto watch = std::make_shared<child_watch>(executor, "with_timeout");
  std::shared_ptr<child<T>> run;
  if constexpr (structured)
    run = std::make_shared<child<T>>(watch);
  else
    run = std::make_shared<abandonable_child<T, OnEnd>>(watch, std::move(on_end));

  // From here on the caller's cancellation is passed on, and the end waited for in spite of it.
  const bool throws = co_await this_coro::throw_if_cancelled();
  co_await this_coro::throw_if_cancelled(false);
  boost::asio::cancellation_state state = co_await this_coro::cancellation_state;
  cancellation_type seen = state.cancelled();
  run->start(std::move(work), structured ? launch::here : launch::posted);

  enum class cause { none, time, caller } first = cause::none;
  time_point answer_at = time_point::max();
  error_code ec;
  while (!run->ended()) {
    const time_point now = steady_clock::now();
    const cancellation_type type = state.cancelled();
    if (ec == boost::asio::error::operation_aborted || type != seen) {
      // One that came after the wait had been won by the deadline is passed on, but is not first.
      if (first == cause::none && ec != errc::deadline_exceeded) first = cause::caller;
      seen = type;
      run->cancel(type);
      if constexpr (!structured) answer_at = std::min(answer_at, saturating_add(now, answer_after));
    }
    time_point until = time_point::max();
    // Work that has settled only has to be left: no deadline counts, and no timer is armed.
    if (!run->settled()) {
      if (deadline <= now) {
        if (first == cause::none) first = cause::time;
        run->cancel(cancellation_type::terminal);
        deadline = time_point::max();
        if constexpr (!structured)
          answer_at = std::min(answer_at, saturating_add(now, answer_after));
      }
      if (answer_at <= now && run->abandon()) {
        if (deadline != time_point::max()) run->cancel(cancellation_type::terminal);
        co_await this_coro::throw_if_cancelled(throws);
        if (first == cause::time) throw_deadline_exceeded(nullptr);
        throw_aborted(nullptr);
      }
      until = std::min(deadline, answer_at);
    }
    auto wait = watch->async_wait(until, boost::asio::as_tuple(boost::asio::deferred));
    ec = std::get<0>(co_await std::move(wait));
  }
  co_await this_coro::throw_if_cancelled(throws);
  if (run->result().failed() && first == cause::time)
    throw_deadline_exceeded(run->result().error());
  co_return std::move(run->result()).get();
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_RUN_UNTIL_HPP
