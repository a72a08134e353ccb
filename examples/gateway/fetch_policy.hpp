// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_FETCH_POLICY_HPP
#define WEIR_EXAMPLES_GATEWAY_FETCH_POLICY_HPP

#include "target.hpp"

#include <boost/asio/ip/address.hpp>

#include <string>
#include <vector>

namespace gateway {

/// To whom `fetch` may speak. Anything else would let whoever reaches the gateway reach the
/// network behind it.
///
/// Thread safety: const calls are safe from any thread.
class fetch_policy {
 public:
  /// Allows the servers in `allow`, each `HOST:PORT`; with none, this machine's loopback.
  ///
  /// \throws std::invalid_argument for an entry that is not of that form.
  explicit fetch_policy(const std::vector<std::string>& allow = {});

  /// Whether a URL may be fetched as far as its host and port tell. Decided before the work runs.
  bool allows(const http_url& url) const;

  /// Whether the address that a host's name stands for may be spoken to. Decided for each
  /// address that is about to be connected to: a name may change its meaning at any time.
  bool allows(const boost::asio::ip::address& address) const;

 private:
  std::vector<std::string> allowed_;  // sorted, lower case, as in `http_url::authority`
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_FETCH_POLICY_HPP
