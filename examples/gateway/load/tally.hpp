// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_LOAD_TALLY_HPP
#define WEIR_EXAMPLES_GATEWAY_LOAD_TALLY_HPP

#include "../accounts.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gateway::load {

/// What became of the requests of one user, as the client saw it.
struct user_tally {
  /// Requests that the server has taken: those with a whole answer, and, as `gone`, those whose
  /// answer broke off or never came from a server that goes on.
  account counts;

  /// Requests that the server never took: it refused the connection, or closed it before a byte
  /// of an answer and was gone. It does not know of them.
  std::uint64_t unsent = 0;

  std::vector<float> latencies_ms;  ///< of whole answers, in the order of their arrival
};

/// The latency that a share of `latencies` does not exceed; 0 where there are none.
float quantile(std::vector<float> latencies, double share);

/// The client's own accounts.
class tally {
 public:
  void answered(const std::string& user, unsigned status, std::chrono::duration<float> took);
  void broken(const std::string& user);
  void unsent(const std::string& user);

  /// A connection was turned away; whatever was to be asked on it was not looked at.
  void refused() { ++refused_; }

  account total() const;
  std::uint64_t total_unsent() const;

  std::string to_json() const;
  std::string to_table() const;

 private:
  std::map<std::string, user_tally> users_;
  std::uint64_t refused_ = 0;
};

/// The columns of an account, for a table whose first column is a name.
std::string account_heading();
std::string account_row(std::string_view name, const account& a);

}  // namespace gateway::load

#endif  // WEIR_EXAMPLES_GATEWAY_LOAD_TALLY_HPP
