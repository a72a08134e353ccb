// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_ANSWER_HPP
#define WEIR_EXAMPLES_GATEWAY_ANSWER_HPP

#include <weir/error.hpp>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gateway {

namespace http = boost::beast::http;

using request = http::request<http::string_body>;

/// What a client is told, apart from how it travels.
struct answer {
  http::status status = http::status::ok;
  std::string body;
  std::string_view content_type = "text/plain; charset=utf-8";  ///< of static lifetime
  std::optional<std::chrono::seconds> retry_after;
  std::optional<unsigned> upstream_status;  ///< of a fetch: what the other server said
  std::string location;                     ///< of what has been made; empty: of nothing
  std::string_view allow;                   ///< beside a 405; of static lifetime
  bool accounted = true;  ///< false: it tells of the gateway itself, and is nobody's work
};

/// An answer that says no, with the reason as its body.
inline answer refusal(http::status status, std::string reason) {
  answer a;
  a.status = status;
  a.body = std::move(reason);
  a.body += '\n';
  return a;
}

/// An answer that names the methods which are `allowed` here.
inline answer not_allowed(std::string_view allowed) {
  answer a = refusal(http::status::method_not_allowed, "this takes " + std::string(allowed));
  a.allow = allowed;
  return a;
}

/// An answer that says no in the words of weir: status, hint and reason belong to `ec`.
inline answer refusal(const weir::error_code& ec) {
  answer a =
      refusal(http::int_to_status(static_cast<unsigned>(weir::http_status(ec))), ec.message());
  a.retry_after = weir::retry_after(ec);
  return a;
}

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_ANSWER_HPP
