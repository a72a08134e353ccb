// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_SPLIT_MIX_HPP
#define WEIR_DETAIL_SPLIT_MIX_HPP

#include <cstdint>

namespace weir::detail {

/// The generator known as SplitMix64: eight bytes of state, where the standard's have up to 2,500.
///
/// Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
class split_mix {
 public:
  using result_type = std::uint64_t;
  explicit split_mix(std::uint64_t& state) noexcept : state_(state) {}
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~result_type{0}; }
  result_type operator()() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t& state_;
};

/// A seed that is another each time, in this process and in those beside it.
std::uint64_t own_seed();

}  // namespace weir::detail

#endif  // WEIR_DETAIL_SPLIT_MIX_HPP
