// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_CANCEL_CAUSE_HPP
#define WEIR_CANCEL_CAUSE_HPP

#include <weir/error.hpp>

#include <cstdint>

namespace weir {

/// Why a piece of work was asked to stop.
enum class cancel_cause : std::uint8_t {
  none,      ///< it was not asked
  timeout,   ///< its run deadline passed
  shutdown,  ///< its owner is shutting down
  caller,    ///< whoever waits for it asked
};

/// The name of a cause, for logs and reports: "none", "timeout", "shutdown", "caller".
const char* to_string(cancel_cause cause) noexcept;

/// What a waiting caller is told of work that ended for `cause`: `task_timed_out`,
/// `shutdown_cancelled`, `operation_aborted`; success for `none`.
error_code to_error(cancel_cause cause) noexcept;

}  // namespace weir

#endif  // WEIR_CANCEL_CAUSE_HPP
