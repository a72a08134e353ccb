// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_QUEUE_CROWD_HPP
#define WEIR_TEST_QUEUE_CROWD_HPP

#include <weir/task_queue.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <vector>

namespace weir_test {

/// Six who add jobs and four who run them, on the threads of a pool, through two queues on the same
/// jobs. Every fifth job fails at its first attempt.
class queue_crowd {
 public:
  /// \param harmless an error of a lease after which it is asked for again
  explicit queue_crowd(int each, weir::error_code harmless = {})
      : each_(each), harmless_(harmless) {}
  queue_crowd(const queue_crowd&) = delete;
  queue_crowd& operator=(const queue_crowd&) = delete;

  /// Lifetime: what is handed over outlives `wait`.
  void start(boost::asio::thread_pool& threads, weir::task_queue& one, weir::task_queue& other) {
    for (int i = 0; i < producers; ++i)
      ended_.push_back(boost::asio::co_spawn(threads, produce(i % 2 == 0 ? one : other),
                                             boost::asio::use_future));
    for (int i = 0; i < 4; ++i)
      ended_.push_back(boost::asio::co_spawn(threads, consume(i % 2 == 0 ? one : other),
                                             boost::asio::use_future));
  }

  /// Until all jobs are done.
  void wait() {
    for (auto& e : ended_) try {
        e.get();
      } catch (const std::exception& failed) {
        BOOST_ERROR(failed.what());
      }
  }

  int all() const noexcept { return each_ * producers; }
  int done() const noexcept { return done_.load(); }

 private:
  static constexpr int producers = 6;

  boost::asio::awaitable<void> produce(weir::task_queue& queue) {
    for (int i = 0; i < each_; ++i)
      co_await queue.async_enqueue({.kind = "a", .priority = i % 3}, boost::asio::use_awaitable);
  }

  boost::asio::awaitable<void> consume(weir::task_queue& queue) {
    using namespace std::chrono_literals;
    while (done() < all()) {
      weir::error_code ec;
      const auto leases =
          co_await queue.async_lease({.max = 3, .wait = 20ms, .lease_for = 1h},
                                     boost::asio::redirect_error(boost::asio::use_awaitable, ec));
      if (ec && ec != harmless_) throw boost::system::system_error(ec);
      for (const weir::lease& l : leases) {
        if (l.job.attempt == 1 && l.key.id % 5 == 0) {
          co_await queue.async_nack(l.key, {}, boost::asio::use_awaitable);
          continue;
        }
        co_await queue.async_ack(l.key, boost::asio::use_awaitable);
        ++done_;
      }
    }
  }

  const int each_;
  const weir::error_code harmless_;
  std::atomic<int> done_{0};
  std::vector<std::future<void>> ended_;
};

}  // namespace weir_test

#endif  // WEIR_TEST_QUEUE_CROWD_HPP
