// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "service.hpp"

#include "job_work.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace gateway {

namespace asio = boost::asio;

namespace {

answer ours(std::string body, std::string_view content_type) {
  answer a;
  a.body = std::move(body);
  a.content_type = content_type;
  a.accounted = false;
  return a;
}

}  // namespace

service::service(weir::worker_pool& pool, weir::task_queue& queue, const options& o)
    : pool_(pool),
      queue_(queue),
      longest_(pool.options().task_timeout),
      reader_(std::make_shared<fetch_policy>(o.allow), o.limits.body),
      // As many as there are workers, so that a backlog leaves the pool's queue to those who wait.
      consumer_(queue, pool, make_handlers(reader_),
                {.lease_for = o.jobs.lease, .max_leased = pool.options().workers}),
      desk_(queue, reader_, o.jobs),
      metrics_({pool, consumer_, desk_.counts, books, connections}) {}

std::string_view service::user_of(const request::header_type& header) {
  constexpr std::size_t longest = 64;
  const std::string_view name = header["X-User"];
  const auto valid = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == '@' || c == '/';
  };
  if (name.size() > longest || !std::all_of(name.begin(), name.end(), valid)) return {};
  return name;
}

std::variant<answer, work_order, queue_call> service::route(request r) {
  constexpr std::string_view work_prefix = "/work/";
  constexpr std::string_view plain = "text/plain; charset=utf-8";
  if (r.version() >= 11 && r.find(http::field::host) == r.end())
    return refusal(http::status::bad_request, "a Host header is missing");

  const std::string line(r.target());
  const auto [path, query] = split_target(line);
  if (job_desk::serves(path) || path == "/metrics") return queue_call{std::move(r)};
  if (path.starts_with(work_prefix)) return route_work(r, path.substr(work_prefix.size()), query);

  const bool known = path == "/healthz" || path == "/readyz" || path == "/accounts";
  if (!known) return refusal(http::status::not_found, "there is nothing of this name");
  if (r.method() != http::verb::get && r.method() != http::verb::head)
    return not_allowed("GET, HEAD");
  if (path == "/healthz") return ours("alive\n", plain);
  if (path == "/accounts") return ours(books.to_json(), "application/json");
  answer a = ours(ready() ? "ready\n" : "not ready\n", plain);
  if (!ready()) a.status = http::status::service_unavailable;
  return a;
}

std::variant<answer, work_order, queue_call> service::route_work(request& r, std::string_view kind,
                                                                 std::string_view query) {
  constexpr auto bad = http::status::bad_request;
  if (!work_reader::knows(kind)) return refusal(http::status::not_found, "there is no such work");
  if (r.method() != http::verb::post) return not_allowed("POST");

  work_order w;
  w.user = user_of(r);
  if (w.user.empty()) return refusal(bad, "X-User does not name a user");

  if (const auto field = r.find("X-Timeout-Ms"); field != r.end()) {
    const auto ms = bounded<std::uint32_t>(field->value(), 1, UINT32_MAX);
    if (!ms) return refusal(bad, "X-Timeout-Ms is not a number of milliseconds");
    w.timeout = std::chrono::milliseconds(*ms);
    if (longest_ > weir::duration::zero()) w.timeout = std::min(*w.timeout, longest_);
  }

  std::variant<work, answer> read = reader_.read(kind, query, std::move(r.body()));
  if (auto* const complaint = std::get_if<answer>(&read)) return std::move(*complaint);
  w.work = std::get<work>(std::move(read));
  return w;
}

asio::awaitable<answer> service::run(work_order w, asio::cancellation_slot hangup) {
  try {
    const weir::run_options limits{.user = w.user, .timeout = w.timeout};
    const auto start = [&](auto& kind) {
      auto task = [kind = std::move(kind)](weir::task_context& context) {
        return kind(context.stop_token());
      };
      return weir::co_spawn(pool_, limits, std::move(task),
                            asio::bind_cancellation_slot(hangup, asio::use_awaitable));
    };
    auto running = std::visit(start, w.work);
    co_return co_await std::move(running);
  } catch (const boost::system::system_error& e) {
    co_return refusal(e.code());
  } catch (const std::exception&) {
    // What went wrong inside is for the operator, who hears of it through the pool's observer.
    co_return refusal(http::status::internal_server_error, "the work failed");
  }
}

asio::awaitable<answer> service::ask_queue(queue_call c) {
  const std::string line(c.asked.target());
  if (split_target(line).path != "/metrics") {
    std::string user(user_of(c.asked));
    co_return co_await desk_.serve(std::move(c.asked), std::move(user), closing);
  }
  if (c.asked.method() != http::verb::get && c.asked.method() != http::verb::head)
    co_return not_allowed("GET, HEAD");
  const auto [ec, stats] = co_await queue_.async_stats(asio::as_tuple(asio::use_awaitable));
  co_return ours(metrics_text(ec ? std::nullopt : std::optional(stats)),
                 "text/plain; version=0.0.4");
}

}  // namespace gateway
