// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_REDIS_ADDRESS_HPP
#define WEIR_SRC_REDIS_ADDRESS_HPP

#include <string>
#include <string_view>

namespace weir::redis {

/// Where a server is, and as whom to speak to it.
struct address {
  std::string host = {};
  std::string port = "6379";
  std::string path = {};  ///< of a Unix socket, in place of host and port
  std::string user = {};
  std::string password = {};
  std::string database = {};  ///< empty: that which a connection begins with
};

/// \throws system_error with `invalid_argument`, and a text that says what is wrong. The text does
/// not have the address in it: there may be a password in that.
address parse_address(std::string_view url);

}  // namespace weir::redis

#endif  // WEIR_SRC_REDIS_ADDRESS_HPP
