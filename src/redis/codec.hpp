// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_REDIS_CODEC_HPP
#define WEIR_SRC_REDIS_CODEC_HPP

#include <weir/error.hpp>
#include <weir/queue_backend.hpp>

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::redis {

// Between requests and what scripts take and answer. Pure.

/// The words of a command, of which it owns those that are numbers.
class words {
 public:
  void add(std::string_view word) {
    all_.push_back(word);
    bytes_ += word.size();
  }
  void add(std::int64_t number);
  void add_owned(std::string word) { add(std::string_view(owned_.emplace_back(std::move(word)))); }
  void clear() noexcept;
  std::span<const std::string_view> all() const noexcept { return all_; }

  /// Whether it can be sent: the server ends a connection that sends it too much at once.
  bool fits() const noexcept { return all_.size() <= 1'000'000 && bytes_ <= 500'000'000; }

 private:
  std::vector<std::string_view> all_;
  std::deque<std::string> owned_;  ///< does not move what it has
  std::size_t bytes_ = 0;
};

// What a script takes after the words that all of them take.
void write(words& to, const enqueue_request& r);
void write(words& to, const lease_request& r, bool announce);
void write(words& to, const settle_request& r);
void write(words& to, const cancel_request& r);
void write(words& to, const find_request& r);
void write(words& to, const stats_request& r);
void write(words& to, const dead_letters_request& r);
void write(words& to, const bury_request& r);

struct lease_answer {
  std::vector<lease> leases = {};
  std::vector<lease_key> unreadable = {};
  std::optional<duration> next_event = {};
};

// \returns whether it is an answer of that script.
bool read(const redisReply& from, std::span<enqueued> to);
bool read(const redisReply& from, lease_answer& to);
bool read(const redisReply& from, std::size_t& number);
bool read(const redisReply& from, std::optional<job_status>& to);
bool read(const redisReply& from, queue_stats& to);
bool read(const redisReply& from, std::vector<job_status>& to);

/// A time as a script takes it.
std::int64_t to_microseconds(wall_time t) noexcept;

/// Each text as its length, a colon, the text and a comma; names and values in turn.
std::string encode_headers(const std::vector<job_header>& headers);

/// \returns whether `text` is what `encode_headers` makes.
bool decode_headers(std::string_view text, std::vector<job_header>& headers);

}  // namespace weir::redis

#endif  // WEIR_SRC_REDIS_CODEC_HPP
