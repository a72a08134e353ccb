// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_SERVICE_HPP
#define WEIR_EXAMPLES_GATEWAY_SERVICE_HPP

#include "accounts.hpp"
#include "answer.hpp"
#include "fetch_policy.hpp"
#include "metrics.hpp"
#include "options.hpp"
#include "work.hpp"

#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace gateway {

using request = http::request<http::string_body>;

/// A request for work that makes sense: what to do, for whom, within what time.
struct job {
  std::string user;
  std::optional<weir::duration> timeout;  ///< empty: the pool's
  gateway::work work;
};

/// What the gateway offers, apart from connections: it knows requests, the pool and the books.
///
/// Thread safety: one thread, that of the connections. The pool has its own.
class service {
 public:
  /// \throws std::invalid_argument for a bad entry in `o.allow`.
  service(weir::worker_pool& pool, const options& o);
  service(const service&) = delete;
  service& operator=(const service&) = delete;

  /// The user named in a request, empty where there is none or no valid one.
  static std::string_view user_of(const request::header_type& header);

  /// Answers what can be answered at once; else says what work it is.
  std::variant<answer, job> route(request r);

  /// Runs a job on the pool, for its user: the one place where work starts.
  ///
  /// Cancellation: through `hangup`; the job is cancelled, its slot comes free.
  boost::asio::awaitable<answer> run(job j, boost::asio::cancellation_slot hangup);

  /// Whether a new request would be welcome.
  bool ready() const noexcept { return accepting && !closing; }

  bool accepting = false;  ///< kept by the listener: connections are taken
  bool closing = false;    ///< kept by the listener: each answer is the last on its connection
  accounts books;
  connection_counts connections;

 private:
  std::variant<answer, job> route_work(request& r, std::string_view kind, std::string_view query);

  weir::worker_pool& pool_;
  weir::duration longest_;  // zero: no bound
  std::size_t body_limit_;
  std::shared_ptr<const fetch_policy> policy_;
  metrics metrics_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_SERVICE_HPP
