// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "redis/codec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

namespace weir::redis {

namespace {

using std::chrono::microseconds;

// As far as the numbers of Lua are exact, and far enough.
constexpr std::int64_t last_microsecond = (std::int64_t{1} << 53) - 1;

template <typename T>
bool parse(std::string_view text, T& to) {
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), to);
  return failed == std::errc() && stop == text.data() + text.size();
}

std::string_view text_of(const redisReply& r) {
  return r.type == REDIS_REPLY_STRING || r.type == REDIS_REPLY_STATUS
             ? std::string_view(r.str, r.len)
             : std::string_view();
}

std::span<redisReply* const> elements_of(const redisReply& r) {
  return r.type == REDIS_REPLY_ARRAY ? std::span<redisReply* const>(r.element, r.elements)
                                     : std::span<redisReply* const>();
}

/// A span that is not zero does not become so.
std::int64_t microseconds_in(duration d) noexcept {
  return std::min<std::int64_t>(std::chrono::ceil<microseconds>(d).count(), last_microsecond);
}

template <typename Duration>
bool parse_time(std::string_view text, Duration& to) {
  std::int64_t n = 0;
  if (!parse(text, n) || n < 0 || n > last_microsecond) return false;
  const bool endless = n > std::chrono::floor<microseconds>(Duration::max()).count();
  to = endless ? Duration::max() : std::chrono::duration_cast<Duration>(microseconds(n));
  return true;
}

constexpr std::size_t job_fields = 10;

/// kind, payload, user, priority, run_at, attempt, max_attempts, unique_key, keep, headers.
/// \returns whether it could be read; what could is in `to` in any case.
bool read_job(std::string_view id, std::span<redisReply* const> fields, job& to) {
  if (fields.size() != job_fields) return false;
  const auto text = [&](std::size_t i) { return text_of(*fields[i]); };
  to.kind = text(0);
  to.payload = text(1);
  to.user = text(2);
  to.unique_key = text(7);
  wall_clock::duration run_at{};
  const std::array read{parse(id, to.id),
                        !to.kind.empty(),
                        parse(text(3), to.priority),
                        parse_time(text(4), run_at),
                        parse(text(5), to.attempt) && to.attempt >= 0,
                        parse(text(6), to.max_attempts) && to.max_attempts >= 1,
                        parse_time(text(8), to.keep),
                        decode_headers(text(9), to.headers)};
  to.run_at = wall_time(run_at);
  return std::all_of(read.begin(), read.end(), [](bool ok) { return ok; });
}

/// state, result, reason, and the job. It is told also if it cannot be read.
bool read_status(std::string_view id, const redisReply& from, job_status& to) {
  const auto fields = elements_of(from);
  int state = 0;
  if (fields.size() != 3 + job_fields || !parse(id, to.job.id)) return false;
  if (parse(text_of(*fields[0]), state)) to.state = static_cast<job_state>(state);
  to.result = text_of(*fields[1]);
  to.reason = text_of(*fields[2]);
  read_job(id, fields.subspan(3), to.job);
  return true;
}

}  // namespace

std::int64_t to_microseconds(wall_time t) noexcept {
  return std::clamp<std::int64_t>(std::chrono::ceil<microseconds>(t.time_since_epoch()).count(), 0,
                                  last_microsecond);
}

void words::add(std::int64_t number) { add_owned(std::to_string(number)); }

void words::clear() noexcept {
  all_.clear();
  owned_.clear();
  bytes_ = 0;
}

void write(words& to, const enqueue_request& r) {
  for (const new_job& n : r.jobs) {
    to.add(n.job.kind);
    to.add(n.job.payload);
    to.add(n.job.user);
    to.add(n.job.priority);
    to.add(n.timed ? "1" : "0");
    to.add(n.timed ? to_microseconds(n.job.run_at) : microseconds_in(n.delay));
    to.add(n.job.max_attempts);
    to.add(n.job.unique_key);
    to.add(microseconds_in(n.unique_for));
    to.add(microseconds_in(n.job.keep));
    to.add_owned(encode_headers(n.job.headers));
  }
}

void write(words& to, const lease_request& r, bool announce) {
  to.add(r.max);
  to.add(microseconds_in(r.lease_for));
  to.add(announce ? "1" : "0");
  for (const std::string& kind : r.kinds) to.add(kind);
}

