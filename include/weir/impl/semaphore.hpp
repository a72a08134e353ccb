// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_SEMAPHORE_HPP
#define WEIR_IMPL_SEMAPHORE_HPP

#include <weir/detail/semaphore_state.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

struct semaphore_initiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return state->executor(); }

  template <typename Handler>
  void operator()(Handler&& handler, std::ptrdiff_t n) const {
    wait_op<permit_waiter, std::decay_t<Handler>>::start(state, std::forward<Handler>(handler),
                                                         state->executor(), n);
  }

  std::shared_ptr<semaphore_state> state;
};

}  // namespace detail

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permit)) Token>
auto semaphore::async_acquire(std::ptrdiff_t n, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code, permit)>(
      detail::semaphore_initiation{state_}, token, n);
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, permit)) Token>
auto semaphore::async_acquire(Token&& token) {
  return async_acquire(1, std::forward<Token>(token));
}

}  // namespace weir

#endif  // WEIR_IMPL_SEMAPHORE_HPP
