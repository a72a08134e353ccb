// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/split_mix.hpp>

#include <atomic>
#include <random>

namespace weir::detail {

std::uint64_t own_seed() {
  static std::atomic<std::uint64_t> last{[] {
    std::random_device device;
    return (std::uint64_t{device()} << 32U) | device();
  }()};
  std::uint64_t state = last.fetch_add(0x9e3779b97f4a7c15U, std::memory_order_relaxed);
  return split_mix(state)();
}

}  // namespace weir::detail
