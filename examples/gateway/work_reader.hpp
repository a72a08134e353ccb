// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_WORK_READER_HPP
#define WEIR_EXAMPLES_GATEWAY_WORK_READER_HPP

#include "../common/flags.hpp"
#include "answer.hpp"
#include "fetch_policy.hpp"
#include "work.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace gateway {

/// A number from `least` to `most`, or nothing.
template <typename T>
std::optional<T> bounded(std::string_view text, T least, T most) {
  T value = 0;
  if (!common::read_number(text, value) || value < least || value > most) return {};
  return value;
}

/// Makes work of what a client, or a job, asks for.
///
/// Thread safety: const calls are safe from any thread.
class work_reader {
 public:
  work_reader(std::shared_ptr<const fetch_policy> policy, std::size_t body_limit)
      : policy_(std::move(policy)), body_limit_(body_limit) {}

  static bool knows(std::string_view kind) noexcept;

  /// \param query what it is to be done with: `rounds=10`
  /// \param body what it is to be done to
  /// \returns the work, or what is wrong with it
  std::variant<work, answer> read(std::string_view kind, std::string_view query,
                                  std::string body) const;

 private:
  std::shared_ptr<const fetch_policy> policy_;
  std::size_t body_limit_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_WORK_READER_HPP
