// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_PERIODIC_JOBS_HPP
#define WEIR_IMPL_PERIODIC_JOBS_HPP

#include <weir/detail/periodic_state.hpp>
#include <weir/detail/wait_initiation.hpp>

namespace weir {

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto periodic_jobs::async_run(Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      detail::wait_initiation<detail::periodic_run, detail::periodic_state>{state_}, token);
}

}  // namespace weir

#endif  // WEIR_IMPL_PERIODIC_JOBS_HPP
