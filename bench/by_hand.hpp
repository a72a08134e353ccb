// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_BENCH_BY_HAND_HPP
#define WEIR_BENCH_BY_HAND_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace bench {

/// What a pool says to a submission.
enum class verdict { accepted, user_limit, full };

/// The options that all pools of this comparison have.
struct side_options {
  int workers = 8;           ///< tasks that run at once
  int threads = 8;           ///< OS threads
  int queue_size = 100;      ///< tasks that may wait
  int max_per_user = 10000;  ///< tasks of one user, waiting and running
  std::chrono::steady_clock::duration task_timeout = std::chrono::minutes(10);

  /// Whether tasks are expected to suspend. Where the number of threads does not limit how many
  /// run, the pool by hand needs a semaphore for it, which it is spared otherwise.
  bool suspending = false;
};

/// Bounded work as one writes it by hand in Asio: a coroutine for each task, on a strand of its
/// own; `task() || timer` for the deadline; a map under a mutex for the caps.
class by_hand_pool {
 public:
  explicit by_hand_pool(const side_options& options);
  ~by_hand_pool();

  by_hand_pool(const by_hand_pool&) = delete;
  by_hand_pool& operator=(const by_hand_pool&) = delete;

  verdict submit(const std::string& user, std::function<boost::asio::awaitable<void>()> work);

 private:
  class slot;
  using semaphore = boost::asio::experimental::concurrent_channel<void(boost::system::error_code)>;

  boost::asio::awaitable<void> run(std::string user,
                                   std::function<boost::asio::awaitable<void>()> work);
  boost::asio::awaitable<void> run_until_deadline(
      const std::function<boost::asio::awaitable<void>()>& work);

  const side_options options_;
  boost::asio::thread_pool threads_;
  std::optional<semaphore> running_;
  std::mutex mutex_;
  std::unordered_map<std::string, int> user_active_;
  int in_flight_ = 0;
  std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> timed_out_{0};
};

/// `co_spawn` on a thread pool and nothing else: no cap, no deadline, no limit on what runs. Only
/// its backlog is counted, so that it is as long as that of the others.
class bare_pool {
 public:
  explicit bare_pool(const side_options& options)
      : in_flight_max_(options.workers + options.queue_size),
        threads_(static_cast<std::size_t>(options.threads)) {}

  ~bare_pool() { threads_.join(); }

  bare_pool(const bare_pool&) = delete;
  bare_pool& operator=(const bare_pool&) = delete;

  template <typename F>
  verdict submit(const std::string&, F work) {
    if (in_flight_.fetch_add(1, std::memory_order_relaxed) >= in_flight_max_) {
      in_flight_.fetch_sub(1, std::memory_order_relaxed);
      return verdict::full;
    }
    boost::asio::co_spawn(threads_, std::move(work), [this](const std::exception_ptr&) {
      in_flight_.fetch_sub(1, std::memory_order_relaxed);
    });
    return verdict::accepted;
  }

 private:
  const int in_flight_max_;
  std::atomic<int> in_flight_{0};
  boost::asio::thread_pool threads_;
};

}  // namespace bench

#endif  // WEIR_BENCH_BY_HAND_HPP
