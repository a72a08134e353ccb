// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_TRANSFORM_HPP
#define WEIR_PIPELINE_TRANSFORM_HPP

#include <weir/detail/flow_fused.hpp>
#include <weir/detail/flow_range.hpp>

#include <concepts>
#include <cstddef>
#include <ranges>
#include <type_traits>
#include <utility>

// Stages that wait for nothing. Those that touch are fused: no queue and no coroutine is between
// them. What their functions throw ends the pipeline.

namespace weir {

/// Lets the items through for which `keep` holds.
template <typename F>
auto filter(F keep) {
  return detail::stage_of([keep = std::move(keep)]<detail::flow Up>(Up up) mutable {
    using T = typename Up::value_type;
    static_assert(takes_item<F, const T&>, "weir::filter: the predicate cannot take the items");
    return detail::filter_flow<Up, F>(std::move(up), std::move(keep));
  });
}

/// Shows each item to `f`, and lets it through.
template <typename F>
auto tap(F f) {
  return detail::stage_of([f = std::move(f)]<detail::flow Up>(Up up) mutable {
    using T = typename Up::value_type;
    static_assert(takes_item<F, const T&>, "weir::tap: the function cannot take the items");
    return detail::tap_flow<Up, F>(std::move(up), std::move(f));
  });
}

/// The first `n` items. With the last of them the stages above are ended: what is under way there
/// is cancelled.
inline auto take(std::size_t n) {
  return detail::stage_of(
      [n]<detail::flow Up>(Up up) { return detail::take_flow<Up>(std::move(up), n); });
}

/// The items up to the first for which `wanted` does not hold, which is dropped. With it the stages
/// above are ended.
template <typename F>
auto take_while(F wanted) {
  return detail::stage_of([wanted = std::move(wanted)]<detail::flow Up>(Up up) mutable {
    using T = typename Up::value_type;
    static_assert(takes_item<F, const T&>, "weir::take_while: the predicate cannot take the items");
    return detail::take_while_flow<Up, F>(std::move(up), std::move(wanted));
  });
}

/// For each item what has come of all up to it: `state = f(state, item)`.
template <typename State, typename F>
auto scan(State first, F f) {
  return detail::stage_of(
      [first = std::move(first), f = std::move(f)]<detail::flow Up>(Up up) mutable {
        using T = typename Up::value_type;
        static_assert(std::invocable<F&, State, T>,
                      "weir::scan: the function cannot take the state and the items");
        return detail::scan_flow<Up, State, F>(std::move(up), std::move(first), std::move(f));
      });
}

/// The items of items that are ranges.
inline auto unbatch() {
  return detail::stage_of([]<detail::flow Up>(Up up) {
    static_assert(std::ranges::input_range<typename Up::value_type>,
                  "weir::unbatch: the items are not ranges");
    return detail::unbatch_flow<Up>(std::move(up));
  });
}

}  // namespace weir

#endif  // WEIR_PIPELINE_TRANSFORM_HPP
