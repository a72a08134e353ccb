// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_MAP_HPP
#define WEIR_PIPELINE_MAP_HPP

#include <weir/detail/flow_fused.hpp>
#include <weir/detail/flow_map.hpp>
#include <weir/detail/require.hpp>
#include <weir/pipeline/options.hpp>
#include <weir/pipeline/transform.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

template <flow Up, typename F>
auto make_map_flow(Up up, F f, const map_options& options) {
  using order = result_order::by;
  if constexpr (!keyed_flow<Up>) require(options.order.rule != order::key, "weir::per_key");
  const auto buffer = static_cast<std::size_t>(options.buffer);
  const auto window = static_cast<std::size_t>(options.order.window);
  const bool by_input = options.order.rule == order::input;
  const std::size_t places =
      by_input ? window : static_cast<std::size_t>(options.concurrency) + buffer;
  // Not with each that goes: what starting a worker costs is shared by all that it takes.
  const std::size_t low_water = (by_input ? window : buffer) / 2;
  return map_flow<Up, F>(std::move(up), std::move(f), options, places, low_water);
}

}  // namespace detail

/// What `f` makes of each item.
///
/// `f` returns an `awaitable`: it runs for `concurrency` items at once, and `order` says in which
/// order the results go on. At most `concurrency + buffer` items are between input and output, or,
/// where input order is kept, its window.
///
/// `f` returns anything else: it is called when an item is asked for, fused with the stages that it
/// touches, and of the options `errors` alone has a meaning.
///
/// \param options see `map_options`, `result_order` and `error_rule`
/// \throws system_error with `invalid_argument` if concurrency, buffer or window is below 1, or a
/// time below zero; where the stage is attached, for `per_key` without a `keyed` right above.
template <typename F>
auto map(F f, map_options options = {}) {
  detail::require_valid(options);
  return detail::stage_of([f = std::move(f), options]<detail::flow Up>(Up up) mutable {
    using T = typename Up::value_type;
    static_assert(takes_item<F, T>, "weir::map: the function cannot take the items");
    if constexpr (takes_item<F, T>) {
      static_assert(
          !std::is_void_v<detail::result_of_item<F, T>>,
          "weir::map: the function returns nothing; that is what for_each and tap are for");
      if constexpr (detail::waits_for_item<F, T>)
        return detail::make_map_flow(std::move(up), std::move(f), options);
      else
        return detail::fused_map<Up, F>(std::move(up), std::move(f), options.errors);
    }
  });
}

/// The items of the ranges that `f` makes of each item: `map` and `unbatch`.
template <typename F>
auto flat_map(F f, map_options options = {}) {
  return map(std::move(f), options) | unbatch();
}

}  // namespace weir

#endif  // WEIR_PIPELINE_MAP_HPP
