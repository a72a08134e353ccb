// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_WAIT_INITIATION_HPP
#define WEIR_DETAIL_WAIT_INITIATION_HPP

#include <weir/detail/wait_op.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// What starts a wait of a `State` once its handler is known.
template <typename Waiter, typename State>
struct wait_initiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return state->executor(); }

  template <typename Handler, typename... Args>
  void operator()(Handler&& handler, Args&&... args) const {
    wait_op<Waiter, std::decay_t<Handler>>::start(state, std::forward<Handler>(handler),
                                                  state->executor(), std::forward<Args>(args)...);
  }

  std::shared_ptr<State> state;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_WAIT_INITIATION_HPP
