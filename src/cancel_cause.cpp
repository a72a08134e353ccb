// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/cancel_cause.hpp>

#include <boost/asio/error.hpp>

namespace weir {

const char* to_string(cancel_cause cause) noexcept {
  switch (cause) {
    case cancel_cause::none:
      return "none";
    case cancel_cause::timeout:
      return "timeout";
    case cancel_cause::shutdown:
      return "shutdown";
    case cancel_cause::caller:
      return "caller";
  }
  return "unknown";
}

error_code to_error(cancel_cause cause) noexcept {
  switch (cause) {
    case cancel_cause::none:
      break;
    case cancel_cause::timeout:
      return errc::task_timed_out;
    case cancel_cause::shutdown:
      return errc::shutdown_cancelled;
    case cancel_cause::caller:
      return boost::asio::error::operation_aborted;
  }
  return {};
}

}  // namespace weir
