// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_LOAD_RUN_HPP
#define WEIR_EXAMPLES_GATEWAY_LOAD_RUN_HPP

#include "tally.hpp"

#include <chrono>
#include <cstdint>

namespace gateway::load {

/// What to send, and how much of it.
struct plan {
  std::uint16_t port = 0;
  int users = 8;
  int concurrency = 48;        ///< connections, each with one request at a time
  std::uint64_t requests = 0;  ///< in all; 0: as many as fit in the time
  std::chrono::milliseconds time = std::chrono::seconds(10);  ///< to begin requests in
  std::chrono::milliseconds pause{5};       ///< between two requests of a connection, on average
  std::chrono::milliseconds deadline{300};  ///< that slow requests ask for, and are slower than
  std::chrono::milliseconds patience = std::chrono::minutes(1);  ///< for one answer
  double slow_share = 0.1;
  std::uint64_t seed = 1;
};

/// Sends requests to the gateway on this machine until the plan is done or the gateway has left,
/// and says what became of them.
///
/// The same seed draws the same requests on each connection; how they interleave is up to the
/// machine.
tally run(const plan& p);

}  // namespace gateway::load

#endif  // WEIR_EXAMPLES_GATEWAY_LOAD_RUN_HPP
