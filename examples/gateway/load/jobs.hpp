// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_LOAD_JOBS_HPP
#define WEIR_EXAMPLES_GATEWAY_LOAD_JOBS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gateway::load {

/// Jobs to hand in, and to ask for until they are done.
struct job_plan {
  std::uint16_t port = 0;
  std::size_t jobs = 0;
  int users = 8;
  int concurrency = 48;
  std::chrono::milliseconds pause{5};                            ///< of a connection, on average
  std::chrono::milliseconds patience = std::chrono::minutes(1);  ///< for all of it
  std::uint64_t seed = 1;                                        ///< also of the idempotency keys
};

/// What became of them.
struct job_report {
  std::size_t wanted = 0;
  std::size_t accepted = 0;     ///< the client has a 202
  std::size_t completed = 0;    ///< of those: done, with the right result
  std::size_t begun_again = 0;  ///< of those: more than one attempt
  std::size_t lost = 0;         ///< accepted, and not known any more
  std::size_t wrong = 0;        ///< dead, or with a wrong result, or accepted under two ids
  std::size_t unfinished = 0;   ///< when patience was at its end
  std::size_t resent = 0;       ///< requests that were sent again, as nobody had answered them

  /// Whether each job was accepted, and each of those completed.
  bool complete() const noexcept { return completed == wanted && wrong == 0; }
  std::string to_text() const;
};

/// Hands jobs in, each with a key of its own, and again until it is accepted, whatever happens to
/// the gateway meanwhile; then asks for each until it is done.
job_report run_jobs(const job_plan& p);

}  // namespace gateway::load

#endif  // WEIR_EXAMPLES_GATEWAY_LOAD_JOBS_HPP
