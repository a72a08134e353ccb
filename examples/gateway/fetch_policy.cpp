// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "fetch_policy.hpp"

#include <algorithm>
#include <stdexcept>

namespace gateway {

namespace {

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  return text;
}

}  // namespace

fetch_policy::fetch_policy(const std::vector<std::string>& allow) {
  for (const std::string& entry : allow) {
    const auto url = parse_http_url("http://" + entry);
    if (!url || url->target != "/" || url->authority() != entry)
      throw std::invalid_argument("'" + entry + "' is not HOST:PORT");
    allowed_.push_back(lower(entry));
  }
  std::sort(allowed_.begin(), allowed_.end());
}

bool fetch_policy::allows(const http_url& url) const {
  if (!allowed_.empty())
    return std::binary_search(allowed_.begin(), allowed_.end(), lower(url.authority()));
  if (lower(url.host) == "localhost") return true;
  boost::system::error_code not_an_address;
  const auto address = boost::asio::ip::make_address(url.host, not_an_address);
  return !not_an_address && allows(address);
}

bool fetch_policy::allows(const boost::asio::ip::address& address) const {
  if (!allowed_.empty()) return true;  // the operator has named the host, and answers for it
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())
        .is_loopback();
  return address.is_loopback();
}

}  // namespace gateway
