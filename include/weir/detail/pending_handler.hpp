// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_PENDING_HANDLER_HPP
#define WEIR_DETAIL_PENDING_HANDLER_HPP

#include <boost/asio/any_io_executor.hpp>
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

  /// The handler's executor; empty where it cannot be held as an `any_io_executor`.
  boost::asio::any_io_executor executor() const {
    if constexpr (std::is_convertible_v<executor_type, boost::asio::any_io_executor>)
      return work_.get_executor();
    else
      return {};
  }

  /// Posts the handler with `args`, once.
  template <typename... Args>
  void complete(Args... args) && {
    // What the post needs, before all of this moves; the memory may be the handler's own.
    work_guard work = std::move(work_);
    const auto way = way_;
    const auto memory = allocator();
    post(std::move(work), way, memory,
         [handler = std::move(*this), ... args = std::move(args)]() mutable {
           std::move(handler).call(std::move(args)...);
         });
  }

  /// Posts `f`, with the handler's memory, to where the handler is to be called; once, and with
  /// nothing but `call` to follow. This object may be a part of `f`.
  template <typename F>
  void post(F f) {
    post(std::move(work_), way_, allocator(), std::move(f));
  }

  /// Calls the handler here and now. Whatever this object is a part of may be destroyed by then:
  /// the caller moves it out first.
  template <typename... Args>
  void call(Args... args) && {
    if (auto s = slot(); s.is_connected()) s.clear();
    std::move(handler_)(std::move(args)...);
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

  using work_guard = boost::asio::executor_work_guard<executor_type>;

  // `work` stays here until the post is over: `f` may be run before it is, and a context that has
  // run out of work may be destroyed, with another thread still about to wake it.
  template <typename Way, typename Memory, typename F>
  static void post(const work_guard work, const Way way, const Memory& memory, F f) {
    if constexpr (can_post)
      boost::asio::post(work.get_executor(), boost::asio::bind_allocator(memory, std::move(f)));
    else
      boost::asio::post(way.executor, [work, f = std::move(f)]() mutable {
        boost::asio::dispatch(work.get_executor(), std::move(f));
      });
  }

  work_guard work_;
  [[no_unique_address]] std::conditional_t<can_post, straight, by_way_of> way_;
  Handler handler_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_PENDING_HANDLER_HPP
