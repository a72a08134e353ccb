// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_MEMORY_QUEUE_HPP
#define WEIR_MEMORY_QUEUE_HPP

#include <weir/task_queue.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <string>

namespace weir {

struct memory_queue_options {
  /// Jobs that it holds at most, in whatever state, dead letters and kept results included.
  std::size_t capacity = 100'000;

  std::string name = {};  ///< what reports call it
};

/// A `task_queue` in memory: what the others do, for as long as the process lives. For tests, and
/// for work that may be lost with the process.
///
/// Nothing in it blocks: a request is carried out by the thread that makes it, or by one that is at
/// work on another's.
///
/// Thread safety: as `task_queue`.
class memory_queue final : public task_queue {
 public:
  /// \param ex where handlers run that have no executor of their own, and where a timer waits for
  /// what is scheduled
  /// \throws system_error with `invalid_argument` if `options.capacity` is 0.
  explicit memory_queue(boost::asio::any_io_executor ex, memory_queue_options options = {});
};

}  // namespace weir

#endif  // WEIR_MEMORY_QUEUE_HPP
