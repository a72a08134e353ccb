// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "work_reader.hpp"

#include "target.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

namespace gateway {

namespace {

constexpr std::uint32_t most_rounds = 100'000'000;
constexpr std::uint32_t longest_sleep_ms = 24 * 60 * 60 * 1000;

}  // namespace

bool work_reader::knows(std::string_view kind) noexcept {
  return kind == "hash" || kind == "fetch" || kind == "sleep";
}

std::variant<work, answer> work_reader::read(std::string_view kind, std::string_view query,
                                             std::string body) const {
  constexpr auto bad = http::status::bad_request;
  if (kind == "hash") {
    const auto rounds =
        bounded<std::uint32_t>(query_value(query, "rounds").value_or("1"), 1, most_rounds);
    if (!rounds) return refusal(bad, "rounds is not such a number");
    return hash_work{std::move(body), *rounds};
  }
  if (kind == "sleep") {
    const auto ms =
        bounded<std::uint32_t>(query_value(query, "ms").value_or(body), 0, longest_sleep_ms);
    if (!ms) return refusal(bad, "ms is not a number of milliseconds");
    return sleep_work{std::chrono::milliseconds(*ms)};
  }
  if (kind == "fetch") {
    auto url = parse_http_url(query_value(query, "url").value_or(body));
    if (!url) return refusal(bad, "this is not an http URL");
    if (!policy_->allows(*url))
      return refusal(http::status::forbidden, "fetch may not speak to " + url->authority());
    return fetch_work{std::move(*url), policy_, body_limit_};
  }
  return refusal(bad, "there is no such work");
}

}  // namespace gateway
