// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_CONTEXT_END_HPP
#define WEIR_DETAIL_CONTEXT_END_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <memory>

namespace weir::detail {

/// Tells objects that live in coroutines whether they are being destroyed because their coroutine
/// has gone on, or because its context is being destroyed with all that is suspended in it.
///
/// Asio shuts down the newest service of a context first. What waits on timers and sockets is
/// destroyed by the oldest, what is queued on strands by that of the strands, which is made here
/// before this one: so this one is told before them. What waits on an object whose service is
/// newer, such as a channel or a signal set, may be destroyed before.
class context_end final : public boost::asio::execution_context::service {
 public:
  static inline boost::asio::execution_context::id id;

  explicit context_end(boost::asio::execution_context& context) : service(context) {}

  /// Whether the end of the context of `ex` has begun. May be asked when the context is no more.
  static std::shared_ptr<const std::atomic<bool>> flag(const boost::asio::any_io_executor& ex) {
    auto& context = boost::asio::query(ex, boost::asio::execution::context);
    if (!boost::asio::has_service<context_end>(context))
      static_cast<void>(boost::asio::make_strand(ex));
    return boost::asio::use_service<context_end>(context).ended_;
  }

 private:
  void shutdown() override { ended_->store(true); }

  const std::shared_ptr<std::atomic<bool>> ended_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_CONTEXT_END_HPP
