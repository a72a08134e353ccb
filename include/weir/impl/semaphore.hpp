// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_SEMAPHORE_HPP
#define WEIR_IMPL_SEMAPHORE_HPP

#include <weir/detail/semaphore_state.hpp>
#include <weir/detail/wait_initiation.hpp>

#include <utility>

namespace weir {

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permit)) Token>
auto semaphore::async_acquire(std::ptrdiff_t n, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code, permit)>(
      detail::wait_initiation<detail::permit_waiter, detail::semaphore_state>{state_}, token, n);
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permit)) Token>
auto semaphore::async_acquire(Token&& token) {
  return async_acquire(1, std::forward<Token>(token));
}

}  // namespace weir

#endif  // WEIR_IMPL_SEMAPHORE_HPP
