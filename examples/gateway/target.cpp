// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "target.hpp"

#include "../common/flags.hpp"

#include <algorithm>
#include <charconv>

namespace gateway {

namespace {

// Not the ones of <cctype>, which look at the locale.
bool is_alphanumeric(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      unsigned value = 0;
      const char* const digits = text.data() + i + 1;
      if (text.size() - i < 3 || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2)
        return std::string(text);
      decoded += static_cast<char>(value);
      i += 2;
    }
  }
  return decoded;
}

}  // namespace

target split_target(std::string_view text) noexcept {
  const std::size_t mark = text.find('?');
  if (mark == std::string_view::npos) return {text, {}};
  return {text.substr(0, mark), text.substr(mark + 1)};
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    return equals == std::string_view::npos ? std::string() : decode(pair.substr(equals + 1));
  }
  return {};
}

std::string http_url::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

std::optional<http_url> parse_http_url(std::string_view text) {
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme)) return {};
  text.remove_prefix(scheme.size());
  const std::size_t slash = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, slash);
  const std::string_view rest = text.substr(slash);

  http_url url;
  if (authority.starts_with('[')) {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return {};
    url.host = authority.substr(1, bracket - 1);
    authority.remove_prefix(bracket + 1);
    const auto in_address = [](char c) { return is_alphanumeric(c) || c == ':' || c == '.'; };
    if (!std::all_of(url.host.begin(), url.host.end(), in_address)) return {};
  } else {
    url.host = authority.substr(0, authority.find(':'));
    authority.remove_prefix(url.host.size());
    const auto in_name = [](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; };
    if (!std::all_of(url.host.begin(), url.host.end(), in_name)) return {};
  }
  if (url.host.empty()) return {};
  if (!authority.empty()) {
    if (authority.front() != ':' || !common::read_number(authority.substr(1), url.port)) return {};
    if (url.port == 0) return {};
  }

  const auto in_target = [](char c) { return c > ' ' && c < '\x7f' && c != '#' && c != '\\'; };
  if (!std::all_of(rest.begin(), rest.end(), in_target)) return {};
  if (!rest.empty()) url.target = rest.front() == '/' ? std::string(rest) : '/' + std::string(rest);
  return url;
}

}  // namespace gateway
