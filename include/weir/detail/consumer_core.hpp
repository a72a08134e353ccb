// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_CONSUMER_CORE_HPP
#define WEIR_DETAIL_CONSUMER_CORE_HPP

#include <weir/clock.hpp>
#include <weir/consumer_metrics.hpp>
#include <weir/consumer_options.hpp>
#include <weir/detail/inspection.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/detail/job_run.hpp>
#include <weir/detail/pool_core.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/detail/wait_list.hpp>
#include <weir/detail/wait_op.hpp>
#include <weir/job_handlers.hpp>
#include <weir/pool_room.hpp>
#include <weir/queue_backend.hpp>
#include <weir/task_queue.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace weir::detail {

/// What those who are not members may have of a queue.
struct queue_access {
  static const std::shared_ptr<queue_backend>& backend(task_queue& queue) noexcept {
    return queue.backend_;
  }
};

/// Somebody who waits until a consumer has stopped.
class consumer_waiter : public waiter<> {
 public:
  bool runs = false;  ///< it is `async_run`: a cancellation stops the consumer
};

/// What a consumer is: the jobs it has, and what it does to get more. Shared by the handle and by
/// the jobs, so that the handle may go while they still run.
///
/// Its waits on pool and queue are waiters of its own, without a completion handler. So nothing is
/// posted: whoever gives a room brings the request for jobs to the queue, and whoever ends a job
/// its acknowledgement. A coroutine that fetches, on a strand, was turned down: three hops for each
/// job, and its cancellation from other threads a fourth.
///
/// Thread safety: safe. The lock is taken before that of the pool; nothing else is called under it.
class consumer_core : public std::enable_shared_from_this<consumer_core> {
 public:
  consumer_core(std::shared_ptr<queue_backend> queue, std::shared_ptr<pool_core> pool,
                job_handlers handlers, consumer_options options);

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }
  queue_backend& queue() const noexcept { return *queue_; }
  consumer_metrics metrics() const;
  void inspect(inspector& to) const;

  void start();
  void pause(bool on);
  void stop(error_code why = {});

  void enter(consumer_waiter& w, bool runs);
  bool leave(consumer_waiter& w);

  // What has happened to a job.
  void ended(job_run& run, const error_code& why, const std::exception_ptr& error) noexcept;
  void reported(job_run& run, const error_code& ec);
  void extended(job_run& run, const error_code& ec, time_point until);
  void got_stuck() noexcept { stuck_.fetch_add(1, std::memory_order_relaxed); }

 private:
  class room_call final : public reserve_waiter {
   public:
    void complete(error_code ec, pool_room room) override;
    boost::asio::any_io_executor caller() const override { return {}; }
    std::shared_ptr<consumer_core> core;  ///< while it waits
  };
  class lease_call final : public lease_op {
   public:
    explicit lease_call(std::shared_ptr<consumer_core> c) noexcept : core_(std::move(c)) {}
    void complete(error_code ec, std::vector<lease> leases) override;
    boost::asio::any_io_executor caller() const override { return {}; }
    std::shared_ptr<lease_call> self;  ///< while it waits

   private:
    const std::shared_ptr<consumer_core> core_;
  };

  enum class fetch : std::uint8_t {
    rests,
    reserves,   ///< waits for room
    leases,     ///< waits for jobs, or hands them over
    backs_off,  ///< until `fetch_at_`
  };

  void advance();
  void call_off();
  void give_room(const error_code& ec, pool_room room);
  void give_leases(const error_code& ec, std::vector<lease> leases);
  bool hand_over(lease l, std::vector<pool_room>& rooms);
  void refused(job_run& run, const error_code& why);
  void begin_report(job_run& run);
  void on_timer();
  void try_end();

  // Under the lock.
  bool may_fetch() const noexcept {
    return started_ && !paused_ && !stopping_ && !context_ended_->load();
  }
  std::size_t room_for() const;
  void back_off();
  void come_back_at(time_point at);
  duration draw(const backoff_options& options, std::uint64_t n);
  std::shared_ptr<job_run> retire(job_run& run, std::uint64_t consumer_metrics::*counts) noexcept;
  void wake_at(time_point at);

  const std::shared_ptr<queue_backend> queue_;
  const std::shared_ptr<pool_core> pool_;
  const boost::asio::any_io_executor executor_;
  const job_handlers handlers_;
  const consumer_options options_;
  const std::shared_ptr<const std::atomic<bool>> context_ended_;
  std::atomic<std::size_t> stuck_{0};

  mutable spin_mutex mutex_;
  bool started_ = false;
  bool paused_ = false;
  bool stopping_ = false;
  error_code end_;  ///< why it stops, where nobody has asked
  fetch fetch_ = fetch::rests;
  std::vector<pool_room> rooms_;
  room_call room_call_;
  std::shared_ptr<lease_call> lease_call_;
  lease_request request_;  ///< with the kinds; away while it is asked
  time_point fetch_at_ = time_point::max();
  std::uint64_t fetch_failures_ = 0;
  intrusive_queue<run_entry> runs_;
  consumer_metrics counts_;
  std::mt19937_64 random_;
  std::optional<steady_timer> timer_;
  time_point armed_ = time_point::max();
  wait_list<consumer_waiter> waiting_;

  inspectable inspectable_{*this};
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_CONSUMER_CORE_HPP
