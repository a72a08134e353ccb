// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_ATTEMPTS_HPP
#define WEIR_DETAIL_ATTEMPTS_HPP

#include <weir/detail/awaited.hpp>

#include <type_traits>
#include <utility>

namespace weir {

struct attempt;

namespace detail {

/// Calls `f` with the attempt where it takes one.
template <typename F>
auto make_attempt(F& f, const attempt& a) {
  if constexpr (std::is_invocable_v<F&, const attempt&>)
    return f(a);
  else
    return f();
}

/// What a callable's awaitable gives.
template <typename F>
using attempt_result_t =
    awaited_t<decltype(make_attempt(std::declval<F&>(), std::declval<const attempt&>()))>;

struct default_advice {};
struct ignore_event {};

}  // namespace detail
}  // namespace weir

#endif  // WEIR_DETAIL_ATTEMPTS_HPP
