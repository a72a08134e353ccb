// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_POOL_OBSERVER_HPP
#define WEIR_POOL_OBSERVER_HPP

#include <exception>
#include <string_view>

namespace weir {

/// Hears what happens to the tasks of a pool. Derive from it and override what you want to hear.
///
/// Thread safety: called from the pool's threads, possibly from several at once.
class pool_observer {
 public:
  virtual ~pool_observer() = default;

  /// An exception left the task `id` of `user` that nobody had asked to stop.
  ///
  /// The strings live for the call only. Called before a waiting caller gets the exception.
  virtual void on_task_failed(std::string_view id, std::string_view user,
                              const std::exception_ptr& error) noexcept;
};

}  // namespace weir

#endif  // WEIR_POOL_OBSERVER_HPP
