// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/run_until.hpp>
#include <weir/error.hpp>

#include <boost/system/system_error.hpp>

#include <exception>

namespace weir::detail {

namespace {

[[noreturn]] void throw_with_cause(const boost::system::system_error& answer,
                                   const std::exception_ptr& cause) {
  if (!cause) throw answer;
  try {
    std::rethrow_exception(cause);
  } catch (const boost::system::system_error& e) {
    if (e.code() == boost::asio::error::operation_aborted) throw answer;
    std::throw_with_nested(answer);
  } catch (...) {
    std::throw_with_nested(answer);
  }
}

}  // namespace

void throw_deadline_exceeded(const std::exception_ptr& cause) {
  throw_with_cause({errc::deadline_exceeded, "weir::with_timeout"}, cause);
}

void throw_aborted(const std::exception_ptr& cause) {
  throw_with_cause({boost::asio::error::operation_aborted, "weir"}, cause);
}

}  // namespace weir::detail
