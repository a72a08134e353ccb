// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_SOURCE_HPP
#define WEIR_PIPELINE_SOURCE_HPP

#include <weir/bounded_queue.hpp>
#include <weir/clock.hpp>
#include <weir/detail/flow_source.hpp>
#include <weir/detail/require.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

template <typename T>
inline constexpr bool is_awaitable_optional = false;
template <typename T>
inline constexpr bool is_awaitable_optional<boost::asio::awaitable<std::optional<T>>> = true;

}  // namespace detail

/// What `from` takes as a source of items that have to be waited for: called again and again, one
/// call at a time, until what it returns is empty.
template <typename F>
concept async_generator = std::invocable < std::decay_t<F>
& > &&detail::is_awaitable_optional<std::invoke_result_t<std::decay_t<F>&>>;

/// The items of a range: a container, a view, a generator coroutine that is a range. It is read one
/// item at a time, when one is asked for, and never ahead.
///
/// A range that is handed over is moved out of; one that stays yours is read, and its items are
/// copied. What an iterator throws ends the pipeline.
///
/// Lifetime: an lvalue outlives the pipeline.
template <std::ranges::input_range Range>
auto from(Range&& range) {
  using own = std::remove_cvref_t<Range>;
  if constexpr (std::is_lvalue_reference_v<Range> && !std::ranges::view<own>) {
    using view = std::ranges::ref_view<std::remove_reference_t<Range>>;
    return detail::range_source<view>(view(range));
  } else {
    return detail::range_source<own>(std::forward<Range>(range));
  }
}

/// The items of a queue until it is closed and empty. An item is taken when it is asked for; one
/// that the pipeline has taken and not brought to its end is dropped with it, the others stay in
/// the queue.
///
/// Lifetime: the queue outlives the pipeline.
template <typename T>
auto from(bounded_queue<T>& queue) {
  return detail::queue_source<T>(queue);
}

/// What `f` returns, an `awaitable<optional<T>>`, until it is empty. It is not called again after
/// that, and what it throws ends the pipeline.
///
/// \param ahead so many items are fetched before they are asked for
/// \throws system_error with `invalid_argument` if `ahead` is below 1.
template <async_generator F>
auto from(F&& f, std::ptrdiff_t ahead = 1) {
  detail::require(ahead >= 1, "weir::from");
  return detail::make_function_source(std::decay_t<F>(std::forward<F>(f)),
                                      static_cast<std::size_t>(ahead), true);
}

/// 0, 1, 2, ... one each `period`, the first after one period, for ever: end it with `take` or a
/// cancellation. Ticks for which nobody was ready are left out, number and all.
///
/// \throws system_error with `invalid_argument` if `period` is not above zero.
inline auto interval(duration period) {
  detail::require(period > duration::zero(), "weir::interval");
  struct state {
    std::optional<steady_timer> timer;
    time_point start;
    std::uint64_t next = 0;
  };
  return from([period, s = std::make_shared<state>()]() mutable
              -> boost::asio::awaitable<std::optional<std::uint64_t>> {
    const time_point now = steady_clock::now();
    if (!s->timer) {
      s->timer.emplace(co_await boost::asio::this_coro::executor);
      s->start = now;
    }
    const auto tick = [&](std::uint64_t n) {
      return s->start + static_cast<std::int64_t>(n + 1) * period;
    };
    const auto passed = static_cast<std::uint64_t>((now - s->start) / period);
    if (passed > s->next) s->next = passed;
    s->timer->expires_at(tick(s->next));
    co_await s->timer->async_wait(boost::asio::deferred);
    co_return s->next++;
  });
}

}  // namespace weir

#endif  // WEIR_PIPELINE_SOURCE_HPP
