// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/bell.hpp>

namespace weir::test {

std::size_t bell::ring() {
  // Before all others: Asio believes that it has been told of those that are due already.
  timer_.expires_at(time_point::min());
  bool rung = false;
  timer_.async_wait([&rung](auto) { rung = true; });
  std::size_t ran = 0;
  while (!rung) ran += poll();  // the kernel may take a moment to say that the timer is due
  return ran - 1;
}

std::size_t bell::poll() {
  // Anew each time: a context that has run out of work, or was told to stop, has stopped.
  context_.restart();
  return context_.poll();
}

}  // namespace weir::test
