// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_JOB_RUN_HPP
#define WEIR_DETAIL_JOB_RUN_HPP

#include <weir/clock.hpp>
#include <weir/consumer_metrics.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/detail/task_record.hpp>
#include <weir/error.hpp>
#include <weir/job_context.hpp>
#include <weir/job_handlers.hpp>
#include <weir/lease.hpp>
#include <weir/queue_backend.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace weir::detail {

class consumer_core;
class job_run;

/// What the queue is to be told of a job, and how it counts once the queue has confirmed it.
struct job_verdict {
  std::uint64_t consumer_metrics::*counts = &consumer_metrics::returned;
  bool report = true;
  settlement how = settlement::release;
  duration delay{};        ///< at least
  bool backs_off = false;  ///< a delay is drawn, and added
  bool dead = false;       ///< whatever attempts are left
  std::string text = {};   ///< result or reason
};

/// How a run that ended with `why` or `error`, as the pool has it, is to be taken.
job_verdict judge(job_run& run, const error_code& why, const std::exception_ptr& error) noexcept;

/// Its place in the table of the consumer.
class run_entry : public queue_hook {};

/// A job from its lease to the end of its report: the task that the pool runs, and the requests to
/// the queue, in one allocation. Lives until the consumer has taken it from its table; requests
/// that are under way keep it too.
class job_run final : public task_record, public run_entry {
 public:
  job_run(std::shared_ptr<consumer_core> core, lease l, const job_handler& handler);

  // For the pool.
  boost::asio::awaitable<void> start(task_context& context) override;
  void drop() noexcept override {}
  void finish(error_code why, std::exception_ptr error) noexcept override;
  void answer_early(error_code why) noexcept override;
  bool has_caller() const noexcept override { return true; }
  boost::asio::any_io_executor caller() const override { return {}; }

  // For the handler.
  const weir::job& job() const noexcept { return lease_.job; }
  lease_key key() const noexcept { return lease_.key; }
  void settle() noexcept { settled_.store(true, std::memory_order_relaxed); }

  // For the consumer.
  bool settled() const noexcept { return settled_.load(std::memory_order_relaxed); }
  bool stuck() const noexcept { return stuck_.load(std::memory_order_relaxed); }
  std::string take_result() noexcept { return std::move(result_); }
  const std::optional<duration>& timeout() const noexcept { return handler_.timeout(); }

  /// Tells the queue what `verdict` says; the consumer hears of the answer.
  void report();
  void extend(std::shared_ptr<job_run> self, duration lease_for);

  enum class stage : std::uint8_t {
    fresh,      ///< not handed over to the pool yet
    working,    ///< queued or running
    reporting,  ///< ended
  };

  // Guarded by the consumer's lock.
  std::shared_ptr<job_run> listed;  ///< itself, while it is in the table
  stage now = stage::fresh;
  time_point until;                    ///< end of the lease, as far as is known
  time_point due = time_point::max();  ///< when to extend, or to report again
  std::uint64_t failures = 0;          ///< of the queue, in a row
  bool lost = false;
  job_verdict verdict;

 private:
  class report_call final : public settle_op {
   public:
    explicit report_call(job_run& run) noexcept : run_(run) {}
    void complete(error_code ec) override;
    boost::asio::any_io_executor caller() const override { return {}; }

   private:
    job_run& run_;  ///< is in the table
  };
  class extend_call final : public extend_op {
   public:
    explicit extend_call(job_run& run) noexcept : run_(run) {}
    void complete(error_code ec, time_point until) override;
    boost::asio::any_io_executor caller() const override { return {}; }
    std::shared_ptr<job_run> keep;  ///< the table may be done with it

   private:
    job_run& run_;
  };

  const std::shared_ptr<consumer_core> core_;
  const lease lease_;
  const job_handler& handler_;  ///< the consumer's
  job_context context_{*this};
  std::string result_;
  std::atomic<bool> settled_{false};
  std::atomic<bool> stuck_{false};
  report_call report_{*this};
  extend_call extension_{*this};
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_JOB_RUN_HPP
