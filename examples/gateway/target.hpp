// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_TARGET_HPP
#define WEIR_EXAMPLES_GATEWAY_TARGET_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gateway {

/// The target of a request, `/path?name=value&…`, as views into it.
struct target {
  std::string_view path;
  std::string_view query;
};

/// Splits a request's target at its question mark.
target split_target(std::string_view text) noexcept;

/// The value of `name` in a query, with `%XX` and `+` decoded, or as it stands where it is badly
/// encoded, so that whoever reads it next turns it down; empty where there is none.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

/// The parts of an `http` URL that a request is made of.
struct http_url {
  std::string host;  ///< a name or an address, without brackets
  std::uint16_t port = 80;
  std::string target = "/";

  /// `host:port` as it stands in a `Host` header and in the list of hosts that are allowed.
  std::string authority() const;
};

/// Reads `http://host[:port][/target]`; empty for anything else.
///
/// Strict, because what is read here decides to whom the gateway speaks: no user part, no
/// fragment, no character that another parser might take for a separator.
std::optional<http_url> parse_http_url(std::string_view text);

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_TARGET_HPP
