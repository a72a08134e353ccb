// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_CONSUMER_HPP
#define WEIR_IMPL_CONSUMER_HPP

#include <weir/detail/consumer_core.hpp>
#include <weir/detail/wait_initiation.hpp>

namespace weir {

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto consumer::async_run(Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      detail::wait_initiation<detail::consumer_waiter, detail::consumer_core>{core_}, token, true);
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto consumer::async_stop(Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      detail::wait_initiation<detail::consumer_waiter, detail::consumer_core>{core_}, token, false);
}

}  // namespace weir

#endif  // WEIR_IMPL_CONSUMER_HPP
