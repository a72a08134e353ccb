// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_WALL_CLOCK_STEP_HPP
#define WEIR_TEST_WALL_CLOCK_STEP_HPP

#include <weir/wall_clock.hpp>

#include <chrono>

namespace weir::test {

/// Sets the time of day ahead, or back, for as long as it lives: what an administrator does, or a
/// clock that is corrected. `steady_clock` is not touched.
///
/// Thread safety: several may live at once; they add up.
class wall_clock_step {
 public:
  explicit wall_clock_step(duration by)
      : by_(std::chrono::duration_cast<wall_clock::duration>(by).count()) {
    weir::detail::wall_clock_step.fetch_add(by_);
  }
  wall_clock_step(const wall_clock_step&) = delete;
  wall_clock_step& operator=(const wall_clock_step&) = delete;
  ~wall_clock_step() { weir::detail::wall_clock_step.fetch_sub(by_); }

 private:
  wall_clock::duration::rep by_;
};

}  // namespace weir::test

#endif  // WEIR_TEST_WALL_CLOCK_STEP_HPP
