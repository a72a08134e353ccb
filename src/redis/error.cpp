// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "redis/error.hpp"

#include <weir/redis_queue.hpp>

#include <string>
#include <utility>

namespace weir {

namespace {

class redis_error_category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "weir.redis"; }

  std::string message(int value) const override { return message(value, nullptr, 0); }

  const char* message(int value, char*, std::size_t) const noexcept override {
    switch (static_cast<redis_errc>(value)) {
      case redis_errc::unreachable:
        return "the Redis server could not be reached";
      case redis_errc::outcome_unknown:
        return "the connection to the Redis server broke, and the request may have been done";
      case redis_errc::read_only:
        return "the Redis server is a replica";
      case redis_errc::loading:
        return "the Redis server is still loading";
      case redis_errc::busy:
        return "the Redis server is busy with a script";
      case redis_errc::cannot_save:
        return "the Redis server cannot save";
      case redis_errc::access_denied:
        return "the Redis server denies access";
      case redis_errc::no_such_database:
        return "the Redis server has no database of that number";
      case redis_errc::wrong_version:
        return "the queue in the Redis server is of another version";
      case redis_errc::bad_answer:
        return "the answer is none of a Redis server with weir's scripts";
      case redis_errc::server_error:
        return "the Redis server reports an error";
    }
    return "unknown weir.redis error";
  }
};

}  // namespace

const boost::system::error_category& redis_category() noexcept {
  static const redis_error_category instance;
  return instance;
}

error_code make_error_code(redis_errc e) noexcept {
  return {static_cast<int>(e), redis_category()};
}

namespace redis {

error_code error_of(std::string_view answer) {
  // The first word is part of the protocol. A wrong database has none of its own.
  constexpr std::pair<std::string_view, redis_errc> known[] = {
      {"READONLY", redis_errc::read_only},
      {"MASTERDOWN", redis_errc::read_only},
      {"LOADING", redis_errc::loading},
      {"BUSY", redis_errc::busy},
      {"MISCONF", redis_errc::cannot_save},
      {"NOREPLICAS", redis_errc::cannot_save},
      {"NOAUTH", redis_errc::access_denied},
      {"WRONGPASS", redis_errc::access_denied},
      {"NOPERM", redis_errc::access_denied},
      {"WEIRVERSION", redis_errc::wrong_version},
      {"ERR AUTH", redis_errc::access_denied},
      {"ERR DB index", redis_errc::no_such_database},
      {"ERR invalid DB", redis_errc::no_such_database},
  };
  if (answer.starts_with("OOM ")) return errc::queue_full;
  for (const auto& [beginning, code] : known)
    if (answer.starts_with(beginning) &&
        (answer.size() == beginning.size() || answer[beginning.size()] == ' '))
      return code;
  return redis_errc::server_error;
}

bool passes(const error_code& ec) {
  return ec == redis_errc::read_only || ec == redis_errc::loading || ec == redis_errc::busy ||
         ec == redis_errc::cannot_save;
}

}  // namespace redis

}  // namespace weir
