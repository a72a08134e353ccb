// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_PENDING_HANDLER_HPP
#define WEIR_DETAIL_PENDING_HANDLER_HPP

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <type_traits>
#include <utility>

namespace weir::detail {

/// A completion handler on its way: keeps its executor busy until it has been called.
///
/// All operations of weir complete through this one, so that all of them post rather than call
/// inline, clear the cancellation slot before the handler runs, and use its allocator.
template <typename Handler, typename Fallback>
class pending_handler {
 public:
  using executor_type = boost::asio::associated_executor_t<Handler, Fallback>;

  pending_handler(Handler handler, const Fallback& fallback)
      : work_(boost::asio::get_associated_executor(handler, fallback)),
        way_(fallback),
        handler_(std::move(handler)) {}

  auto allocator() const noexcept { return boost::asio::get_associated_allocator(handler_); }
  auto slot() const noexcept { return boost::asio::get_associated_cancellation_slot(handler_); }

  /// Posts the handler with `args`, once.
  template <typename... Args>
  void complete(Args... args) && {
    const auto executor = work_.get_executor();
    // Before the handler moves: it may be the handler's own.
    const auto memory = boost::asio::get_associated_allocator(handler_);
    auto call = [work = std::move(work_), handler = std::move(handler_),
                 ... args = std::move(args)]() mutable {
      if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected())
        slot.clear();
      std::move(handler)(std::move(args)...);
    };
    if constexpr (can_post)
      boost::asio::post(executor, boost::asio::bind_allocator(memory, std::move(call)));
    else
      boost::asio::post(way_.executor, [executor, call = std::move(call)]() mutable {
        boost::asio::dispatch(executor, std::move(call));
      });
  }

 private:
  // The executor of a type-erased handler cannot be posted to, only dispatched to: it is reached
  // from where the operation ran.
  static constexpr bool can_post =
      boost::asio::can_require_v<executor_type, boost::asio::execution::blocking_t::never_t>;
  struct straight {
    explicit straight(const Fallback&) noexcept {}
  };
  struct by_way_of {
    explicit by_way_of(const Fallback& ex) : executor(ex) {}
    Fallback executor;
  };

  boost::asio::executor_work_guard<executor_type> work_;
  [[no_unique_address]] std::conditional_t<can_post, straight, by_way_of> way_;
  Handler handler_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_PENDING_HANDLER_HPP
