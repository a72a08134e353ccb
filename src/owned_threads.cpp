// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/owned_threads.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <future>
#include <memory>

namespace weir::detail {

owned_threads::owned_threads(int count) : timers_work_(timers_.get_executor()) {
  try {
    threads_.reserve(static_cast<std::size_t>(count) + 1);
    threads_.emplace_back([this] { timers_.run(); });
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { tasks_.attach(); });
  } catch (...) {
    stop();
    throw;
  }
}

owned_threads::~owned_threads() { stop(); }

void owned_threads::stop() noexcept {
  timers_.stop();
  tasks_.stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool owned_threads::contains_this_thread() const noexcept {
  return std::any_of(threads_.begin(), threads_.end(), [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  });
}

void owned_threads::flush(duration limit) {
  const auto reached = std::make_shared<std::promise<void>>();
  auto future = reached->get_future();
  boost::asio::post(tasks_, [reached] { reached->set_value(); });
  future.wait_for(limit);
}

}  // namespace weir::detail
