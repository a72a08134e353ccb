// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_CIRCUIT_BREAKER_HPP
#define WEIR_IMPL_CIRCUIT_BREAKER_HPP

#include <weir/circuit_breaker.hpp>
#include <weir/detail/awaited.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

/// \throws system_error with `breaker_open`
breaker_call begin_call(const std::shared_ptr<circuit_breaker_core>& core);

/// Ends a call that has thrown `e`.
void end_call(const circuit_breaker_core& core, breaker_call& call, const std::exception_ptr& e);

// Free, and with the core as a parameter: the frame then does not depend on the breaker.
template <typename T, typename F>
boost::asio::awaitable<T> run_call(std::shared_ptr<circuit_breaker_core> core, F f) {
  breaker_call call = begin_call(core);
  try {
    if constexpr (std::is_void_v<T>) {
      co_await f();
      call.success();
    } else {
      T result = co_await f();
      call.success();
      co_return result;
    }
  } catch (const boost::system::system_error& e) {
    if (e.code() != boost::asio::error::operation_aborted)
      end_call(*core, call, std::current_exception());
    throw;
  } catch (...) {
    end_call(*core, call, std::current_exception());
    throw;
  }
}

}  // namespace detail

template <typename F>
std::invoke_result_t<F&> circuit_breaker::run(F f) {
  return detail::run_call<detail::awaited_t<std::invoke_result_t<F&>>>(core_, std::move(f));
}

}  // namespace weir

#endif  // WEIR_IMPL_CIRCUIT_BREAKER_HPP
