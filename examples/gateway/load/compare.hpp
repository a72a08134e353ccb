// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_LOAD_COMPARE_HPP
#define WEIR_EXAMPLES_GATEWAY_LOAD_COMPARE_HPP

#include "../accounts.hpp"

#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

namespace gateway::load {

using account_map = std::map<std::string, account, std::less<>>;

/// The accounts in a file that either the gateway or the load client has written.
///
/// \throws std::runtime_error if it cannot be read as such.
account_map read_accounts(const std::string& file);

/// Prints the gateway's accounts, then where they differ from the client's.
///
/// \returns whether they agree, user by user and status by status.
bool compare(const account_map& client, const account_map& gateway, std::ostream& out);

}  // namespace gateway::load

#endif  // WEIR_EXAMPLES_GATEWAY_LOAD_COMPARE_HPP
