// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_QUEUE_OPTIONS_HPP
#define WEIR_QUEUE_OPTIONS_HPP

#include <weir/overflow.hpp>

#include <cstddef>
#include <functional>

namespace weir {

/// How much a queue holds, and who hears of what it drops.
template <typename T>
struct queue_options {
  std::ptrdiff_t capacity = 100;  ///< items

  /// The sum of weights; 0: not limited. Slots alone say little of memory where items differ.
  std::size_t max_weight = 0;

  /// What an item weighs, in units of your own. Must not throw.
  std::function<std::size_t(const T&)> weigh = {};

  /// Hears of each item that nobody receives, and may take it. With no lock held, by the thread
  /// that caused it, so by several at once. Must not throw.
  std::function<void(T&&, drop_kind)> on_drop = {};
};

}  // namespace weir

#endif  // WEIR_QUEUE_OPTIONS_HPP
