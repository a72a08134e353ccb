// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_SINK_HPP
#define WEIR_PIPELINE_SINK_HPP

#include <weir/bounded_queue.hpp>
#include <weir/detail/flow_sink.hpp>
#include <weir/pipeline/map.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>

#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

// The end of a pipeline. `flow | sink` is an `awaitable`, which owns every stage: nothing runs
// before it is awaited, and when it completes nothing of it is left, whichever way it ended.

namespace weir {

namespace detail {

/// What a sink does with items, where it has nothing to return.
template <typename F>
class eat_by_call {
 public:
  explicit eat_by_call(F f) : f_(std::move(f)) {}

  template <typename T>
  bool operator()(T&& item) {
    std::invoke(f_, std::forward<T>(item));
    return true;
  }
  void result() && {}

 private:
  F f_;
};

struct eat_nothing {
  bool operator()(nothing) { return true; }
  void result() && {}
};

template <typename T>
struct eat_into_vector {
  bool operator()(T&& item) {
    items.push_back(std::move(item));
    return true;
  }
  std::vector<T> result() && { return std::move(items); }

  std::vector<T> items;
};

template <typename T>
struct eat_one {
  bool operator()(T&& item) {
    found.emplace(std::move(item));
    return false;
  }
  std::optional<T> result() && { return std::move(found); }

  std::optional<T> found;
};

template <typename State, typename F>
class eat_into_state {
 public:
  eat_into_state(State first, F f) : state_(std::move(first)), f_(std::move(f)) {}

  template <typename T>
  bool operator()(T&& item) {
    state_ = std::invoke(f_, std::move(state_), std::forward<T>(item));
    return true;
  }
  State result() && { return std::move(state_); }

 private:
  State state_;
  F f_;
};

}  // namespace detail

/// Calls `f` with each item, and waits for it where it returns an `awaitable`; for `concurrency`
/// items at once if the options say so.
///
/// Result: none.
template <typename F>
auto for_each(F f, map_options options = {.buffer = 1}) {
  detail::require_valid(options);
  return detail::sink_of([f = std::move(f), options]<detail::flow Up>(Up up) mutable {
    using T = typename Up::value_type;
    static_assert(takes_item<F, T>, "weir::for_each: the function cannot take the items");
    if constexpr (takes_item<F, T>) {
      if constexpr (detail::waits_for_item<F, T>) {
        static_assert(std::is_void_v<detail::result_of_item<F, T>>,
                      "weir::for_each: the awaitable is one of void");
        auto flow = detail::make_map_flow(std::move(up), std::move(f), options);
        return detail::sink_node(std::move(flow), detail::eat_nothing());
      } else {
        return detail::sink_node(std::move(up), detail::eat_by_call<F>(std::move(f)));
      }
    }
  });
}

/// Result: a `std::vector` of all items.
inline auto collect() {
  return detail::sink_of([]<detail::flow Up>(Up up) {
    return detail::sink_node(std::move(up), detail::eat_into_vector<typename Up::value_type>());
  });
}

/// Result: what has come of `state = f(state, item)` for all items, from `first` on.
template <typename State, typename F>
auto fold(State first, F f) {
  return detail::sink_of(
      [first = std::move(first), f = std::move(f)]<detail::flow Up>(Up up) mutable {
        static_assert(std::invocable<F&, State, typename Up::value_type>,
                      "weir::fold: the function cannot take the state and the items");
        return detail::sink_node(std::move(up),
                                 detail::eat_into_state<State, F>(std::move(first), std::move(f)));
      });
}

/// Result: the first item, as a `std::optional`, which is empty if there is none. With it
/// everything above is ended.
inline auto first() {
  return detail::sink_of([]<detail::flow Up>(Up up) {
    return detail::sink_node(std::move(up), detail::eat_one<typename Up::value_type>());
  });
}

/// Sends all items to `queue`, as its policy says: where that is `block`, a full one holds the
/// pipeline back. What a send fails with ends the pipeline. The queue is not closed at the end: it
/// is yours, and others may send too.
///
/// Result: none.
///
/// Lifetime: the queue outlives the pipeline.
template <typename T>
auto into(bounded_queue<T>& queue) {
  return for_each([&queue](T item) -> boost::asio::awaitable<void> {
    auto send = queue.async_send(std::move(item), boost::asio::deferred);
    co_await std::move(send);
  });
}

}  // namespace weir

#endif  // WEIR_PIPELINE_SINK_HPP
