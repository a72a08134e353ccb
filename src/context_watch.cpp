// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/context_watch.hpp>

#include <utility>

namespace weir::detail {

boost::asio::execution_context::id context_watch::id;

void context_watch::add(boost::asio::execution_context& context,
                        std::weak_ptr<context_listener> l) {
  auto& service = boost::asio::use_service<context_watch>(context);
  const std::lock_guard lock(service.mutex_);
  std::erase_if(service.listeners_, [](const auto& known) { return known.expired(); });
  service.listeners_.push_back(std::move(l));
}

void context_watch::shutdown() {
  std::unique_lock lock(mutex_);
  const auto listeners = std::exchange(listeners_, {});
  lock.unlock();
  for (const auto& known : listeners)
    if (const auto listener = known.lock()) listener->on_context_end(context());
}

}  // namespace weir::detail
