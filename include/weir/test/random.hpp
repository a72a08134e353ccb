// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_RANDOM_HPP
#define WEIR_TEST_RANDOM_HPP

#include <weir/detail/split_mix.hpp>

#include <cstdint>

namespace weir::test {

/// Numbers drawn from a seed, the same with every compiler and library. A generator for the
/// standard distributions too.
class random {
 public:
  using result_type = std::uint64_t;

  explicit random(std::uint64_t seed) noexcept : state_(seed) {}

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~std::uint64_t{0}; }

  result_type operator()() noexcept { return detail::split_mix(state_)(); }

  /// A number below `n`, which is not 0.
  std::uint64_t below(std::uint64_t n) noexcept {
    // The high half of a product; its bias is far below what a test could notice.
    return (((*this)() >> 32U) * n) >> 32U;
  }

  /// A number from `from` to `to`, both included.
  int between(int from, int to) noexcept {
    return from + static_cast<int>(below(static_cast<std::uint64_t>(to - from) + 1));
  }

  /// True with probability `p`.
  bool chance(double p) noexcept {
    return p > 0 && static_cast<double>((*this)() >> 11U) * 0x1.0p-53 < p;
  }

 private:
  std::uint64_t state_;
};

}  // namespace weir::test

#endif  // WEIR_TEST_RANDOM_HPP
