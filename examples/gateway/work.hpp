// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_WORK_HPP
#define WEIR_EXAMPLES_GATEWAY_WORK_HPP

#include "answer.hpp"
#include "fetch_policy.hpp"
#include "target.hpp"

#include <weir/clock.hpp>
#include <weir/stop_token.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

// The kinds of work that the gateway does. Each is a callable and owns all that it uses: its caller
// may have its answer, and be gone, before the work has ended.

namespace gateway {

/// SHA-256 of a text, in hexadecimal. CPU work: it polls its stop token.
struct hash_work {
  std::string text;
  std::uint32_t rounds = 1;  ///< each further one hashes the digest so far, then the text again

  answer operator()(weir::stop_token stop) const;
};

/// An HTTP GET. The answer is 200 with what the server sent, its status in a field of its own; 502
/// if it sent nothing that can be used; 403 if its name turns out to mean an address that is not
/// allowed.
struct fetch_work {
  http_url url;
  std::shared_ptr<const fetch_policy> policy;
  std::size_t body_limit = 1024 * 1024;

  boost::asio::awaitable<answer> operator()(weir::stop_token stop) const;
};

/// Nothing, for a while.
struct sleep_work {
  weir::duration time{};

  boost::asio::awaitable<answer> operator()(weir::stop_token stop) const;
};

using work = std::variant<hash_work, fetch_work, sleep_work>;

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_WORK_HPP
