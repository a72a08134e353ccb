// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_WEIRCTL_RUN_HPP
#define WEIR_EXAMPLES_WEIRCTL_RUN_HPP

#include "command.hpp"

#include <weir/task_queue.hpp>

#include <boost/asio/awaitable.hpp>

#include <iosfwd>

namespace weirctl {

/// Where a command reads and writes.
struct streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  ///< somebody looks at `out`: a line may be drawn over
};

/// Carries out a command on any kind of queue.
///
/// \returns the exit status: 0, or 1 if it was not done, or not all of it.
/// \throws boost::system::system_error from the queue. Cancellation: `operation_aborted`.
boost::asio::awaitable<int> run(weir::task_queue& queue, const command& c, streams io);

}  // namespace weirctl

#endif  // WEIR_EXAMPLES_WEIRCTL_RUN_HPP
