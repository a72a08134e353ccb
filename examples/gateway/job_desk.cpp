// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "job_desk.hpp"

#include "job_work.hpp"
#include "target.hpp"

#include <openssl/evp.h>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace gateway {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::use_awaitable;

namespace {

constexpr std::string_view job_prefix = "/jobs/";
constexpr std::string_view dead_prefix = "/dead/";
constexpr std::string_view requeue_suffix = "/requeue";
constexpr int most_dead_letters = 1'000;
constexpr std::uint32_t longest_delay_ms = 7 * 24 * 60 * 60 * 1000;

answer to_answer(http::status status, const json::value& body) {
  answer a;
  a.status = status;
  a.body = json::serialize(body) + '\n';
  a.content_type = "application/json";
  return a;
}

/// What the queue said no with. An error of its store is not the client's fault, nor for its eyes.
answer queue_refusal(const weir::error_code& ec) {
  if (ec.category() == weir::weir_category()) return refusal(ec);
  answer a = refusal(http::status::service_unavailable, "the queue of jobs cannot be reached");
  a.retry_after = std::chrono::seconds(1);
  return a;
}

answer no_such_job() { return refusal(http::status::not_found, "there is no such job"); }

std::optional<weir::job_id> read_id(std::string_view text) {
  return bounded<weir::job_id>(text, 1, std::numeric_limits<weir::job_id>::max());
}

/// Whether a JSON document may hold these bytes as they are.
bool is_utf8(std::string_view bytes) noexcept {
  const auto size_by = [](unsigned char lead) -> std::size_t {
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  };
  const auto follows = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  while (!bytes.empty()) {
    const std::size_t size = size_by(static_cast<unsigned char>(bytes.front()));
    if (size == 0 || bytes.size() < size) return false;
    const std::string_view rest = bytes.substr(1, size - 1);
    if (!std::all_of(rest.begin(), rest.end(), follows)) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

/// Bytes that are a text, as they are; others in base64, in a field of another name.
void add_bytes(json::object& to, const std::string& name, const std::string& bytes) {
  if (is_utf8(bytes)) {
    to.emplace(name, bytes);
    return;
  }
  std::vector<unsigned char> encoded(4 * ((bytes.size() + 2) / 3) + 1);
  const int size =
      EVP_EncodeBlock(encoded.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  to.emplace(name + "_base64", std::string(encoded.begin(), encoded.begin() + size));
}

json::object to_json(const weir::job_status& s) {
  json::object o;
  o.emplace("id", s.job.id);
  o.emplace("kind", s.job.kind);
  o.emplace("user", s.job.user);
  o.emplace("state", json::string_view(to_string(s.state)));
  o.emplace("attempt", s.job.attempt);
  o.emplace("max_attempts", s.job.max_attempts);
  if (s.state == weir::job_state::done) add_bytes(o, "result", s.result);
  if (!s.reason.empty()) add_bytes(o, "reason", s.reason);
  return o;
}

}  // namespace

job_desk::job_desk(weir::task_queue& queue, const work_reader& reader, const job_options& o)
    : queue_(queue), reader_(reader), options_(o) {
  if (o.rate > 0) rates_.emplace(weir::rate_options{.rate = o.rate, .burst = o.rate});
}

bool job_desk::serves(std::string_view path) noexcept {
  return path == "/jobs" || path == "/dead" || path.starts_with(job_prefix) ||
         path.starts_with(dead_prefix);
}

asio::awaitable<answer> job_desk::serve(request r, std::string user, bool closing) {
  const auto by = r.method();
  const std::string line(r.target());
  const auto [path, query] = split_target(line);
  answer result;
  weir::error_code failed;
  try {
    if (path == "/dead") {
      if (by != http::verb::get)
        result = not_allowed("GET");
      else
        result = co_await list_dead(query);
    } else if (path.starts_with(dead_prefix)) {
      std::string_view rest = path.substr(dead_prefix.size());
      const bool known = rest.ends_with(requeue_suffix);
      if (known) rest.remove_suffix(requeue_suffix.size());
      const auto id = read_id(rest);
      if (!known || !id)
        result = no_such_job();
      else if (by != http::verb::post)
        result = not_allowed("POST");
      else
        result = co_await requeue(*id);
    } else if (user.empty()) {
      result = refusal(http::status::bad_request, "X-User does not name a user");
    } else if (path == "/jobs") {
      if (by != http::verb::post)
        result = not_allowed("POST");
      else if (closing)
        result = refusal(weir::errc::pool_closed);
      else
        result = co_await enqueue(std::move(r), std::move(user));
    } else if (const auto id = read_id(path.substr(job_prefix.size())); !id) {
      result = no_such_job();
    } else {
      const auto action = by == http::verb::get       ? &job_desk::show
                          : by == http::verb::delete_ ? &job_desk::cancel
                                                      : nullptr;
      if (action == nullptr)
        result = not_allowed("GET, DELETE");
      else
        result = co_await (this->*action)(*id, std::move(user));
    }
  } catch (const boost::system::system_error& e) {
    failed = e.code();
  }
  if (failed) result = queue_refusal(failed);
  result.accounted = false;  // the books are of work that somebody waits for
  co_return result;
}

asio::awaitable<answer> job_desk::enqueue(request r, std::string user) {
  constexpr auto bad = http::status::bad_request;
  constexpr std::size_t longest_key = 200;
  const std::string line(r.target());
  const std::string_view query = split_target(line).query;
  const std::string kind = query_value(query, "kind").value_or("");
  const std::variant<work, answer> read = reader_.read(kind, query, r.body());
  if (const auto* const complaint = std::get_if<answer>(&read)) co_return *complaint;

  const auto priority = bounded<int>(query_value(query, "priority").value_or("0"), -1000, 1000);
  if (!priority) co_return refusal(bad, "priority is not a number from -1000 to 1000");
  const auto delay =
      bounded<std::uint32_t>(query_value(query, "delay_ms").value_or("0"), 0, longest_delay_ms);
  if (!delay) co_return refusal(bad, "delay_ms is not a number of milliseconds");
  std::string key;
  if (const auto field = r.find("Idempotency-Key"); field != r.end()) {
    if (field->value().empty() || field->value().size() > longest_key)
      co_return refusal(bad, "Idempotency-Key is empty or too long");
    key = user + '/' + std::string(field->value());  // what others choose is theirs
  }
  if (rates_ && !rates_->try_acquire(user)) {
    ++counts.limited;
    co_return refusal(weir::errc::rate_limited);
  }

  const std::array<weir::job_header, 1> headers{
      weir::job_header{std::string(query_header), std::string(query)}};
  const weir::job_request wanted{.kind = kind,
                                 .payload = r.body(),
                                 .user = user,
                                 .priority = *priority,
                                 .delay = std::chrono::milliseconds(*delay),
                                 .max_attempts = options_.attempts,
                                 .unique_key = key,
                                 .unique_for = key.empty() ? weir::duration() : options_.keep,
                                 .keep = options_.keep,
                                 .headers = headers};
  weir::error_code ec;
  const weir::enqueued job =
      co_await queue_.async_enqueue(wanted, asio::redirect_error(use_awaitable, ec));
  if (ec) {
    ++counts.refused;
    co_return queue_refusal(ec);
  }
  ++(job.duplicate ? counts.duplicates : counts.accepted);
  answer a =
      to_answer(http::status::accepted, json::object{{"id", job.id}, {"duplicate", job.duplicate}});
  a.location = std::string(job_prefix) + std::to_string(job.id);
  co_return a;
}

asio::awaitable<std::optional<weir::job_status>> job_desk::find(weir::job_id id,
                                                                std::string_view user) {
  auto found = co_await queue_.async_find(id, use_awaitable);
  if (found && found->job.user != user) found.reset();
  co_return found;
}

asio::awaitable<answer> job_desk::show(weir::job_id id, std::string user) {
  const auto found = co_await find(id, user);
  co_return found ? to_answer(http::status::ok, to_json(*found)) : no_such_job();
}

asio::awaitable<answer> job_desk::cancel(weir::job_id id, std::string user) {
  const auto found = co_await find(id, user);
  if (!found) co_return no_such_job();
  const bool cancelled = co_await queue_.async_cancel(id, use_awaitable);
  if (!cancelled) co_return refusal(http::status::conflict, "the job has ended");
  co_return to_answer(http::status::ok, json::object{{"id", id}, {"cancelled", true}});
}

asio::awaitable<answer> job_desk::list_dead(std::string_view query) {
  constexpr auto bad = http::status::bad_request;
  const auto after = bounded<weir::job_id>(query_value(query, "after").value_or("0"), 0,
                                           std::numeric_limits<weir::job_id>::max());
  if (!after) co_return refusal(bad, "after is not an id");
  const auto limit =
      bounded<int>(query_value(query, "limit").value_or("100"), 1, most_dead_letters);
  if (!limit) co_return refusal(bad, "limit is not a number from 1 to 1000");
  const auto page = co_await queue_.async_dead_letters(*after, *limit, use_awaitable);
  json::array jobs;
  for (const weir::job_status& s : page) jobs.push_back(to_json(s));
  co_return to_answer(http::status::ok, json::object{{"jobs", std::move(jobs)}});
}

asio::awaitable<answer> job_desk::requeue(weir::job_id id) {
  const std::array<weir::job_id, 1> ids{id};
  const std::size_t count =
      co_await queue_.async_requeue(std::span<const weir::job_id>(ids), use_awaitable);
  if (count == 0) co_return refusal(http::status::not_found, "there is no such dead letter");
  co_return to_answer(http::status::ok, json::object{{"id", id}, {"requeued", true}});
}

}  // namespace gateway
