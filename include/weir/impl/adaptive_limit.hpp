// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_ADAPTIVE_LIMIT_HPP
#define WEIR_IMPL_ADAPTIVE_LIMIT_HPP

#include <weir/detail/adaptive_limit_state.hpp>

#include <boost/asio/associator.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

/// Makes a call of the permit that its handler has waited for. Stands in for the handler in the
/// semaphore's own wait: executor, allocator and cancellation slot are those of the handler.
template <typename Handler>
class call_handler {
 public:
  call_handler(std::shared_ptr<adaptive_limit_state> state, Handler h)
      : handler(std::move(h)), state_(std::move(state)) {}

  void operator()(error_code ec, permit place) {
    limited_call call;
    if (!ec) call = state_->begin(std::move(place));
    state_.reset();
    std::move(handler)(ec, std::move(call));
  }

  Handler handler;

 private:
  std::shared_ptr<adaptive_limit_state> state_;
};

/// What starts the wait once the handler is known.
struct call_initiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return state->places().get_executor(); }

  template <typename Handler>
  void operator()(Handler&& handler) const {
    state->places().async_acquire(
        call_handler<std::decay_t<Handler>>(state, std::forward<Handler>(handler)));
  }

  std::shared_ptr<adaptive_limit_state> state;
};

}  // namespace detail

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, limited_call)) Token>
auto adaptive_limit::async_acquire(Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code, limited_call)>(
      detail::call_initiation{state_}, token);
}

}  // namespace weir

template <template <typename, typename> class Associator, typename Handler,
          typename DefaultCandidate>
struct boost::asio::associator<Associator, weir::detail::call_handler<Handler>, DefaultCandidate>
    : Associator<Handler, DefaultCandidate> {
  static auto get(const weir::detail::call_handler<Handler>& h) noexcept {
    return Associator<Handler, DefaultCandidate>::get(h.handler);
  }
  static auto get(const weir::detail::call_handler<Handler>& h,
                  const DefaultCandidate& c) noexcept {
    return Associator<Handler, DefaultCandidate>::get(h.handler, c);
  }
};

#endif  // WEIR_IMPL_ADAPTIVE_LIMIT_HPP
