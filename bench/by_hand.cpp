// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "by_hand.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

namespace bench {

/// Gives back a user's place and a place in the pool when its task has ended.
class by_hand_pool::slot {
 public:
  slot(by_hand_pool& pool, const std::string& user) : pool_(pool), user_(user) {}

  slot(const slot&) = delete;
  slot& operator=(const slot&) = delete;

  ~slot() {
    const std::lock_guard lock(pool_.mutex_);
    --pool_.in_flight_;
    // As in the Go pool, an entry stays in the map at zero.
    --pool_.user_active_.find(user_)->second;
  }

 private:
  by_hand_pool& pool_;
  const std::string& user_;
};

by_hand_pool::by_hand_pool(const side_options& options)
    : options_(options), threads_(static_cast<std::size_t>(options.threads)) {
  if (options.suspending)
    running_.emplace(threads_.get_executor(), static_cast<std::size_t>(options.workers));
}

by_hand_pool::~by_hand_pool() { threads_.join(); }

verdict by_hand_pool::submit(const std::string& user, std::function<asio::awaitable<void>()> work) {
  {
    const std::lock_guard lock(mutex_);
    int& active = user_active_[user];
    if (active >= options_.max_per_user) return verdict::user_limit;
    if (in_flight_ >= options_.workers + options_.queue_size) return verdict::full;
    ++active;
    ++in_flight_;
  }
  asio::co_spawn(asio::make_strand(threads_), run(user, std::move(work)), asio::detached);
  return verdict::accepted;
}

asio::awaitable<void> by_hand_pool::run(std::string user,
                                        std::function<asio::awaitable<void>()> work) {
  const slot held(*this, user);
  if (!running_) {
    co_await run_until_deadline(work);
    co_return;
  }
  co_await running_->async_send(boost::system::error_code(), asio::use_awaitable);
  co_await run_until_deadline(work);
  running_->try_receive([](boost::system::error_code) {});
}

asio::awaitable<void> by_hand_pool::run_until_deadline(
    const std::function<asio::awaitable<void>()>& work) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer deadline(co_await asio::this_coro::executor, options_.task_timeout);
  try {
    const auto first = co_await (work() || deadline.async_wait(asio::use_awaitable));
    (first.index() == 0 ? completed_ : timed_out_).fetch_add(1, std::memory_order_relaxed);
  } catch (const std::exception&) {
    failed_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace bench
