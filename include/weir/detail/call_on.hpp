// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_CALL_ON_HPP
#define WEIR_DETAIL_CALL_ON_HPP

#include <weir/detail/fault_point.hpp>
#include <weir/detail/work_result.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/require.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <exception>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// A call that is made on another executor, in the frame of the coroutine that waits for it.
template <typename F>
class remote_call {
 public:
  using result_type = std::decay_t<std::invoke_result_t<F&>>;

  explicit remote_call(F f) : f_(std::move(f)) {}

  static boost::asio::awaitable<result_type> run(boost::asio::any_io_executor ex, F f) {
    fault_point();
    remote_call call(std::move(f));
    auto made = call.async_make(ex);
    co_await std::move(made);
    co_return std::move(call.result_).get();
  }

 private:
  /// Has it made on `ex`; `void()`.
  auto async_make(const boost::asio::any_io_executor& ex) {
    return boost::asio::async_initiate<const boost::asio::deferred_t&, void()>(
        [this](auto handler, const boost::asio::any_io_executor& to) {
          if (auto slot = boost::asio::get_associated_cancellation_slot(handler);
              slot.is_connected())
            slot.assign([this](boost::asio::cancellation_type) { dropped_ = true; });
          boost::asio::require(to, boost::asio::execution::blocking.never)
              .execute([this, waiting = std::move(handler)]() mutable {
                make();
                boost::asio::dispatch(std::move(waiting));
              });
        },
        boost::asio::deferred, ex);
  }

  void make() noexcept {
    try {
      if (dropped_)
        throw boost::system::system_error(boost::asio::error::operation_aborted, "weir::map");
      if constexpr (std::is_void_v<result_type>) {
        f_();
        result_.succeed();
      } else {
        result_.succeed(f_());
      }
    } catch (...) {
      result_.fail(std::current_exception());
    }
  }

  F f_;
  work_result<result_type> result_;
  std::atomic<bool> dropped_{false};
};

/// Calls `f`, which waits for nothing, on `ex` and waits for its end. A cancellation that comes
/// before it has begun drops it.
///
/// `run_on` would do, and costs five times as much: what cannot be interrupted needs neither a
/// strand nor a coroutine. The end is dispatched and not posted, so that where the caller runs on
/// the same threads, the one that made the call goes on with it. Nobody's work is counted
/// meanwhile: whoever drives the caller does that.
template <typename F>
auto call_on(boost::asio::any_io_executor ex, F f) {
  return remote_call<F>::run(std::move(ex), std::move(f));
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_CALL_ON_HPP
