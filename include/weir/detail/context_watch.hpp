// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_CONTEXT_WATCH_HPP
#define WEIR_DETAIL_CONTEXT_WATCH_HPP

#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace weir::detail {

/// Wants to hear of the end of a context, to let go of timers and executors in time.
class context_listener {
 public:
  virtual ~context_listener() = default;

  /// `context` is being destroyed; no thread runs it.
  virtual void on_context_end(const boost::asio::execution_context& context) noexcept = 0;
};

/// Tells those who listen that their context is being destroyed.
class context_watch final : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;

  explicit context_watch(boost::asio::execution_context& context) : service(context) {}

  static void add(boost::asio::execution_context& context, std::weak_ptr<context_listener> l);

 private:
  void shutdown() override;

  std::mutex mutex_;
  std::vector<std::weak_ptr<context_listener>> listeners_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_CONTEXT_WATCH_HPP