void write(words& to, const settle_request& r) {
  constexpr std::array<std::string_view, 4> names{"ack", "nack", "release", "extend"};
  to.add(names[static_cast<std::size_t>(r.how)]);
  to.add(r.key.id);
  to.add(r.key.token);
  to.add(microseconds_in(r.time));
  to.add(r.text);
  to.add(r.dead ? "1" : "0");
}

void write(words& to, const cancel_request& r) { to.add(r.id); }
void write(words& to, const find_request& r) { to.add(r.id); }
void write(words&, const stats_request&) {}

void write(words& to, const dead_letters_request& r) {
  to.add(r.after);
  to.add(r.limit);
}

void write(words& to, const bury_request& r) {
  to.add(r.requeue ? "1" : "0");
  for (const job_id id : r.ids) to.add(id);
}

bool read(const redisReply& from, std::span<enqueued> to) {
  std::string_view text = text_of(from);
  for (enqueued& e : to) {
    const auto gap = text.find(' ');
    if (gap == std::string_view::npos || gap + 1 >= text.size()) return false;
    if (!parse(text.substr(0, gap), e.id)) return false;
    e.duplicate = text[gap + 1] == '1';
    text.remove_prefix(std::min(text.size(), gap + 3));
  }
  return text.empty();
}

bool read(const redisReply& from, lease_answer& to) {
  const auto all = elements_of(from);
  if (all.empty() || all[0]->type != REDIS_REPLY_INTEGER) return false;
  // One more, so that it has come when it is looked for.
  if (all[0]->integer >= 0) to.next_event = microseconds(all[0]->integer + 1);
  for (const redisReply* one : all.subspan(1)) {
    const auto fields = elements_of(*one);
    lease l;
    if (fields.size() != 2 + job_fields || !parse(text_of(*fields[0]), l.key.id) ||
        !parse(text_of(*fields[1]), l.key.token))
      return false;
    if (read_job(text_of(*fields[0]), fields.subspan(2), l.job))
      to.leases.push_back(std::move(l));
    else
      to.unreadable.push_back(l.key);
  }
  return true;
}

bool read(const redisReply& from, std::size_t& number) { return parse(text_of(from), number); }

bool read(const redisReply& from, std::optional<job_status>& to) {
  const auto found = elements_of(from);
  if (found.empty()) return from.type == REDIS_REPLY_ARRAY;
  return found.size() == 2 && read_status(text_of(*found[0]), *found[1], to.emplace());
}

bool read(const redisReply& from, queue_stats& to) {
  const auto counts = elements_of(from);
  const std::array fields{&to.ready, &to.scheduled, &to.leased, &to.done, &to.cancelled, &to.dead};
  if (counts.size() != fields.size()) return false;
  for (std::size_t i = 0; i != fields.size(); ++i)
    *fields[i] = static_cast<std::size_t>(counts[i]->integer);
  return true;
}

bool read(const redisReply& from, std::vector<job_status>& to) {
  const auto page = elements_of(from);
  if (from.type != REDIS_REPLY_ARRAY || page.size() % 2 != 0) return false;
  for (std::size_t i = 0; i != page.size(); i += 2)
    if (!read_status(text_of(*page[i]), *page[i + 1], to.emplace_back())) return false;
  return true;
}

std::string encode_headers(const std::vector<job_header>& headers) {
  std::string text;
  for (const job_header& h : headers)
    for (const std::string* part : {&h.name, &h.value})
      text.append(std::to_string(part->size())).append(":").append(*part).append(",");
  return text;
}

bool decode_headers(std::string_view text, std::vector<job_header>& headers) {
  const auto take = [&](std::string& to) {
    const auto colon = text.find(':');
    std::size_t size = 0;
    if (colon == std::string_view::npos || !parse(text.substr(0, colon), size)) return false;
    text.remove_prefix(colon + 1);
    if (size >= text.size() || text[size] != ',') return false;
    to = text.substr(0, size);
    text.remove_prefix(size + 1);
    return true;
  };
  while (!text.empty())
    if (job_header& h = headers.emplace_back(); !take(h.name) || !take(h.value)) return false;
  return true;
}

}  // namespace weir::redis
