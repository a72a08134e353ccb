// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_OPTIONS_HPP
#define WEIR_EXAMPLES_GATEWAY_OPTIONS_HPP

#include "../common/flags.hpp"

#include <weir/clock.hpp>
#include <weir/pool_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gateway {

/// What one connection may take from the gateway before it is told no.
struct connection_limits {
  std::size_t connections = 1024;  ///< open at once; one more gets a quick 503
  std::size_t header = 8 * 1024;   ///< bytes of a request's header; more is 431
  std::size_t body = 1024 * 1024;  ///< bytes of a request's body; more is 413
  std::size_t requests = 1000;     ///< answered on one connection, then it is closed
  weir::duration header_time = std::chrono::seconds(5);  ///< from first byte to last; then 408
  weir::duration body_time = std::chrono::seconds(10);   ///< likewise
  weir::duration idle_time = std::chrono::seconds(60);   ///< between requests; then closed
  weir::duration write_time = std::chrono::seconds(10);  ///< for the client to take its answer
  weir::duration linger_time = std::chrono::seconds(1);  ///< for the client to close after us
};

/// The queue of jobs: work that nobody waits for on a connection.
struct job_options {
  std::string queue = "gateway-jobs.db";  ///< as `common::open_queue` takes it
  std::size_t capacity = 100'000;         ///< jobs in it; one more is 503; 0: no bound
  std::int64_t rate = 100;  ///< jobs a second that a user may add; more are 429; 0: no bound
  int attempts = 5;         ///< at a job that fails
  weir::duration keep = std::chrono::hours(1);      ///< results, and keys of requests
  weir::duration lease = std::chrono::seconds(30);  ///< until jobs of a gateway that died run again
};

/// All that can be set about a gateway.
struct options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;  ///< 0: any free one
  weir::pool_options pool{.task_timeout = std::chrono::seconds(30)};
  connection_limits limits;
  job_options jobs;

  /// The port of `weir::admin` on 127.0.0.1, apart from what clients can reach; 0: any free one;
  /// below: none.
  std::int32_t admin = -1;

  /// `HOST:PORT` of the servers that `fetch` may ask; none: any port of this machine's loopback.
  std::vector<std::string> allow;

  weir::duration shutdown_deadline = std::chrono::seconds(30);
  std::string accounts_file;  ///< where the accounts go at the end; empty: standard output
};

/// The command line of `gateway`, bound to `o`.
common::flags make_flags(options& o);

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_OPTIONS_HPP
