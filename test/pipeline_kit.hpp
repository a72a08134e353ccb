// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_PIPELINE_KIT_HPP
#define WEIR_TEST_PIPELINE_KIT_HPP

#include "sleep_for.hpp"

#include <weir/clock.hpp>
#include <weir/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstddef>
#include <numeric>
#include <vector>

/// What the suites of pipelines share.
namespace weir_test::pipeline_kit {

using ms = std::chrono::milliseconds;
using ints = std::vector<int>;

inline bool is_invalid(const boost::system::system_error& e) {
  return e.code() == weir::errc::invalid_argument;
}

/// g++ 12 takes no initializer list inside a co_await.
template <typename... Ints>
ints of(Ints... i) {
  return {i...};
}

inline ints upto(int n) {
  ints v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}

inline boost::asio::awaitable<int> after(weir::duration d, int value) {
  co_await sleep_for(d);
  co_return value;
}

/// Counts how many of it there are.
struct counted {
  explicit counted(int n = 0) : value(n) { ++alive; }
  counted(counted&& other) noexcept : value(other.value) { ++alive; }
  counted(const counted& other) : value(other.value) { ++alive; }
  counted& operator=(const counted&) = default;
  ~counted() { --alive; }

  int value;
  static inline int alive = 0;
};

}  // namespace weir_test::pipeline_kit

#endif  // WEIR_TEST_PIPELINE_KIT_HPP
