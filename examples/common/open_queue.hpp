// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_COMMON_OPEN_QUEUE_HPP
#define WEIR_EXAMPLES_COMMON_OPEN_QUEUE_HPP

#include <weir/task_queue.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace common {

struct queue_address {
  /// `redis://HOST[:PORT][/DATABASE][#NAME]` or `unix://PATH[#NAME]`, a queue of that name on a
  /// server; `memory:`, one that ends with the program; `sqlite://FILE`, or just `FILE`.
  std::string text;

  std::size_t capacity = 0;  ///< jobs that it holds at most, where that can be said; 0: no bound
  bool create = true;        ///< a file that is not there; else it is an error
};

/// Opens the queue at an address. All that is known of it from here on is that it is a
/// `task_queue`.
///
/// \throws boost::system::system_error where that cannot be done; a server is not asked yet.
/// \throws std::invalid_argument for a kind of queue that the program was built without.
std::unique_ptr<weir::task_queue> open_queue(boost::asio::any_io_executor ex,
                                             const queue_address& address);

}  // namespace common

#endif  // WEIR_EXAMPLES_COMMON_OPEN_QUEUE_HPP
