// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_LOAD_PROGRESS_HPP
#define WEIR_EXAMPLES_GATEWAY_LOAD_PROGRESS_HPP

#include "tally.hpp"

#include <chrono>

namespace gateway::load {

/// Shows on standard error how a run is going: one line that is redrawn where somebody looks at a
/// terminal, a line each second where it goes to a file.
class progress {
 public:
  progress();

  /// How often `show` is worth calling.
  std::chrono::milliseconds interval() const noexcept;

  void show(const tally& t, std::chrono::duration<double> since_start) const;

  /// Leaves the last line as it is.
  void end() const;

 private:
  bool terminal_;
};

}  // namespace gateway::load

#endif  // WEIR_EXAMPLES_GATEWAY_LOAD_PROGRESS_HPP
