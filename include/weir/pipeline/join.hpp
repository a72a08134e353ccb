// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_JOIN_HPP
#define WEIR_PIPELINE_JOIN_HPP

#include <weir/detail/flow_join.hpp>

#include <concepts>
#include <utility>

// One source of several: `merge(from(a) | map(f), from(b)) | ...`. Ends when all its inputs have,
// but for `zip`. What one of them throws ends the pipeline.

namespace weir {

/// The items of all, as they come. Fair: an input that always has one gives one in turn with the
/// others.
template <detail::flow First, detail::flow... Others>
requires(std::same_as<typename First::value_type, typename Others::value_type>&&...) auto merge(
    First first, Others... others) {
  return detail::merge_flow<First, Others...>(std::move(first), std::move(others)...);
}

/// The items of the first, then those of the second, and so on. One whose turn has not come is not
/// asked, so nothing of it runs.
template <detail::flow First, detail::flow... Others>
requires(std::same_as<typename First::value_type, typename Others::value_type>&&...) auto concat(
    First first, Others... others) {
  return detail::concat_flow<First, Others...>(std::move(first), std::move(others)...);
}

/// Tuples of the first items, the second items, and so on. Ends with the first input that does; the
/// others are ended, and items that have no counterpart are dropped.
template <detail::flow... Inputs>
requires(sizeof...(Inputs) >= 1) auto zip(Inputs... inputs) {
  return detail::zip_flow<Inputs...>(std::move(inputs)...);
}

}  // namespace weir

#endif  // WEIR_PIPELINE_JOIN_HPP
