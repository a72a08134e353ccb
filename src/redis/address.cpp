// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "redis/address.hpp"

#include <weir/error.hpp>

#include <boost/system/system_error.hpp>

#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace weir::redis {

namespace {

[[noreturn]] void refuse(const char* why) {
  throw boost::system::system_error(errc::invalid_argument,
                                    std::string("weir::redis_queue: the address ") + why);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Cuts off what is before the first `mark`, which goes too; empty, and nothing cut, if there is
/// none.
std::optional<std::string_view> take_until(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at + 1);
  return before;
}

std::string decode(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    unsigned char value = 0;
    const char* const end = text.data() + std::min(text.size(), i + 3);
    const auto [stop, failed] = std::from_chars(text.data() + i + 1, end, value, 16);
    if (failed != std::errc() || stop != text.data() + i + 3)
      refuse("has a % without two hexadecimal digits after it");
    plain += static_cast<char>(value);
    i += 2;
  }
  return plain;
}

bool is_number(std::string_view text, std::uint32_t most) {
  std::uint32_t n = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  return failed == std::errc() && stop == text.data() + text.size() && n <= most;
}

void take_credentials(std::string_view& rest, address& to) {
  // Those of a Unix socket end before its path, which may have any character in it.
  std::string_view authority = rest.substr(0, rest.find('/'));
  const auto at = authority.rfind('@');
  if (at == std::string_view::npos) return;
  std::string_view who = authority.substr(0, at);
  rest.remove_prefix(at + 1);
  const auto user = take_until(who, ':');
  if (!user) refuse("has a user without a password");
  to.user = decode(*user);
  to.password = decode(who);
}

void take_database(std::string_view text, address& to) {
  if (text.empty()) return;
  if (!is_number(text, INT32_MAX)) refuse("has a database that is no number");
  to.database = text;
}

}  // namespace

address parse_address(std::string_view url) {
  address to;
  if (take_prefix(url, "unix://")) {
    take_credentials(url, to);
    std::string_view path = url;
    if (const auto before = take_until(url, '?')) {
      path = *before;
      if (!take_prefix(url, "db=")) refuse("has something other than db= after the path");
      take_database(url, to);
    }
    to.path = decode(path);
    if (to.path.empty()) refuse("has no path");
    // hiredis would cut it off, and so connect to another.
    if (to.path.size() >= sizeof(sockaddr_un::sun_path)) refuse("has a path that is too long");
    return to;
  }
  if (take_prefix(url, "rediss://")) refuse("asks for TLS, which is not there");
  if (!take_prefix(url, "redis://")) refuse("begins with neither redis:// nor unix://");
  take_credentials(url, to);
  std::string_view place = url;
  if (const auto before = take_until(url, '/')) {
    place = *before;
    take_database(url, to);
  }
  std::optional<std::string_view> port;
  if (take_prefix(place, "[")) {
    const auto host = take_until(place, ']');
    if (!host) refuse("has no ] after an IPv6 address");
    to.host = *host;
    if (take_prefix(place, ":"))
      port = place;
    else if (!place.empty())
      refuse("has something after an IPv6 address");
  } else {
    const auto host = take_until(place, ':');
    if (host) port = place;
    to.host = decode(host.value_or(place));
  }
  if (to.host.empty()) refuse("has no host");
  if (port) {
    if (!is_number(*port, 65535)) refuse("has a port that is no number");
    to.port = *port;
  }
  return to;
}

}  // namespace weir::redis
