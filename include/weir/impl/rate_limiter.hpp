// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_RATE_LIMITER_HPP
#define WEIR_IMPL_RATE_LIMITER_HPP

#include <weir/detail/rate_limiter_state.hpp>
#include <weir/detail/wait_initiation.hpp>

#include <utility>

namespace weir {

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto rate_limiter::async_acquire(std::int64_t n, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      detail::wait_initiation<detail::token_waiter, detail::rate_limiter_state>{state_}, token, n);
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto rate_limiter::async_acquire(Token&& token) {
  return async_acquire(1, std::forward<Token>(token));
}

}  // namespace weir

#endif  // WEIR_IMPL_RATE_LIMITER_HPP
