// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_WORK_RESULT_HPP
#define WEIR_DETAIL_WORK_RESULT_HPP

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// How work ended: what it returned, or what it threw. `T` need be neither copied nor
/// default-constructed.
template <typename T>
class work_result {
  struct nothing {};

 public:
  using value_type = std::conditional_t<std::is_void_v<T>, nothing, T>;

  template <typename... Args>
  void succeed(Args&&... args) {
    value_.emplace(std::forward<Args>(args)...);
  }
  void fail(std::exception_ptr error) noexcept { error_ = std::move(error); }

  bool failed() const noexcept { return error_ != nullptr; }
  const std::exception_ptr& error() const noexcept { return error_; }
  std::optional<value_type>& value() noexcept { return value_; }

  /// Returns or throws as the work did.
  T get() && {
    if (error_) std::rethrow_exception(std::move(error_));
    if constexpr (!std::is_void_v<T>) return *std::move(value_);
  }

 private:
  std::optional<value_type> value_;
  std::exception_ptr error_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_WORK_RESULT_HPP
