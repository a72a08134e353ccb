// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_QUEUE_BACKEND_HPP
#define WEIR_QUEUE_BACKEND_HPP

#include <weir/clock.hpp>
#include <weir/detail/wait_op.hpp>
#include <weir/error.hpp>
#include <weir/job.hpp>
#include <weir/lease.hpp>
#include <weir/wall_clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace weir {

/// How many jobs there are in each state.
struct queue_stats {
  std::size_t ready = 0;
  std::size_t scheduled = 0;
  std::size_t leased = 0;
  std::size_t done = 0;       ///< whose result is still kept
  std::size_t cancelled = 0;  ///< of which can still be told
  std::size_t dead = 0;
};

// The requests, as a backend sees them: owned, and valid.

/// Done in the transaction of a request, with the store's own handle; an error, returned or thrown,
/// undoes the request too. Only where a store has transactions that others can share.
using transaction_effect = std::function<error_code(void* native)>;

struct new_job {
  weir::job job = {};  ///< all but its id and, if not `timed`, its `run_at`
  bool timed = false;  ///< by `job.run_at`, not by `delay`
  duration delay = {};
  duration unique_for = {};
};
struct enqueue_request {
  std::vector<new_job> jobs;  ///< all or none
  transaction_effect effect = {};
};
struct lease_request {
  int max = 1;
  duration wait = {};
  duration lease_for = {};
  std::vector<std::string> kinds = {};  ///< empty: any
};
enum class settlement { ack, nack, release, extend };
struct settle_request {
  settlement how = settlement::ack;
  lease_key key = {};
  duration time = {};     ///< until the next attempt; for `extend`, of the lease
  std::string text = {};  ///< result or reason
  bool dead = false;
  transaction_effect effect = {};
};
struct cancel_request {
  job_id id = 0;
};
struct find_request {
  job_id id = 0;
};
struct stats_request {};
struct dead_letters_request {
  job_id after = 0;
  int limit = 0;
};
struct bury_request {
  bool requeue = false;  ///< else purge
  std::vector<job_id> ids = {};
};

/// A request with whoever waits for its answer. The backend completes it, once, with no lock held.
template <typename Request, typename... Answer>
class queue_op : public detail::waiter<Answer...> {
 public:
  using request_type = Request;

  // What was done is done: a cancellation that comes after it is too late.
  static constexpr bool revocable = false;

  Request request = {};
  error_code outcome = {};
  std::tuple<Answer...> answer = {};

  void finish() {
    if (outcome) answer = {};
    std::apply([this](Answer&... a) { this->complete(outcome, std::move(a)...); }, answer);
  }

 protected:
  ~queue_op() = default;
};

class queue_backend;

class lease_op : public queue_op<lease_request, std::vector<lease>> {
 public:
  // But a lease that nobody has seen goes back.
  static constexpr bool revocable = true;
  void revoke() noexcept final;

  /// Ends it with what is in `answer`; if it is cancelled before its handler has run, `from` gets
  /// that back.
  void grant(std::shared_ptr<queue_backend> from);

  // For the backend.
  time_point deadline = {};
  bool withdrawn = false;

 protected:
  ~lease_op() = default;

 private:
  std::shared_ptr<queue_backend> from_;
  std::vector<lease_key> granted_;
};

using enqueue_op = queue_op<enqueue_request, enqueued>;  ///< of one job
using enqueue_all_op = queue_op<enqueue_request, std::vector<enqueued>>;
using settle_op = queue_op<settle_request>;
using extend_op = queue_op<settle_request, time_point>;
using cancel_op = queue_op<cancel_request, bool>;
using find_op = queue_op<find_request, std::optional<job_status>>;
using stats_op = queue_op<stats_request, queue_stats>;
using dead_letters_op = queue_op<dead_letters_request, std::vector<job_status>>;
using bury_op = queue_op<bury_request, std::size_t>;

using any_queue_op = std::variant<enqueue_op*, enqueue_all_op*, lease_op*, settle_op*, extend_op*,
                                  cancel_op*, find_op*, stats_op*, dead_letters_op*, bury_op*>;

/// What a kind of queue implements; its users see a `task_queue`. To be run through
/// `weir/test/queue_conformance.hpp`.
///
/// A template cannot be virtual, so the operations of `task_queue` are templates that turn a
/// completion token into one of the operations above, and those are what is handed over.
class queue_backend : public std::enable_shared_from_this<queue_backend> {
 public:
  queue_backend() = default;
  queue_backend(const queue_backend&) = delete;
  queue_backend& operator=(const queue_backend&) = delete;
  virtual ~queue_backend() = default;

  /// Where handlers run that have no executor of their own.
  virtual const boost::asio::any_io_executor& executor() const noexcept = 0;

  /// Turns waiters and later requests away with `queue_closed`. What was accepted is carried out.
  virtual void close() = 0;

  /// Takes back, by and by, leases that nobody has seen, their attempts unspent.
  virtual void give_back(std::span<const lease_key> leases) noexcept = 0;

  /// Part of the way from a token to `start`.
  template <typename Op>
  void enter(Op& op, typename Op::request_type request) {
    op.request = std::move(request);
    if (valid(op.request))
      start(&op);
    else
      op.refuse(errc::invalid_argument);
  }
  template <typename Op>
  bool leave(Op& op) {
    return withdraw(&op);
  }

 protected:
  /// Carries the request out, now or later, and completes it. Does not throw: an error completes
  /// it too.
  virtual void start(any_queue_op op) noexcept = 0;

  /// Takes out a request that has not been begun, which the caller then completes. \returns
  /// whether it did.
  virtual bool withdraw(any_queue_op op) = 0;

 private:
  static bool valid(const enqueue_request& r) noexcept;
  static bool valid(const lease_request& r) noexcept;
  static bool valid(const settle_request& r) noexcept;
  static bool valid(const dead_letters_request& r) noexcept;
  template <typename Other>
  static bool valid(const Other&) noexcept {
    return true;
  }
};

}  // namespace weir

#endif  // WEIR_QUEUE_BACKEND_HPP
