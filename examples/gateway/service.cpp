// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "service.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace gateway {

namespace asio = boost::asio;

namespace {

constexpr std::uint32_t most_rounds = 100'000'000;
constexpr std::uint32_t longest_sleep_ms = 24 * 60 * 60 * 1000;

answer ours(std::string body, std::string_view content_type) {
  answer a;
  a.body = std::move(body);
  a.content_type = content_type;
  a.accounted = false;
  return a;
}

answer not_allowed(std::string_view allow) {
  answer a = refusal(http::status::method_not_allowed, "this takes " + std::string(allow));
  a.allow = allow;
  return a;
}

/// A number from `least` to `most`, or nothing.
std::optional<std::uint32_t> bounded(std::string_view text, std::uint32_t least,
                                     std::uint32_t most) {
  std::uint32_t value = 0;
  if (!read_number(text, value) || value < least || value > most) return {};
  return value;
}

}  // namespace

service::service(weir::worker_pool& pool, const options& o)
    : pool_(pool),
      longest_(pool.options().task_timeout),
      body_limit_(o.limits.body),
      policy_(std::make_shared<fetch_policy>(o.allow)),
      metrics_(pool, books, connections) {}

std::string_view service::user_of(const request::header_type& header) {
  constexpr std::size_t longest = 64;
  const std::string_view name = header["X-User"];
  const auto valid = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == '@';
  };
  if (name.size() > longest || !std::all_of(name.begin(), name.end(), valid)) return {};
  return name;
}

std::variant<answer, job> service::route(request r) {
  constexpr std::string_view work_prefix = "/work/";
  constexpr std::string_view plain = "text/plain; charset=utf-8";
  if (r.version() >= 11 && r.find(http::field::host) == r.end())
    return refusal(http::status::bad_request, "a Host header is missing");

  const std::string line(r.target());
  const auto [path, query] = split_target(line);
  if (path.starts_with(work_prefix)) return route_work(r, path.substr(work_prefix.size()), query);

  const bool known =
      path == "/healthz" || path == "/readyz" || path == "/metrics" || path == "/accounts";
  if (!known) return refusal(http::status::not_found, "there is nothing of this name");
  if (r.method() != http::verb::get && r.method() != http::verb::head)
    return not_allowed("GET, HEAD");
  if (path == "/healthz") return ours("alive\n", plain);
  if (path == "/metrics") return ours(metrics_.to_text(), "text/plain; version=0.0.4");
  if (path == "/accounts") return ours(books.to_json(), "application/json");
  answer a = ours(ready() ? "ready\n" : "not ready\n", plain);
  if (!ready()) a.status = http::status::service_unavailable;
  return a;
}

std::variant<answer, job> service::route_work(request& r, std::string_view kind,
                                              std::string_view query) {
  constexpr auto bad = http::status::bad_request;
  if (kind != "hash" && kind != "fetch" && kind != "sleep")
    return refusal(http::status::not_found, "there is no such work");
  if (r.method() != http::verb::post) return not_allowed("POST");

  job j;
  j.user = user_of(r);
  if (j.user.empty()) return refusal(bad, "X-User does not name a user");

  if (const auto field = r.find("X-Timeout-Ms"); field != r.end()) {
    const auto ms = bounded(field->value(), 1, UINT32_MAX);
    if (!ms) return refusal(bad, "X-Timeout-Ms is not a number of milliseconds");
    j.timeout = std::chrono::milliseconds(*ms);
    if (longest_ > weir::duration::zero()) j.timeout = std::min(*j.timeout, longest_);
  }

  if (kind == "hash") {
    const auto rounds = bounded(query_value(query, "rounds").value_or("1"), 1, most_rounds);
    if (!rounds) return refusal(bad, "rounds is not such a number");
    j.work = hash_work{std::move(r.body()), *rounds};
  } else if (kind == "sleep") {
    const auto ms = bounded(query_value(query, "ms").value_or(""), 0, longest_sleep_ms);
    if (!ms) return refusal(bad, "ms is not a number of milliseconds");
    j.work = sleep_work{std::chrono::milliseconds(*ms)};
  } else {
    auto url = parse_http_url(query_value(query, "url").value_or(r.body()));
    if (!url) return refusal(bad, "this is not an http URL");
    if (!policy_->allows(*url))
      return refusal(http::status::forbidden, "fetch may not speak to " + url->authority());
    j.work = fetch_work{std::move(*url), policy_, body_limit_};
  }
  return j;
}

asio::awaitable<answer> service::run(job j, asio::cancellation_slot hangup) {
  try {
    const weir::run_options limits{.user = j.user, .timeout = j.timeout};
    const auto start = [&](auto& kind) {
      return weir::co_spawn(pool_, limits, std::move(kind),
                            asio::bind_cancellation_slot(hangup, asio::use_awaitable));
    };
    auto running = std::visit(start, j.work);
    co_return co_await std::move(running);
  } catch (const boost::system::system_error& e) {
    co_return refusal(e.code());
  } catch (const std::exception&) {
    // What went wrong inside is for the operator, who hears of it through the pool's observer.
    co_return refusal(http::status::internal_server_error, "the work failed");
  }
}

}  // namespace gateway
