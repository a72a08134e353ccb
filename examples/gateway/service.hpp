// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_SERVICE_HPP
#define WEIR_EXAMPLES_GATEWAY_SERVICE_HPP

#include "accounts.hpp"
#include "answer.hpp"
#include "job_desk.hpp"
#include "metrics.hpp"
#include "options.hpp"
#include "work_reader.hpp"

#include <weir/consumer.hpp>
#include <weir/task_queue.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <optional>
#include <string>
#include <variant>

namespace gateway {

/// A request for work that makes sense: what to do, for whom, within what time.
struct work_order {
  std::string user;
  std::optional<weir::duration> timeout;  ///< empty: the pool's
  gateway::work work;
};

/// A request that the queue of jobs has to be asked for.
struct queue_call {
  request asked;
};

/// What the gateway offers, apart from connections: it knows requests, the pool, the queue of jobs
/// and the books.
///
/// Thread safety: one thread, that of the connections. The pool has its own.
class service {
 public:
  /// \throws std::invalid_argument for a bad entry in `o.allow`.
  service(weir::worker_pool& pool, weir::task_queue& queue, const options& o);
  service(const service&) = delete;
  service& operator=(const service&) = delete;

  /// The user named in a request, empty where there is none or no valid one.
  static std::string_view user_of(const request::header_type& header);

  /// Answers what can be answered at once; else says what work it is, or that the queue is to be
  /// asked.
  std::variant<answer, work_order, queue_call> route(request r);

  /// Runs work on the pool, for its user, who waits for it.
  ///
  /// Cancellation: through `hangup`; the work is cancelled, its slot comes free.
  boost::asio::awaitable<answer> run(work_order w, boost::asio::cancellation_slot hangup);

  boost::asio::awaitable<answer> ask_queue(queue_call c);

  /// What runs the jobs of the queue, with the room that those who wait leave in the pool.
  weir::consumer& jobs() noexcept { return consumer_; }
  const weir::consumer& jobs() const noexcept { return consumer_; }

  /// The text of `/metrics`, with what the queue has said of itself.
  std::string metrics_text(const std::optional<weir::queue_stats>& queue) const {
    return metrics_.to_text(queue);
  }

  /// Whether a new request would be welcome.
  bool ready() const noexcept { return accepting && !closing; }

  bool accepting = false;  ///< kept by the listener: connections are taken
  bool closing = false;    ///< kept by the listener: each answer is the last on its connection
  accounts books;
  connection_counts connections;

 private:
  std::variant<answer, work_order, queue_call> route_work(request& r, std::string_view kind,
                                                          std::string_view query);

  weir::worker_pool& pool_;
  weir::task_queue& queue_;
  weir::duration longest_;  // zero: no bound
  work_reader reader_;
  weir::consumer consumer_;
  job_desk desk_;
  metrics metrics_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_SERVICE_HPP
