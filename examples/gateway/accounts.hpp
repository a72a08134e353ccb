// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_ACCOUNTS_HPP
#define WEIR_EXAMPLES_GATEWAY_ACCOUNTS_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace gateway {

/// How the requests of one user ended. At any time `offered` is the sum of the rest.
struct account {
  std::uint64_t offered = 0;
  std::uint64_t ok = 0;           ///< 200
  std::uint64_t limited = 0;      ///< 429
  std::uint64_t unavailable = 0;  ///< 503
  std::uint64_t timed_out = 0;    ///< 504
  std::uint64_t other = 0;        ///< any other status
  std::uint64_t gone = 0;         ///< no status: the client left before it had its answer

  /// The counter of a status.
  std::uint64_t& of(unsigned status) noexcept {
    switch (status) {
      case 200:
        return ok;
      case 429:
        return limited;
      case 503:
        return unavailable;
      case 504:
        return timed_out;
      default:
        return other;
    }
  }

  bool operator==(const account&) const = default;
};

/// What the gateway has answered, to whom. A request is entered once, when it is answered.
///
/// Requests whose sender is not known, such as garbage, are in the account of the empty name. The
/// number of accounts is bounded, since anybody can make up names: the users who come when the
/// table is full share the account "*".
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
class accounts {
 public:
  explicit accounts(std::size_t max_users = 10'000) : max_users_(max_users) {}

  /// Enters an answer that is about to be written.
  void answered(std::string_view user, unsigned status);

  /// Enters a request whose client left while it was worked on.
  void abandoned(std::string_view user);

  /// Corrects an `answered`: the answer could not be written.
  void undelivered(std::string_view user, unsigned status);

  /// All accounts as JSON, users in order, with their total.
  std::string to_json() const;

  const std::map<std::string, account, std::less<>>& by_user() const noexcept { return by_user_; }
  const account& total() const noexcept { return total_; }

 private:
  account& of(std::string_view user);

  std::size_t max_users_;
  std::map<std::string, account, std::less<>> by_user_;
  account total_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_ACCOUNTS_HPP
