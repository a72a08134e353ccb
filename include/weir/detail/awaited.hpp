// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_AWAITED_HPP
#define WEIR_DETAIL_AWAITED_HPP

#include <boost/asio/awaitable.hpp>

namespace weir::detail {

/// What a call gives in the end: `T` where it returns `awaitable<T>`, else what it returns.
template <typename T>
struct awaited {
  using type = T;
  static constexpr bool is_awaitable = false;
};
template <typename T, typename Executor>
struct awaited<boost::asio::awaitable<T, Executor>> {
  using type = T;
  static constexpr bool is_awaitable = true;
};

template <typename T>
using awaited_t = typename awaited<T>::type;

}  // namespace weir::detail

#endif  // WEIR_DETAIL_AWAITED_HPP
