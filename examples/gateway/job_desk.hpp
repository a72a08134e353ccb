// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_JOB_DESK_HPP
#define WEIR_EXAMPLES_GATEWAY_JOB_DESK_HPP

#include "answer.hpp"
#include "metrics.hpp"
#include "options.hpp"
#include "work_reader.hpp"

#include <weir/job.hpp>
#include <weir/keyed_rate_limiter.hpp>
#include <weir/task_queue.hpp>

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace gateway {

/// Where work is handed in that nobody waits for: it goes into a queue, and survives the gateway.
///
///   POST   /jobs?kind=hash&rounds=10   202 with the job's id; an `Idempotency-Key` makes of a
///                                      request that is repeated the same job
///   GET    /jobs/ID                    its state, and its result when it is done
///   DELETE /jobs/ID                    takes it back
///   GET    /dead?after=ID&limit=N      a page of dead letters, for the operator
///   POST   /dead/ID/requeue            to be run again
///
/// A job belongs to the user who is named in `X-User`; to others it does not exist.
///
/// Thread safety: one thread, that of the connections.
class job_desk {
 public:
  /// Lifetime: `queue` and `reader` outlive it.
  job_desk(weir::task_queue& queue, const work_reader& reader, const job_options& o);

  static bool serves(std::string_view path) noexcept;

  /// \param closing whether no new jobs are taken any more
  boost::asio::awaitable<answer> serve(request r, std::string user, bool closing);

  job_counts counts;

 private:
  boost::asio::awaitable<answer> enqueue(request r, std::string user);
  boost::asio::awaitable<answer> show(weir::job_id id, std::string user);
  boost::asio::awaitable<answer> cancel(weir::job_id id, std::string user);
  boost::asio::awaitable<answer> list_dead(std::string_view query);
  boost::asio::awaitable<answer> requeue(weir::job_id id);
  boost::asio::awaitable<std::optional<weir::job_status>> find(weir::job_id id,
                                                               std::string_view user);

  weir::task_queue& queue_;
  const work_reader& reader_;
  job_options options_;
  std::optional<weir::keyed_rate_limiter<std::string>> rates_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_JOB_DESK_HPP
