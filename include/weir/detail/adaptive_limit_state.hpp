// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_ADAPTIVE_LIMIT_STATE_HPP
#define WEIR_DETAIL_ADAPTIVE_LIMIT_STATE_HPP

#include <weir/adaptive_metrics.hpp>
#include <weir/aimd_limit.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/gradient_limit.hpp>
#include <weir/limited_call.hpp>
#include <weir/semaphore.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

namespace weir::detail {

/// What an adaptive limit is. Calls share it, so that they may outlive the limit.
///
/// Thread safety: safe.
class adaptive_limit_state : public std::enable_shared_from_this<adaptive_limit_state> {
 public:
  using policy = std::variant<gradient_limit, aimd_limit>;
  enum class ending : std::uint8_t { success, dropped, ignored };

  adaptive_limit_state(boost::asio::any_io_executor ex, const policy& p, std::string name);

  semaphore& places() noexcept { return places_; }

  /// A call begins.
  limited_call begin(permit place);

  /// It has ended. What it held is given back after this, so that it goes to nobody for whom the
  /// new limit has no place.
  void end(time_point began, ending how) noexcept;

  void drive(std::function<void(int)> target);
  int limit() const;
  adaptive_metrics metrics() const;

 private:
  int current() const noexcept;
  bool must_apply() noexcept;
  void apply() noexcept;

  semaphore places_;
  std::atomic<int> in_flight_{0};

  mutable spin_mutex mutex_;
  policy policy_;
  adaptive_metrics counted_;
  std::shared_ptr<const std::function<void(int)>> target_;
  int applied_;            ///< the limit that has been handed on; 0: none to this target
  bool applying_ = false;  ///< a thread hands it on, and will see a later one
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_ADAPTIVE_LIMIT_STATE_HPP
