// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_BENCH_CPU_MIX_HPP
#define WEIR_BENCH_CPU_MIX_HPP

#include "measure.hpp"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {

/// What the heavy-tailed mix computes, through a pipeline of three stages: items are read in order,
/// computed in parallel, and taken in order. What is the same for all who do it.
class cpu_mix {
 public:
  static constexpr int threads = 2;
  static constexpr int window = 16;  ///< items between the first stage and the last

  explicit cpu_mix(const arguments& args) {
    for (const work_item& item : make_mix(args.number("items", 30'000)))
      if (item.sleep == nanoseconds::zero()) steps_.push_back(item.steps);
  }

  const std::vector<std::uint64_t>& steps() const noexcept { return steps_; }

  static std::uint64_t compute(std::uint64_t steps) {
    spin(steps);
    return steps;
  }

  /// The last stage.
  void take(std::uint64_t computed) {
    if (computed != steps_.at(taken_++)) throw std::runtime_error("out of order");
  }

  /// Times `run`, in which all items are taken.
  template <typename F>
  void measure(F run) {
    const auto start = clock::now();
    run();
    const std::chrono::duration<double, std::micro> took = clock::now() - start;
    if (taken_ != steps_.size()) throw std::runtime_error("items are missing");
    result("pipe_cpu", took.count() / static_cast<double>(steps_.size()), "us");
  }

 private:
  std::vector<std::uint64_t> steps_;
  std::size_t taken_ = 0;
};

}  // namespace bench

#endif  // WEIR_BENCH_CPU_MIX_HPP
