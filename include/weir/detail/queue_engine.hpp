// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_QUEUE_ENGINE_HPP
#define WEIR_DETAIL_QUEUE_ENGINE_HPP

#include <weir/clock.hpp>
#include <weir/detail/inspection.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/detail/job_store.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/queue_backend.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::detail {

struct engine_options {
  std::string name = {};

  /// Where the store is called; empty: wherever a request is made, since it does not block.
  boost::asio::any_io_executor store = {};

  /// How often to look for what other processes have done; zero: there are none.
  duration poll = {};

  /// Whether the store is called on a thread that has nothing else to do, and so may wait a moment
  /// for a group to be whole: within its transaction, so that the first of it do not wait for the
  /// last.
  bool gather = false;

  /// Requests that may wait for the store; to enqueue beyond it is refused.
  std::size_t inbox = 10'000;

  /// Requests in one transaction.
  std::size_t max_group = 1000;
};

/// Makes a queue of a store that does not wait.
///
/// Requests go to an inbox. Whoever finds nobody at work takes what is in it, as one group, in one
/// transaction: so requests that come while a transaction is being made durable share the next
/// one. They are completed after the commit. If the group fails, each is done again alone, so that
/// one does not fail for another; a savepoint for each was turned down, since failure is rare, and
/// two statements more for each request are not.
///
/// Those who wait for jobs are a list. It is looked at, in order, when a request may have made jobs
/// ready, and by a timer when jobs become ready by themselves or another process may have made
/// them.
///
/// Thread safety: safe.
class queue_engine final : public queue_backend {
 public:
  queue_engine(boost::asio::any_io_executor ex, std::unique_ptr<job_store> store,
               engine_options options);

  const boost::asio::any_io_executor& executor() const noexcept override { return executor_; }
  void close() override;
  void give_back(std::span<const lease_key> leases) noexcept override;
  void inspect(inspector& to) const;

  /// Waits, once it is closed, until everything has been carried out; nothing is posted after that.
  /// Not where the store is called.
  void wait_for_rest() const noexcept { working_.wait(true); }

 private:
  using lease_queue = intrusive_queue<lease_op>;

  /// What is done at one time.
  struct round {
    std::vector<any_queue_op> ops;  ///< but leases
    std::vector<lease_key> returned;
    lease_queue leases;     ///< those who waited, then new ones
    bool may_find = false;  ///< something has happened since those who waited were served last
    bool closed = false;
  };

  void start(any_queue_op op) noexcept override;
  bool withdraw(any_queue_op op) override;

  /// With the lock held. \returns whether the caller is to call `go`.
  bool begin_work() noexcept;
  bool take(round& r);

  void go() noexcept;
  void work() noexcept;
  void on_timer();

  // By who is at work, without the lock.
  void carry_out(round& r, queue_time now);
  void finish(round& r, time_point now);

  /// Waits for a moment. \returns whether there is a request now.
  bool await_request();

  /// Takes requests that have come meanwhile into the round, at its end. \returns whether it may
  /// have.
  bool let_join(round& r, std::chrono::steady_clock::time_point began);
  bool worth_a_look(const round& r, queue_time now);
  error_code together(std::span<const any_queue_op> group, std::span<const lease_key> returned,
                      queue_time now, bool& begun, round* growing = nullptr) noexcept;
  void execute(any_queue_op op, queue_time now);
  void arm_timer();

  const boost::asio::any_io_executor executor_;
  const std::unique_ptr<job_store> store_;
  const engine_options options_;

  mutable spin_mutex mutex_;
  std::vector<any_queue_op> inbox_;
  std::vector<lease_key> returned_;
  lease_queue waiting_;
  std::atomic<bool> working_{false};  ///< changed with the lock held
  bool look_ = false;                 ///< there is something to do, though the inbox may be empty
  bool armed_ = false;                ///< the timer
  bool closed_ = false;

  // Of who is at work.
  std::size_t expected_ = 0;  ///< in the next group
  std::chrono::steady_clock::duration last_took_{};
  std::chrono::steady_clock::duration waited_{};  ///< in this round, for others to join it
  std::optional<steady_timer> timer_;
  time_point event_at_ = time_point::max();    ///< when a look is worth while in any case
  std::vector<const lease_request*> in_vain_;  ///< of this transaction: there is nothing for these

  inspectable inspectable_{*this};
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_QUEUE_ENGINE_HPP
