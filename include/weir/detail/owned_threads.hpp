// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_OWNED_THREADS_HPP
#define WEIR_DETAIL_OWNED_THREADS_HPP

#include <weir/clock.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <thread>
#include <vector>

namespace weir::detail {

/// The threads of a pool that owns them: an `asio::thread_pool` for its tasks, and one thread
/// apart for its timers, which no task can block.
///
/// The threads are ours and attached, since `thread_pool` itself waits for ever in its
/// constructor when only some of its threads can be started.
class owned_threads {
 public:
  /// \throws std::system_error if a thread cannot be started; none is left running then.
  explicit owned_threads(int count);
  owned_threads(const owned_threads&) = delete;
  owned_threads& operator=(const owned_threads&) = delete;

  /// Stops and joins. Not from one of the threads.
  ~owned_threads();

  boost::asio::thread_pool& tasks() noexcept { return tasks_; }
  boost::asio::io_context& timers() noexcept { return timers_; }

  /// Whether the calling thread is one of these.
  bool contains_this_thread() const noexcept;

  /// Gives what has been posted so far until `limit` to be taken up.
  void flush(duration limit);

 private:
  void stop() noexcept;

  boost::asio::io_context timers_{1};  // outlives the tasks, which hold timers on it
  boost::asio::thread_pool tasks_{0};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> timers_work_;
  std::vector<std::thread> threads_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_OWNED_THREADS_HPP
