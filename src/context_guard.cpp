// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/context_guard.hpp>
#include <weir/detail/pool_core.hpp>

#include <utility>

namespace weir::detail {

boost::asio::execution_context::id context_guard::id;

void context_guard::add(std::weak_ptr<pool_core> core) {
  const std::lock_guard lock(mutex_);
  std::erase_if(cores_, [](const auto& known) { return known.expired(); });
  cores_.push_back(std::move(core));
}

void context_guard::shutdown() {
  std::unique_lock lock(mutex_);
  const auto cores = std::exchange(cores_, {});
  lock.unlock();
  for (const auto& known : cores)
    if (const auto core = known.lock()) core->abandon_context();
}

}  // namespace weir::detail
