// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FAULT_POINT_HPP
#define WEIR_DETAIL_FAULT_POINT_HPP

#include <atomic>

namespace weir::detail {

/// Decides which allocation fails; installed by the test kit, null in production.
class fault_source {
 public:
  /// Throws `std::bad_alloc`, or does not.
  virtual void before_allocation() = 0;

 protected:
  ~fault_source() = default;
};

inline std::atomic<fault_source*> installed_faults{nullptr};

/// Stands before each allocation of weir's own that may fail without harm, so that a test can let
/// it. A replaced `operator new` was turned down: it hits Asio's allocations too, and those of
/// the test.
inline void fault_point() {
  if (auto* faults = installed_faults.load(std::memory_order_relaxed)) [[unlikely]]
    faults->before_allocation();
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FAULT_POINT_HPP
