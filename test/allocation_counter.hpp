// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_ALLOCATION_COUNTER_HPP
#define WEIR_TEST_ALLOCATION_COUNTER_HPP

#include <cstddef>

/// Counts what this thread takes from `operator new` while it stands in scope. What Boost.Test
/// allocates counts too: read `count` before a check, not inside one.
class allocation_counter {
 public:
  allocation_counter() noexcept;
  allocation_counter(const allocation_counter&) = delete;
  allocation_counter& operator=(const allocation_counter&) = delete;

  std::size_t count() const noexcept;

 private:
  std::size_t before_;
};

/// Makes `operator new` throw `std::bad_alloc` on this thread while it stands in scope, after
/// `granted` calls that succeed.
class allocation_failure {
 public:
  explicit allocation_failure(std::size_t granted = 0) noexcept;
  allocation_failure(const allocation_failure&) = delete;
  allocation_failure& operator=(const allocation_failure&) = delete;
  ~allocation_failure();

  /// Whether a call has failed.
  bool hit() const noexcept;
};

#endif  // WEIR_TEST_ALLOCATION_COUNTER_HPP
